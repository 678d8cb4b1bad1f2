#include "formats/cluster/cluster_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "cluster/cluster_builder.h"
#include "formats/cluster/host_fields.h"
#include "formats/cluster/kind_fields.h"
#include "formats/cluster/link_fields.h"
#include "formats/cluster/nccl_topology.h"
#include "formats/cluster/peer_matrix_reader.h"
#include "formats/text/yaml.h"

namespace placewright {
namespace {

constexpr std::string_view kClusterSchema = "placewright.cluster/1";
constexpr std::string_view kShowSchema = "placewright.cluster-show/1";

class ClusterReader {
 public:
  explicit ClusterReader(const YamlNode& root, std::string name)
      : root_(root), builder_(std::move(name)) {}

  Status Describe();
  Result<Cluster> Read();
  ClusterBuilder TakeBuilder() { return std::move(builder_); }

 private:
  Status ReadKinds();
  Status ReadHosts();
  Status ReadNetwork();
  Status ReadDevices();
  Status ReadDevice(const YamlNode& map);
  Status AddDevice(const YamlNode& map, Device device);
  Status ReadSwitches(std::string_view key);
  Status KeepReserve();
  Status CheckReachable(const Cluster& cluster) const;

  const YamlNode& root_;
  ClusterBuilder builder_;
  KindTable kinds_;
  HostsSoFar hosts_;
  // Where devices were described, for messages: by the hosts' numbers, and by name.
  struct HostRange {
    int32_t begin, end;
    const YamlNode* map;
  };
  std::vector<HostRange> host_ranges_;
  std::map<std::string, const YamlNode*, std::less<>> described_;
};

Status ClusterReader::ReadKinds() {
  const YamlNode* kinds = root_.Find("kinds");
  if (kinds == nullptr) return Ok();
  PW_RETURN_IF_ERROR(kinds_.Read(*kinds));
  for (const DeviceKind& kind : kinds_.own()) {
    auto added = builder_.AddKind(kind);
    if (!added.ok()) return At(*kinds->Find(kind.name), std::move(added.error()));
  }
  return Ok();
}

Status ClusterReader::ReadHosts() {
  const YamlNode* hosts = root_.Find("hosts");
  const bool single = root_.Find("gpus") != nullptr || root_.Find("cpus") != nullptr;
  if (hosts != nullptr) {
    if (single) return hosts->Fail("\"hosts\" stands beside \"gpus\" or \"cpus\" of a single host");
    PW_RETURN_IF_ERROR(hosts->CheckList("hosts"));
    for (const YamlNode& map : hosts->items) {
      PW_RETURN_IF_ERROR(map.CheckKeys(
          "a host", {"count", "gpus", "cpus", "memory", "memory_bytes", "reserve", "reserve_bytes",
                     "nics", "interconnect", "interconnect_bandwidth",
                     "interconnect_bandwidth_bytes_per_s", "pcie_switches"}));
      const int32_t begin = hosts_.count;
      PW_RETURN_IF_ERROR(AddHosts(map, false, kinds_, builder_, hosts_));
      host_ranges_.push_back({begin, hosts_.count, &map});
    }
  } else if (single) {
    PW_RETURN_IF_ERROR(AddHosts(root_, true, kinds_, builder_, hosts_));
    host_ranges_.push_back({0, 1, &root_});
  } else {
    for (const char* key : {"memory", "memory_bytes", "interconnect", "interconnect_bandwidth",
                            "interconnect_bandwidth_bytes_per_s", "pcie_switches", "count"}) {
      if (const YamlNode* node = root_.Find(key)) {
        return node->Fail(fmt::format("\"{}\" needs \"gpus\" or \"cpus\" beside it", key));
      }
    }
  }
  return ReadNetwork();
}

Status ClusterReader::ReadNetwork() {
  const YamlNode* network = root_.Find("network");
  if (network != nullptr) {
    if (hosts_.count == 0) return network->Fail("a network joins hosts, and the file has none");
    return AddNetworkOf(network, hosts_, builder_);
  }
  // NICs that say how fast they are need no more to be joined; those that say nothing are none.
  const auto states = [](const Nic& nic) { return nic.bandwidth.count > 0; };
  const auto of_host = [&](const HostRange& range) { return range.map->Find("nics") != nullptr; };
  const auto host = std::find_if(host_ranges_.begin(), host_ranges_.end(), of_host);
  if (host == host_ranges_.end() || host->map == &root_) return Ok();
  if (!std::all_of(hosts_.nics.begin(), hosts_.nics.end(), states)) {
    return host->map->Find("nics")->Fail(
        "the file has NICs without a bandwidth: state it there (\"2 x 100 Gbps\"), or the "
        "\"network\" for all");
  }
  return AddNetworkOf(nullptr, hosts_, builder_);
}

Status ClusterReader::ReadDevices() {
  const YamlNode* devices = root_.Find("devices");
  if (devices == nullptr) return Ok();
  PW_RETURN_IF_ERROR(devices->CheckList("devices"));
  for (const YamlNode& map : devices->items) PW_RETURN_IF_ERROR(ReadDevice(map));
  return Ok();
}

Status ClusterReader::ReadDevice(const YamlNode& map) {
  PW_RETURN_IF_ERROR(
      map.CheckKeys("a device", {"name", "kind", "count", "memory", "memory_bytes", "reserve",
                                 "reserve_bytes", "capacity_bytes", "host"}));
  PW_RETURN_IF_ERROR(map.CheckHas({{"name", "host0/gpu0"}, {"kind", "T4"}}));
  PW_ASSIGN(const YamlNode* name_node, map.Get("name"));
  PW_ASSIGN(const std::string name, name_node->AsText("name"));
  PW_ASSIGN(const YamlNode* kind_node, map.Get("kind"));
  PW_ASSIGN(const std::string kind_name, kind_node->AsText("kind"));
  PW_ASSIGN(const DeviceKind kind, kinds_.Find(*kind_node, kind_name));
  if (std::string note = kinds_.NoteOf(kind_name); !note.empty()) builder_.AddNote(std::move(note));
  // Devices of a cost graph, whose times are given, may have no memory.
  const bool given = kind.device_class == DeviceClass::kOther;
  PW_ASSIGN(const auto memory, given ? ReadBytes(map, "memory") : ReadMemory(map));
  PW_ASSIGN(const auto own_reserve, ReadReserve(map));
  if (!memory && kind.memory.count == 0) {
    return map.Fail(
        fmt::format("the key \"memory\" is missing: the memory of a {} depends on "
                    "the machine",
                    kind.name));
  }
  const std::optional<MemoryReserve> reserve = own_reserve ? own_reserve : kind.reserve;
  Device device{name,         builder_.FindKindIndex(kind.name),
                HostOf(name), memory.value_or(kind.memory),
                Bytes(),      reserve.has_value()};
  if (reserve) device.reserve = ReserveOf(*reserve, device.capacity);
  if (device.capacity < device.reserve || (device.capacity == device.reserve && !given)) {
    return map.Fail(
        fmt::format("the device has {} of memory and keeps {} in reserve: nothing is "
                    "left",
                    FormatBytes(device.capacity), FormatBytes(device.reserve)));
  }
  device.capacity -= device.reserve;
  if (const YamlNode* capacity = map.Find("capacity_bytes")) {
    PW_ASSIGN(const int64_t stated, capacity->AsInt("capacity_bytes", 0, kMaxQuantity));
    if (Bytes(stated) != device.capacity) {
      return capacity->Fail("capacity_bytes is not the memory less the reserve");
    }
  }
  if (const YamlNode* host = map.Find("host")) {
    PW_ASSIGN(const int64_t stated, host->AsInt("host", 0, kMaxHost));
    device.host = static_cast<int32_t>(stated);
  }
  if (device.kind < 0) {
    auto added = builder_.AddKind(kind);
    if (!added.ok()) return At(*kind_node, std::move(added.error()));
    device.kind = added.value();
  }
  return AddDevice(map, std::move(device));
}

// One device, or `count` of them: name0, name1, ...
Status ClusterReader::AddDevice(const YamlNode& map, Device device) {
  const YamlNode* count = map.Find("count");
  int64_t copies = 1;
  if (count != nullptr) {
    PW_ASSIGN(copies, count->AsInt("count", 1, kMaxDevices));
  }
  for (int64_t i = 0; i < copies; ++i) {
    Device copy = device;
    if (count != nullptr) copy.name += std::to_string(i);
    described_.emplace(copy.name, &map);
    auto added = builder_.AddDevice(std::move(copy));
    if (!added.ok()) return At(map, std::move(added.error()));
  }
  return Ok();
}

Status ClusterReader::ReadSwitches(std::string_view key) {
  const YamlNode* switches = root_.Find(key);
  if (switches == nullptr) return Ok();
  PW_RETURN_IF_ERROR(switches->CheckList(key));
  for (const YamlNode& node : switches->items) {
    const YamlNode* name_node = &node;
    bool memory = false;
    if (node.IsMap()) {
      PW_RETURN_IF_ERROR(node.CheckKeys("a switch", {"name", "host_memory"}));
      PW_RETURN_IF_ERROR(node.CheckHas({{"name", "host0/pcie0"}}));
      name_node = node.Find("name");
      if (const YamlNode* stated = node.Find("host_memory")) {
        PW_ASSIGN(memory, stated->AsBool("host_memory"));
      }
    }
    PW_ASSIGN(const std::string name, name_node->AsText("a name"));
    Status added = builder_.AddForwarder(name, memory);
    if (!added.ok()) return At(node, std::move(added.error()));
  }
  return Ok();
}

// The file's own `reserve` is that of GPUs for which nothing nearer states one.
Status ClusterReader::KeepReserve() {
  PW_ASSIGN(const auto reserve, ReadReserve(root_));
  if (!reserve) return Ok();
  const YamlNode* node = root_.Find("reserve") != nullptr ? root_.Find("reserve") : &root_;
  bool any = false;
  for (size_t i = 0; i < builder_.devices().size(); ++i) {
    const Device& device = builder_.devices()[DeviceId(i)];
    const DeviceKind& kind = builder_.kinds()[static_cast<size_t>(device.kind)];
    if (kind.device_class != DeviceClass::kGpu) continue;
    any = true;
    if (device.reserve_stated) continue;
    const Bytes memory = device.capacity + device.reserve;
    Status kept = builder_.SetReserve(DeviceId(i), ReserveOf(*reserve, memory));
    if (!kept.ok()) return node->Fail(kept.error().message);
  }
  if (!any) return node->Fail("the file states the reserve of its GPUs and has none");
  return Ok();
}

Status ClusterReader::CheckReachable(const Cluster& cluster) const {
  if (const YamlNode* partial = root_.Find("partial")) {
    PW_ASSIGN(const bool allowed, partial->AsBool("partial"));
    if (allowed) return Ok();
  }
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (cluster.Connected(from, to)) continue;
      const std::string& name = cluster.device(to).name;
      const YamlNode* where = &root_;
      const auto it = described_.find(name);
      if (it != described_.end()) where = it->second;
      for (const HostRange& range : host_ranges_) {
        const int32_t host = cluster.device(to).host;
        if (it == described_.end() && range.begin <= host && host < range.end) where = range.map;
      }
      return MakeError(ErrorCode::kUnreachable,
                       fmt::format("no chain of links leads from \"{}\" to \"{}\"",
                                   Printable(cluster.device(from).name, 80), Printable(name, 80)),
                       where->Place(),
                       "Add a link or a network, or say \"partial: true\" if this is meant.");
    }
  }
  return Ok();
}

