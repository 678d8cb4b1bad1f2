#include "formats/cluster/host_fields.h"

#include <fmt/format.h>

#include "base/text.h"
#include "formats/text/quantity.h"

namespace placewright {
namespace {

Error Capacity(const YamlNode& node, std::string_view what, Bytes memory, Bytes reserve) {
  return node.Fail(fmt::format("{} has {} of memory and keeps {} in reserve: nothing is left", what,
                               FormatBytes(memory), FormatBytes(reserve)));
}

Status ReadGpu(const YamlNode& node, const KindTable& kinds, HostSpec& host) {
  PW_ASSIGN(const DeviceSlot slot, ReadSlot(node, kinds, DeviceClass::kGpu));
  const Bytes memory = slot.memory.count > 0 ? slot.memory : slot.kind.memory;
  if (memory <= slot.reserve) return Capacity(node, slot.kind.name, memory, slot.reserve);
  host.gpus.push_back({slot.kind, slot.count, slot.memory, slot.reserve});
  return Ok();
}

Status ReadGpus(const YamlNode& map, const KindTable& kinds, HostSpec& host) {
  const YamlNode* gpus = map.Find("gpus");
  if (gpus == nullptr) return Ok();
  if (!gpus->IsList()) return ReadGpu(*gpus, kinds, host);
  for (const YamlNode& node : gpus->items) PW_RETURN_IF_ERROR(ReadGpu(node, kinds, host));
  return Ok();
}

// A host's memory belongs to its sockets: without CPUs there is nobody to have it.
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
  if (share <= host.reserve) return Capacity(*cpus, slot.kind.name, share, host.reserve);
  return Ok();
}

Status ReadInterconnect(const YamlNode& map, HostSpec& host) {
  if (const YamlNode* node = map.Find("interconnect")) {
    PW_ASSIGN(const std::string text, node->AsText("interconnect"));
    const auto interconnect = FindInterconnect(text);
    if (!interconnect) {
      return node->Fail(
          fmt::format("interconnect is \"{}\"{}; known are pcie3, pcie4, pcie5, "
                      "nvlink and nvswitch",
                      Printable(text, 40),
                      DidYouMean(text, {"pcie3", "pcie4", "pcie5", "nvlink", "nvswitch"})));
    }
    host.interconnect = *interconnect;
  }
  PW_ASSIGN(const auto bandwidth, ReadBandwidth(map, "interconnect_bandwidth"));
  if (bandwidth && bandwidth->count < 1) return map.Fail("interconnect_bandwidth is 0");
  host.bandwidth = bandwidth.value_or(BytesPerSecond());
  return Ok();
}

}  // namespace

Status AddHosts(const YamlNode& map, const KindTable& kinds, ClusterBuilder& builder,
                int32_t& hosts) {
  HostSpec host;
  PW_RETURN_IF_ERROR(ReadGpus(map, kinds, host));
  PW_RETURN_IF_ERROR(ReadCpus(map, kinds, host));
  PW_RETURN_IF_ERROR(ReadInterconnect(map, host));
  if (host.gpus.empty() && host.sockets == 0) return map.Fail("the host has no devices");
  int64_t count = 1;
  if (const YamlNode* node = map.Find("count")) {
    PW_ASSIGN(count, node->AsInt("count", 1, kMaxDevices));
  }
  for (int64_t i = 0; i < count; ++i) {
    host.index = hosts++;
    Status added = AddHost(builder, host);
    if (!added.ok()) return At(map, std::move(added.error()));
  }
  return Ok();
}

Status AddNetworkOf(const YamlNode& node, int32_t hosts, ClusterBuilder& builder) {
  BytesPerSecond bandwidth;
  Nanos latency = kNetworkLatency;
  if (node.IsMap()) {
    PW_RETURN_IF_ERROR(node.CheckKeys(
        "the network", {"bandwidth", "bandwidth_bytes_per_s", "latency", "latency_ns"}));
    PW_ASSIGN(bandwidth, Required(node, "bandwidth", "10 Gbps", ReadBandwidth(node, "bandwidth")));
    PW_ASSIGN(const auto stated, ReadNanos(node, "latency"));
    latency = stated.value_or(latency);
  } else {
    PW_ASSIGN(const std::string text, node.AsText("the network's bandwidth"));
    Result<BytesPerSecond> parsed = ParseBandwidth(text);
    if (!parsed.ok()) return At(node, std::move(parsed.error()));
    bandwidth = parsed.value();
  }
  Status added = AddNetwork(builder, hosts, bandwidth, latency, "given");
  if (!added.ok()) return At(node, std::move(added.error()));
  return Ok();
}

}  // namespace placewright
