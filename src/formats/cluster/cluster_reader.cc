#include "formats/cluster/cluster_reader.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>

#include "base/text.h"
#include "cluster/cluster_builder.h"
#include "formats/cluster/host_fields.h"
#include "formats/cluster/kind_fields.h"
#include "formats/text/yaml.h"

namespace placewright {
namespace {

constexpr std::string_view kSchema = "placewright.cluster/1";
constexpr std::string_view kShowSchema = "placewright.cluster-show/1";
constexpr int32_t kMaxHost = 1'000'000;

// "host3/gpu0" lies on host 3; names of another shape on host 0.
int32_t HostOf(std::string_view name) {
  if (!name.starts_with("host")) return 0;
  int32_t host = 0;
  const auto [end, error] = std::from_chars(name.data() + 4, name.data() + name.size(), host);
  const bool good = error == std::errc() && end != name.data() + name.size() && *end == '/';
  return good && host >= 0 && host <= kMaxHost ? host : 0;
}

class Reader {
 public:
  explicit Reader(const YamlNode& root, std::string name)
      : root_(root), builder_(std::move(name)) {}

  Result<Cluster> Read();

 private:
  Status ReadKinds();
  Status ReadHosts();
  Status ReadDevices();
  Status ReadDevice(const YamlNode& map);
  Status AddDevice(const YamlNode& map, Device device);
  Status ReadSwitches(std::string_view key);
  Status ReadLinks();
  Status ReadLink(const YamlNode& map);
  Status Connect(const YamlNode& map, const YamlNode& between, const Link& link);
  Result<std::vector<std::string>> MatchNodes(const YamlNode& node) const;
  Status ReadRoutes();
  Status ReadRoute(const YamlNode& map);
  Status CheckRoutes(const Cluster& cluster) const;
  Status CheckReachable(const Cluster& cluster) const;

