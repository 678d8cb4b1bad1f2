#include "formats/cluster/host_fields.h"

#include <fmt/format.h>

#include "base/text.h"
#include "formats/text/quantity.h"

namespace placewright {
namespace {

Status CheckReserve(const YamlNode& node, const DeviceKind& kind, Bytes memory,
                    const std::optional<MemoryReserve>& stated) {
  const MemoryReserve reserve = stated ? *stated : kind.reserve.value_or(MemoryReserve{});
  if (memory > ReserveOf(reserve, memory)) return Ok();
  return node.Fail(fmt::format("{} has {} of memory and keeps {} in reserve: nothing is left",
                               kind.name, FormatBytes(memory),
                               FormatBytes(ReserveOf(reserve, memory))));
}

Status ReadGpu(const YamlNode& node, const KindTable& kinds,
               const std::optional<MemoryReserve>& of_host, HostSpec& host,
               ClusterBuilder& builder) {
  PW_ASSIGN(const DeviceSlot slot, ReadSlot(node, kinds, DeviceClass::kGpu));
  const Bytes memory = slot.memory.count > 0 ? slot.memory : slot.kind.memory;
  const std::optional<MemoryReserve> reserve = slot.reserve ? slot.reserve : of_host;
  PW_RETURN_IF_ERROR(CheckReserve(node, slot.kind, memory, reserve));
  if (!slot.note.empty()) builder.AddNote(slot.note);
  host.gpus.push_back({slot.kind, slot.count, slot.memory, reserve});
  return Ok();
}

Status ReadGpus(const YamlNode& map, bool top, const KindTable& kinds, HostSpec& host,
                ClusterBuilder& builder) {
  PW_ASSIGN(const auto reserve, ReadReserve(map));
  const YamlNode* gpus = map.Find("gpus");
  if (gpus == nullptr) {
    if (reserve && !top) return map.Fail("the host states the reserve of its GPUs but no \"gpus\"");
    return Ok();
  }
  if (!gpus->IsList()) return ReadGpu(*gpus, kinds, reserve, host, builder);
  for (const YamlNode& node : gpus->items) {
    PW_RETURN_IF_ERROR(ReadGpu(node, kinds, reserve, host, builder));
  }
  return Ok();
}

// A host's memory belongs to its sockets: without CPUs it has no owner.
Status ReadCpus(const YamlNode& map, const KindTable& kinds, HostSpec& host) {
  PW_ASSIGN(const auto memory, ReadMemory(map));
  const YamlNode* cpus = map.Find("cpus");
  if (cpus == nullptr) {
    host.sockets = 0;
    if (memory) return map.Fail("the host states memory but no \"cpus\" to have it");
    return Ok();
  }
  PW_ASSIGN(const DeviceSlot slot, ReadSlot(*cpus, kinds, DeviceClass::kCpu));
  const Bytes each = slot.memory.count > 0 ? slot.memory : slot.kind.memory;
  if (memory && slot.memory.count > 0) {
    return map.Fail("\"memory\" of the host and of its CPUs state the same thing");
  }
  if (!memory && each.count == 0) {
    return map.Fail("the key \"memory\" of the host is missing (such as \"128 GiB\")");
  }
  host.cpu = slot.kind;
  host.sockets = slot.count;
  host.reserve = slot.reserve;
  host.memory = memory ? *memory : Bytes(SaturatingMultiply(each.count, slot.count));
  const Bytes share(host.memory.count / host.sockets);
  return CheckReserve(*cpus, slot.kind, share, host.reserve);
}

// Where nothing is stated, `said` says what is taken.
Status ReadInterconnect(const YamlNode& map, HostSpec& host, std::string& said) {
  PW_ASSIGN(const auto bandwidth, ReadBandwidth(map, "interconnect_bandwidth"));
  if (bandwidth && bandwidth->count < 1) return map.Fail("interconnect_bandwidth is 0");
  host.bandwidth = bandwidth.value_or(BytesPerSecond());
  if (const YamlNode* node = map.Find("interconnect")) {
    PW_ASSIGN(const std::string text, node->AsText("interconnect"));
    const auto interconnect = FindInterconnect(text);
    if (!interconnect) {
      return node->Fail(fmt::format("interconnect is \"{}\"{}; known are {}", Printable(text, 40),
                                    DidYouMean(text, InterconnectNames()),
                                    fmt::join(InterconnectNames(), ", ")));
    }
    host.interconnect = *interconnect;
    return Ok();
  }
  UsualInterconnect usual = UsualInterconnectOf(host);
  host.interconnect = usual.interconnect;
  said = std::move(usual.why);
  return Ok();
}

constexpr int64_t kMaxNics = 64;  // of one host

// "2", "400 Gbps", or "2 x 400 Gbps": so many bandwidths, 0 where none is stated.
Status ReadNicText(const YamlNode& node, std::vector<BytesPerSecond>& nics) {
  PW_ASSIGN(const std::string text, node.AsText("NICs such as \"2 x 100 Gbps\""));
  CountedText counted{1, text};
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (number) {
    PW_ASSIGN(counted.count, node.AsInt("the number of NICs", 1, kMaxNics));
  } else {
    PW_ASSIGN(counted, SplitCount(node, text, "NICs", kMaxNics));
  }
  BytesPerSecond bandwidth;
  if (!number) {
    Result<BytesPerSecond> parsed = ParseBandwidth(counted.text);
    if (!parsed.ok()) return At(node, std::move(parsed.error()));
    bandwidth = parsed.value();
    if (bandwidth.count < 1) return node.Fail("the bandwidth of a NIC is 0");
  }
  nics.insert(nics.end(), static_cast<size_t>(counted.count), bandwidth);
  return Ok();
}

// The bandwidth of each NIC; 0: the network's.
Result<std::vector<BytesPerSecond>> ReadNics(const YamlNode& node) {
  std::vector<BytesPerSecond> nics;
  if (!node.IsList()) {
    PW_RETURN_IF_ERROR(ReadNicText(node, nics));
    return nics;
  }
  for (const YamlNode& item : node.items) {
    PW_RETURN_IF_ERROR(ReadNicText(item, nics));
    if (static_cast<int64_t>(nics.size()) > kMaxNics) break;
  }
  if (!nics.empty() && static_cast<int64_t>(nics.size()) <= kMaxNics) return nics;
  return node.Fail(fmt::format("a host has 1 to {} NICs", kMaxNics));
}

struct NetworkFields {
  BytesPerSecond bandwidth;
  NetworkSpec spec{kNetworkLatency, "given"};
  bool rails = false;
  int32_t per_leaf = 0;  // 0: one switch for all
};

Result<NetworkFields> ReadNetwork(const YamlNode& node) {
  PW_RETURN_IF_ERROR(
      node.CheckKeys("the network", {"bandwidth", "bandwidth_bytes_per_s", "latency", "latency_ns",
                                     "efficiency", "rails", "hosts_per_leaf", "oversubscription"}));
  PW_RETURN_IF_ERROR(node.CheckHas({{"bandwidth", "10 Gbps", "bandwidth_bytes_per_s"}}));
  NetworkFields fields;
  PW_ASSIGN(const auto of_nics, ReadBandwidth(node, "bandwidth"));
  fields.bandwidth = *of_nics;
  PW_ASSIGN(const auto latency, ReadNanos(node, "latency"));
  fields.spec.latency = latency.value_or(fields.spec.latency);
  PW_ASSIGN(fields.spec.efficiency, ReadEfficiency(node));
  if (const YamlNode* rails = node.Find("rails")) {
    PW_ASSIGN(fields.rails, rails->AsBool("rails"));
  }
  if (const YamlNode* leaf = node.Find("hosts_per_leaf")) {
    if (fields.rails) return leaf->Fail("a leaf of a rail has a NIC of every host");
    PW_ASSIGN(const int64_t hosts, leaf->AsInt("hosts_per_leaf", 1, kMaxDevices));
    fields.per_leaf = static_cast<int32_t>(hosts);
  }
  if (const YamlNode* over = node.Find("oversubscription")) {
    PW_ASSIGN(fields.spec.oversubscription, over->AsNumber("oversubscription"));
    if (!(fields.spec.oversubscription >= 1 && fields.spec.oversubscription <= 1e6)) {
      return over->Fail(
          "oversubscription is outside [1, 1000000]: 2 where two ports share what "
          "one has");
    }
    if (!fields.rails && fields.per_leaf == 0) {
      return over->Fail(
          "one switch for all NICs is never oversubscribed: state rails or "
          "hosts_per_leaf, too");
    }
  }
  return fields;
}

}  // namespace

Status AddHosts(const YamlNode& map, bool top, const KindTable& kinds, ClusterBuilder& builder,
                HostsSoFar& hosts) {
  HostSpec host;
  PW_RETURN_IF_ERROR(ReadGpus(map, top, kinds, host, builder));
  PW_RETURN_IF_ERROR(ReadCpus(map, kinds, host));
  std::string said;
  PW_RETURN_IF_ERROR(ReadInterconnect(map, host, said));
  if (!said.empty()) builder.AddNote(said);
  if (host.gpus.empty() && host.sockets == 0) return map.Fail("the host has no devices");
  std::vector<BytesPerSecond> nics = {BytesPerSecond()};
  if (const YamlNode* node = top ? nullptr : map.Find("nics")) {
    PW_ASSIGN(nics, ReadNics(*node));
  }
  host.nics = static_cast<int32_t>(nics.size());
  int64_t count = 1;
  if (const YamlNode* node = map.Find("count")) {
    PW_ASSIGN(count, node->AsInt("count", 1, kMaxDevices));
  }
  if (const YamlNode* node = map.Find("pcie_switches")) {
    PW_ASSIGN(const int64_t switches, node->AsInt("pcie_switches", 0, 64));
    host.switches = static_cast<int32_t>(switches);
  }
  for (int64_t i = 0; i < count; ++i) {
    host.index = hosts.count++;
    for (int32_t n = 0; n < host.nics; ++n) {
      hosts.nics.push_back(NicOf(host, n));
      hosts.nics.back().bandwidth = nics[static_cast<size_t>(n)];
    }
    Status added = AddHost(builder, host);
    if (!added.ok()) return At(map, std::move(added.error()));
  }
  return Ok();
}

Status AddNetworkOf(const YamlNode* network, const HostsSoFar& hosts, ClusterBuilder& builder) {
  NetworkFields fields;
  if (network == nullptr) {
    return AddNetwork(builder, hosts.nics, NetworkSpec{kNetworkLatency, "given"});
  }
  const YamlNode& node = *network;
  if (node.IsMap()) {
    PW_ASSIGN(fields, ReadNetwork(node));
  } else {
    PW_ASSIGN(const std::string text, node.AsText("the network's bandwidth"));
    Result<BytesPerSecond> parsed = ParseBandwidth(text);
    if (!parsed.ok()) return At(node, std::move(parsed.error()));
    fields.bandwidth = parsed.value();
  }
  std::vector<Nic> nics = hosts.nics;
  std::vector<std::vector<Nic>> by_host(static_cast<size_t>(hosts.count));
  for (Nic& nic : nics) {
    if (nic.bandwidth.count == 0) nic.bandwidth = fields.bandwidth;
    by_host[static_cast<size_t>(HostOf(nic.name))].push_back(nic);
  }
  Status added = fields.rails          ? AddRails(builder, by_host, fields.spec)
                 : fields.per_leaf > 0 ? AddLeaves(builder, by_host, fields.per_leaf, fields.spec)
                                       : AddNetwork(builder, nics, fields.spec);
  if (!added.ok()) return At(node, std::move(added.error()));
  return Ok();
}

}  // namespace placewright