Status ClusterReader::Describe() {
  PW_RETURN_IF_ERROR(ReadKinds());
  PW_RETURN_IF_ERROR(ReadHosts());
  PW_RETURN_IF_ERROR(ReadDevices());
  PW_RETURN_IF_ERROR(ReadSwitches("switches"));
  PW_RETURN_IF_ERROR(ReadSwitches("nics"));
  PW_RETURN_IF_ERROR(ReadLinks(root_, builder_));
  PW_RETURN_IF_ERROR(ReadRoutes(root_, builder_));
  PW_RETURN_IF_ERROR(ReadCollectives(root_, builder_));
  return KeepReserve();
}

Result<Cluster> ClusterReader::Read() {
  PW_RETURN_IF_ERROR(Describe());
  Result<Cluster> cluster = std::move(builder_).Build();
  if (!cluster.ok()) return At(root_, std::move(cluster.error()));
  PW_RETURN_IF_ERROR(CheckStatedFigures(root_, cluster.value()));
  PW_RETURN_IF_ERROR(CheckReachable(cluster.value()));
  return cluster;
}

struct ClusterDocument {
  YamlNode node;
  std::string name = "cluster";
};

}  // namespace

namespace {

Result<ClusterDocument> ReadClusterDocument(std::string_view text) {
  PW_ASSIGN(YamlNode document, ParseYaml(text));
  const YamlNode* root = &document;
  // What `cluster show --json` prints has the cluster as one of its fields.
  const YamlNode* schema = document.Find("schema");
  if (schema != nullptr && schema->text == kShowSchema) {
    PW_ASSIGN(root, document.Get("cluster"));
    schema = root->Find("schema");
  }
  PW_RETURN_IF_ERROR(root->CheckKeys("a cluster", {"schema",
                                                   "name",
                                                   "kinds",
                                                   "hosts",
                                                   "gpus",
                                                   "cpus",
                                                   "memory",
                                                   "memory_bytes",
                                                   "reserve",
                                                   "reserve_bytes",
                                                   "interconnect",
                                                   "interconnect_bandwidth",
                                                   "interconnect_bandwidth_bytes_per_s",
                                                   "pcie_switches",
                                                   "network",
                                                   "devices",
                                                   "switches",
                                                   "nics",
                                                   "links",
                                                   "routes",
                                                   "collectives",
                                                   "groups",
                                                   "partial"}));
  std::string name = "cluster";
  if (const YamlNode* node = root->Find("name")) {
    PW_ASSIGN(name, node->AsText("name"));
  }
  if (schema != nullptr && schema->text != kClusterSchema) {
    return schema->Fail(fmt::format("schema is \"{}\"; this program reads {}",
                                    Printable(schema->text, 40), kClusterSchema));
  }
  ClusterDocument read{YamlNode(), std::move(name)};
  read.node = root == &document ? std::move(document) : YamlNode(*root);
  return read;
}

// Formats that are no YAML; nullopt for others.
std::optional<Result<ClusterBuilder>> DescribeOther(std::string_view text, const DeviceKind* gpu) {
  if (LooksLikeXml(text)) return DescribeNcclTopology(text, gpu);
  if (!LooksLikePeerMatrix(text)) return std::nullopt;
  Result<PeerMatrix> matrix = ParsePeerMatrix(text);
  if (!matrix.ok()) return Result<ClusterBuilder>(std::move(matrix.error()));
  return DescribePeers(matrix.value());
}

}  // namespace

Result<Cluster> ParseCluster(std::string_view text) {
  if (auto other = DescribeOther(text, nullptr)) {
    PW_ASSIGN(ClusterBuilder builder, std::move(*other));
    return std::move(builder).Build();
  }
  PW_ASSIGN(ClusterDocument document, ReadClusterDocument(text));
  return ClusterReader(document.node, std::move(document.name)).Read();
}

Result<ClusterBuilder> DescribeCluster(std::string_view text, const DeviceKind* gpu) {
  if (auto other = DescribeOther(text, gpu)) return std::move(*other);
  PW_ASSIGN(ClusterDocument document, ReadClusterDocument(text));
  ClusterReader reader(document.node, std::move(document.name));
  PW_RETURN_IF_ERROR(reader.Describe());
  return reader.TakeBuilder();
}

}  // namespace placewright