  const YamlNode& root_;
  ClusterBuilder builder_;
  KindTable kinds_;
  int32_t hosts_ = 0;
  std::map<std::string, DeviceId, std::less<>> devices_;
  // Where devices were described, for messages: by the hosts' numbers, and by name.
  struct HostRange {
    int32_t begin, end;
    const YamlNode* map;
  };
  std::vector<HostRange> host_ranges_;
  std::map<std::string, const YamlNode*, std::less<>> described_;
};

Status Reader::ReadKinds() {
  const YamlNode* kinds = root_.Find("kinds");
  if (kinds == nullptr) return Ok();
  PW_RETURN_IF_ERROR(kinds_.Read(*kinds));
  for (const DeviceKind& kind : kinds_.own()) {
    auto added = builder_.AddKind(kind);
    if (!added.ok()) return At(*kinds->Find(kind.name), std::move(added.error()));
  }
  return Ok();
}

Status Reader::ReadHosts() {
  const YamlNode* hosts = root_.Find("hosts");
  const bool single = root_.Find("gpus") != nullptr || root_.Find("cpus") != nullptr;
  if (hosts != nullptr) {
    if (single) return hosts->Fail("\"hosts\" stands beside \"gpus\" or \"cpus\" of a single host");
    PW_RETURN_IF_ERROR(hosts->CheckList("hosts"));
    for (const YamlNode& map : hosts->items) {
      PW_RETURN_IF_ERROR(map.CheckKeys(
          "a host", {"count", "gpus", "cpus", "memory", "memory_bytes", "interconnect",
                     "interconnect_bandwidth", "interconnect_bandwidth_bytes_per_s"}));
      const int32_t begin = hosts_;
      PW_RETURN_IF_ERROR(AddHosts(map, kinds_, builder_, hosts_));
      host_ranges_.push_back({begin, hosts_, &map});
    }
  } else if (single) {
    PW_RETURN_IF_ERROR(AddHosts(root_, kinds_, builder_, hosts_));
    host_ranges_.push_back({0, 1, &root_});
  } else {
    for (const char* key : {"memory", "memory_bytes", "interconnect", "interconnect_bandwidth",
                            "interconnect_bandwidth_bytes_per_s", "count"}) {
      if (const YamlNode* node = root_.Find(key)) {
        return node->Fail(fmt::format("\"{}\" needs \"gpus\" or \"cpus\" beside it", key));
      }
    }
  }
  const YamlNode* network = root_.Find("network");
  if (network == nullptr) return Ok();
  if (hosts_ == 0) return network->Fail("a network joins hosts, and the file has none");
  return AddNetworkOf(*network, hosts_, builder_);
}

Status Reader::ReadDevices() {
  const YamlNode* devices = root_.Find("devices");
  if (devices == nullptr) return Ok();
  PW_RETURN_IF_ERROR(devices->CheckList("devices"));
  for (const YamlNode& map : devices->items) PW_RETURN_IF_ERROR(ReadDevice(map));
  return Ok();
}

Status Reader::ReadDevice(const YamlNode& map) {
  PW_RETURN_IF_ERROR(
      map.CheckKeys("a device", {"name", "kind", "count", "memory", "memory_bytes", "reserve",
                                 "reserve_bytes", "capacity_bytes", "host"}));
  PW_ASSIGN(const YamlNode* name_node, map.Get("name"));
  PW_ASSIGN(const std::string name, name_node->AsText("name"));
  PW_ASSIGN(const YamlNode* kind_node, map.Get("kind"));
  PW_ASSIGN(const std::string kind_name, kind_node->AsText("kind"));
  PW_ASSIGN(const DeviceKind kind, kinds_.Find(*kind_node, kind_name));
  // Devices of a cost graph, whose times are given, may have no memory.
  const bool given = kind.device_class == DeviceClass::kOther;
  PW_ASSIGN(const auto memory, given ? ReadBytes(map, "memory") : ReadMemory(map));
  PW_ASSIGN(const auto reserve, ReadBytes(map, "reserve"));
  if (!memory && kind.memory.count == 0) {
    return map.Fail(
        fmt::format("the key \"memory\" is missing: the memory of a {} depends on "
                    "the machine",
                    kind.name));
  }
  Device device{name, builder_.FindKindIndex(kind.name), HostOf(name), memory.value_or(kind.memory),
                reserve.value_or(Bytes())};
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
Status Reader::AddDevice(const YamlNode& map, Device device) {
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

Status Reader::ReadSwitches(std::string_view key) {
  const YamlNode* switches = root_.Find(key);
  if (switches == nullptr) return Ok();
  PW_RETURN_IF_ERROR(switches->CheckList(key));
  for (const YamlNode& node : switches->items) {
    PW_ASSIGN(const std::string name, node.AsText("a name"));
    Status added = builder_.AddForwarder(name);
    if (!added.ok()) return At(node, std::move(added.error()));
  }
  return Ok();
}

Status Reader::ReadLinks() {
  const YamlNode* links = root_.Find("links");
  if (links == nullptr) return Ok();
  PW_RETURN_IF_ERROR(links->CheckList("links"));
  for (const YamlNode& map : links->items) PW_RETURN_IF_ERROR(ReadLink(map));
  return Ok();
}

Status Reader::ReadLink(const YamlNode& map) {
  PW_RETURN_IF_ERROR(
      map.CheckKeys("a link", {"between", "name", "bandwidth", "bandwidth_bytes_per_s", "latency",
                               "latency_ns", "duplex", "source"}));
  Link link;
  link.source = "given";
  PW_ASSIGN(link.bandwidth, Required(map, "bandwidth", "12 GB/s", ReadBandwidth(map, "bandwidth")));
  PW_ASSIGN(link.latency, Required(map, "latency", "5 us", ReadNanos(map, "latency")));
  if (const YamlNode* source = map.Find("source")) {
    if (!source->IsScalar()) return source->Fail("source must be text");
    link.source = source->text;
  }
  const YamlNode* between = map.Find("between");
  const YamlNode* name = map.Find("name");
  if ((between != nullptr) == (name != nullptr)) {
    return map.Fail(
        "a link has either \"between\" (two nodes) or \"name\" (one direction that "
        "routes take by this name)");
  }
  if (between != nullptr) return Connect(map, *between, link);
  if (const YamlNode* duplex = map.Find("duplex")) {
    return duplex->Fail("a link with a name is one direction and has no duplex");
  }
  PW_ASSIGN(link.name, name->AsText("name"));
  auto added = builder_.AddLink(std::move(link));
  if (!added.ok()) return At(*name, std::move(added.error()));
  return Ok();
}

Result<std::vector<std::string>> Reader::MatchNodes(const YamlNode& node) const {
  PW_ASSIGN(const std::string pattern, node.AsText("an end of a link"));
  if (pattern.find_first_of("*?[") == std::string::npos) return std::vector{pattern};
  std::vector<std::string> matches;
  for (const std::string& name : builder_.NodeNames()) {
    if (GlobMatch(pattern, name)) matches.push_back(name);
  }
  if (matches.empty()) {
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("\"{}\" matches no device and no switch", Printable(pattern, 80)),
                     node.Place());
  }
  return matches;
}

// Joins every match of one end with every match of the other; a node is never joined with itself,
// and two equal patterns join each pair once.
Status Reader::Connect(const YamlNode& map, const YamlNode& between, const Link& link) {
  const YamlNode* stated = map.Find("duplex");
  const bool half = stated != nullptr && stated->text == "half";
  if (stated != nullptr && !half && stated->text != "full") {
    return stated->Fail(
        fmt::format("duplex is \"{}\", not full or half", Printable(stated->text, 40)));
  }
  const Duplex duplex = half ? Duplex::kHalf : Duplex::kFull;
  if (!between.IsList() || between.items.size() != 2) {
    return between.Fail("between must list two nodes, as in [host0/gpu0, host0/pcie0]");
  }
  PW_ASSIGN(const std::vector<std::string> left, MatchNodes(between.items[0]));
  PW_ASSIGN(const std::vector<std::string> right, MatchNodes(between.items[1]));
  const bool same = between.items[0].text == between.items[1].text && left.size() > 1;
  for (size_t i = 0; i < left.size(); ++i) {
    for (size_t j = same ? i + 1 : 0; j < right.size(); ++j) {
      if (left[i] == right[j] && left.size() + right.size() > 2) continue;
      Status joined =
          builder_.Connect(left[i], right[j], link.bandwidth, link.latency, duplex, link.source);
      if (!joined.ok()) return At(between, std::move(joined.error()));
    }
  }
  return Ok();
}

Status Reader::ReadRoutes() {
  const YamlNode* routes = root_.Find("routes");
  if (routes == nullptr) return Ok();
  PW_RETURN_IF_ERROR(routes->CheckList("routes"));
  devices_ = builder_.DeviceIds();
  for (const YamlNode& map : routes->items) PW_RETURN_IF_ERROR(ReadRoute(map));
  return Ok();
}

Status Reader::ReadRoute(const YamlNode& map) {
  PW_RETURN_IF_ERROR(
      map.CheckKeys("a route", {"from", "to", "links", "latency_ns", "bandwidth_bytes_per_s"}));
  std::array<DeviceId, 2> ends;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    PW_ASSIGN(const YamlNode* node, map.Get(i == 0 ? "from" : "to"));
    PW_ASSIGN(const std::string name, node->AsText("a device"));
    const auto it = devices_.find(name);
    if (it == devices_.end()) {
      std::vector<std::string> names;
      for (const auto& [known, id] : devices_) names.push_back(known);
      return MakeError(
          ErrorCode::kUnknownName,
          fmt::format("no device is called \"{}\"{}", Printable(name, 80), DidYouMean(name, names)),
          node->Place());
    }
    ends[i] = it->second;
  }
  PW_ASSIGN(const YamlNode* links, map.Get("links"));
  PW_RETURN_IF_ERROR(links->CheckList("links"));
  std::vector<LinkId> ids;
  for (const YamlNode& node : links->items) {
    PW_ASSIGN(const std::string name, node.AsText("a link"));
    ids.push_back(builder_.FindLink(name));
    if (ids.back().valid()) continue;
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("no link is called \"{}\"", Printable(name, 80)), node.Place());
  }
  Status added = builder_.AddRoute(ends[0], ends[1], std::move(ids));
  if (!added.ok()) return At(map, std::move(added.error()));
  return Ok();
}

// Derived figures that a file repeats must be right.
Status Reader::CheckRoutes(const Cluster& cluster) const {
  const YamlNode* routes = root_.Find("routes");
  if (routes == nullptr) return Ok();
  for (const YamlNode& map : routes->items) {
    const Route& route = cluster.route(devices_.find(map.Find("from")->text)->second,
                                       devices_.find(map.Find("to")->text)->second);
    const std::pair<std::string_view, int64_t> derived[] = {
        {"latency_ns", route.latency.count}, {"bandwidth_bytes_per_s", route.bandwidth.count}};
    for (const auto& [key, value] : derived) {
      const YamlNode* node = map.Find(key);
      if (node == nullptr) continue;
      PW_ASSIGN(const int64_t stated, node->AsInt(key, 0, kMaxQuantity));
      if (stated != value) {
        return node->Fail(
            fmt::format("{} is {}, but the route's links give {}", key, stated, value));
      }
    }
  }
  return Ok();
}

Status Reader::CheckReachable(const Cluster& cluster) const {
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

Result<Cluster> Reader::Read() {
  PW_RETURN_IF_ERROR(ReadKinds());
  PW_RETURN_IF_ERROR(ReadHosts());
  PW_RETURN_IF_ERROR(ReadDevices());
  PW_RETURN_IF_ERROR(ReadSwitches("switches"));
  PW_RETURN_IF_ERROR(ReadSwitches("nics"));
  PW_RETURN_IF_ERROR(ReadLinks());
  PW_RETURN_IF_ERROR(ReadRoutes());
  Result<Cluster> cluster = std::move(builder_).Build();
  if (!cluster.ok()) return At(root_, std::move(cluster.error()));
  PW_RETURN_IF_ERROR(CheckRoutes(cluster.value()));
  PW_RETURN_IF_ERROR(CheckReachable(cluster.value()));
  return cluster;
}

}  // namespace

Result<Cluster> ReadCluster(std::string_view text) {
  PW_ASSIGN(const YamlNode document, ParseYaml(text));
  const YamlNode* root = &document;
  // What `cluster show --json` prints has the cluster as one of its fields.
  const YamlNode* schema = document.Find("schema");
  if (schema != nullptr && schema->text == kShowSchema) {
    PW_ASSIGN(root, document.Get("cluster"));
    schema = root->Find("schema");
  }
  PW_RETURN_IF_ERROR(root->CheckKeys(
      "a cluster",
      {"schema", "name", "kinds", "hosts", "gpus", "cpus", "memory", "memory_bytes", "interconnect",
       "interconnect_bandwidth", "interconnect_bandwidth_bytes_per_s", "network", "devices",
       "switches", "nics", "links", "routes", "groups", "partial"}));
  std::string name = "cluster";
  if (const YamlNode* node = root->Find("name")) {
    PW_ASSIGN(name, node->AsText("name"));
  }
  if (schema != nullptr && schema->text != kSchema) {
    return schema->Fail(fmt::format("schema is \"{}\"; this program reads {}",
                                    Printable(schema->text, 40), kSchema));
  }
  return Reader(*root, std::move(name)).Read();
}

}  // namespace placewright
