#include "cluster/cluster_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace placewright {
namespace {

// Bounds on hostile files, far above real machines: nodes and links, and the work of all routes
// (1,000 devices on a fat tree with 10 distinct bandwidths take 10^8).
constexpr size_t kMaxNodes = 16384;
constexpr int64_t kMaxRouteWork = 300'000'000;

Error Duplicate(std::string_view what, std::string_view name) {
  return MakeError(ErrorCode::kDuplicateName,
                   fmt::format("two {}s are called \"{}\"", what, Printable(name, 80)));
}

Error Field(std::string_view what, std::string_view name, std::string_view problem) {
  return MakeError(ErrorCode::kField,
                   fmt::format("{} \"{}\": {}", what, Printable(name, 80), problem));
}

bool InRange(int64_t value, int64_t min) { return value >= min && value <= kMaxQuantity; }

bool IsRate(double rate) { return std::isfinite(rate) && rate >= 0 && rate <= 1e24; }

}  // namespace

ClusterBuilder::ClusterBuilder(std::string name) { cluster_.name_ = std::move(name); }

Result<int32_t> ClusterBuilder::AddKind(DeviceKind kind) {
  if (kind.name.empty()) return Field("device kind", "", "its name is empty");
  if (FindKindIndex(kind.name) >= 0) return Duplicate("device kind", kind.name);
  const PeakRates& p = kind.peak;
  if (!IsRate(p.f64) || !IsRate(p.f32) || !IsRate(p.f16) || !IsRate(p.bf16) || !IsRate(p.i8)) {
    return Field("device kind", kind.name, "a peak rate is negative or not finite");
  }
  if (!InRange(kind.memory_bandwidth.count, 0) || !InRange(kind.memory.count, 0) ||
      !InRange(kind.launch_overhead.count, 0) || !InRange(kind.runtime_context.count, 0)) {
    return Field("device kind", kind.name, "a figure is negative or above 2^60");
  }
  if (cluster_.kinds_.size() >= kMaxDevices) {
    return MakeError(ErrorCode::kClusterInvalid,
                     fmt::format("more than {} device kinds", kMaxDevices));
  }
  cluster_.kinds_.push_back(std::move(kind));
  return static_cast<int32_t>(cluster_.kinds_.size()) - 1;
}

int32_t ClusterBuilder::FindKindIndex(std::string_view name) const {
  for (size_t i = 0; i < cluster_.kinds_.size(); ++i) {
    if (cluster_.kinds_[i].name == name) return static_cast<int32_t>(i);
  }
  return -1;
}

Result<int32_t> ClusterBuilder::AddNode(std::string name, DeviceId device) {
  if (name.empty()) return Field("node", "", "its name is empty");
  if (nodes_.size() >= kMaxNodes) {
    return MakeError(ErrorCode::kClusterInvalid,
                     fmt::format("more than {} devices and switches", kMaxNodes));
  }
  const int32_t index = static_cast<int32_t>(nodes_.size());
  if (!node_by_name_.emplace(name, index).second) return Duplicate("node", name);
  nodes_.push_back({std::move(name), device});
  return index;
}

Result<int32_t> ClusterBuilder::FindNode(std::string_view name) const {
  const auto it = node_by_name_.find(name);
  if (it != node_by_name_.end()) return it->second;
  return MakeError(ErrorCode::kUnknownName,
                   fmt::format("no device or switch is called \"{}\"{}", Printable(name, 80),
                               DidYouMean(name, NodeNames())));
}

Result<DeviceId> ClusterBuilder::AddDevice(Device device) {
  if (device.kind < 0 || static_cast<size_t>(device.kind) >= cluster_.kinds_.size()) {
    return Field("device", device.name, "it has no kind");
  }
  // A cost graph may say that a device has no memory at all.
  const bool given = cluster_.kinds_[device.kind].device_class == DeviceClass::kOther;
  if (!InRange(device.capacity.count, given ? 0 : 1)) {
    return Field("device", device.name,
                 fmt::format("its usable memory of {} bytes is outside [{}, 2^60]",
                             device.capacity.count, given ? 0 : 1));
  }
  if (!InRange(device.reserve.count, 0) || device.host < 0) {
    return Field("device", device.name, "its reserve or its host is negative");
  }
  if (cluster_.devices_.size() >= kMaxDevices) {
    return MakeError(ErrorCode::kClusterInvalid, fmt::format("more than {} devices", kMaxDevices));
  }
  const DeviceId id(cluster_.devices_.size());
  PW_RETURN_IF_ERROR(AddNode(device.name, id));
  cluster_.devices_.push_back(std::move(device));
  return id;
}

Status ClusterBuilder::AddForwarder(std::string name) {
  PW_RETURN_IF_ERROR(AddNode(std::move(name), DeviceId()));
  return Ok();
}

Status ClusterBuilder::CheckLink(const Link& link) const {
  if (link.name.empty()) return Field("link", "", "its name is empty");
  if (link_by_name_.count(link.name) > 0) return Duplicate("link", link.name);
  if (!InRange(link.bandwidth.count, 1)) {
    return Field("link", link.name,
                 fmt::format("its bandwidth of {} bytes per second is outside [1, 2^60]",
                             link.bandwidth.count));
  }
  if (!InRange(link.latency.count, 0)) {
    return Field("link", link.name,
                 fmt::format("its latency of {} ns is outside [0, 2^60]", link.latency.count));
  }
  if (cluster_.links_.size() >= kMaxNodes) {
    return MakeError(ErrorCode::kClusterInvalid, fmt::format("more than {} links", kMaxNodes));
  }
  return Ok();
}

LinkId ClusterBuilder::PushLink(Link link) {
  const LinkId id(cluster_.links_.size());
  link_by_name_.emplace(link.name, id);
  cluster_.links_.push_back(std::move(link));
  return id;
}

Status ClusterBuilder::Connect(std::string_view a, std::string_view b, BytesPerSecond bandwidth,
                               Nanos latency, Duplex duplex, std::string source) {
  PW_ASSIGN(const int32_t from, FindNode(a));
  PW_ASSIGN(const int32_t to, FindNode(b));
  if (from == to) return Field("link", a, "it joins a node with itself");
  // Routes take one link between two nodes, so that a second one would carry nothing.
  if (joined_.count(std::minmax(from, to)) > 0) {
    return MakeError(ErrorCode::kDuplicateName,
                     fmt::format("\"{}\" and \"{}\" are linked twice; state parallel lanes as one "
                                 "link with their sum",
                                 Printable(a, 80), Printable(b, 80)));
  }
  // Both directions are looked at before either is kept: a failed call changes nothing.
  const bool full = duplex == Duplex::kFull;
  Link there{fmt::format("{}{}{}", a, full ? '>' : '-', b), bandwidth, latency, source};
  Link back{fmt::format("{}>{}", b, a), bandwidth, latency, std::move(source)};
  PW_RETURN_IF_ERROR(CheckLink(there));
  if (full) PW_RETURN_IF_ERROR(CheckLink(back));
  joined_.insert(std::minmax(from, to));
  const LinkId first = PushLink(std::move(there));
  const LinkId second = full ? PushLink(std::move(back)) : first;
  hops_.push_back({from, to, first, bandwidth.count});
  hops_.push_back({to, from, second, bandwidth.count});
  return Ok();
}

std::vector<std::string> ClusterBuilder::ForwarderNames() const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) {
    if (!node.device.valid()) names.push_back(node.name);
  }
  return names;
}

std::vector<ClusterBuilder::Join> ClusterBuilder::Joins() const {
  std::vector<Join> joins;
  for (size_t i = 0; i + 1 < hops_.size(); i += 2) {  // there and back
    const Link& link = cluster_.links_[hops_[i].link];
    joins.push_back(
        {nodes_[hops_[i].from].name, nodes_[hops_[i].to].name, link.bandwidth, link.latency,
         hops_[i].link == hops_[i + 1].link ? Duplex::kHalf : Duplex::kFull, link.source});
  }
  return joins;
}

Result<LinkId> ClusterBuilder::AddLink(Link link) {
  PW_RETURN_IF_ERROR(CheckLink(link));
  return PushLink(std::move(link));
}

LinkId ClusterBuilder::FindLink(std::string_view name) const {
  const auto it = link_by_name_.find(name);
  return it == link_by_name_.end() ? LinkId() : it->second;
}

Status ClusterBuilder::AddRoute(DeviceId from, DeviceId to, std::vector<LinkId> links) {
  const auto known = [](size_t index, size_t size) { return index < size; };
  if (!from.valid() || !to.valid() || !known(from.index(), cluster_.devices_.size()) ||
      !known(to.index(), cluster_.devices_.size())) {
    return MakeError(ErrorCode::kUnknownName, "a route names a device that is not there");
  }
  const std::string name = fmt::format("{} to {}", Printable(cluster_.devices_[from].name, 80),
                                       Printable(cluster_.devices_[to].name, 80));
  const auto invalid = [&](std::string_view problem) {
    return MakeError(ErrorCode::kClusterInvalid, fmt::format("the route {} {}", name, problem));
  };
  if (from == to) return invalid("joins a device with itself");
  if (links.empty()) return invalid("has no links");
  std::set<LinkId> distinct;
  for (const LinkId link : links) {
    if (!link.valid() || !known(link.index(), cluster_.links_.size())) {
      return invalid("names a link that is not there");
    }
    if (!distinct.insert(link).second) {
      return invalid(
          fmt::format("takes the link \"{}\" twice", Printable(cluster_.links_[link].name, 80)));
    }
  }
  if (!explicit_routes_.emplace(std::pair(from.value(), to.value()), std::move(links)).second) {
    return invalid("is given twice");
  }
  return Ok();
}

std::vector<std::string> ClusterBuilder::NodeNames() const {
  std::vector<std::string> names;
  for (const Node& node : nodes_) names.push_back(node.name);
  return names;
}

std::map<std::string, DeviceId, std::less<>> ClusterBuilder::DeviceIds() const {
  std::map<std::string, DeviceId, std::less<>> ids;
  for (const Node& node : nodes_) {
    if (node.device.valid()) ids.emplace(node.name, node.device);
  }
  return ids;
}

void ClusterBuilder::FillRoute(DeviceId from, DeviceId to, std::vector<LinkId> links) {
  Route& route = cluster_.routes_[from.index() * cluster_.devices_.size() + to.index()];
  route.links = std::move(links);
  cluster_.SumRoute(route);
}

Status ClusterBuilder::BuildRoutes() {
  const size_t n = cluster_.devices_.size();
  std::vector<bool> forwards(nodes_.size());
  std::vector<int32_t> node_of(n);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    forwards[i] = !nodes_[i].device.valid();
    if (!forwards[i]) node_of[nodes_[i].device.index()] = static_cast<int32_t>(i);
  }
  cluster_.routes_.resize(n * n);
  int64_t work = kMaxRouteWork;
  for (const DeviceId from : cluster_.devices()) {
    if (hops_.empty()) break;
    auto paths = BestPathsFrom(node_of[from.index()], hops_, forwards, work);
    if (work < 0) {
      return MakeError(ErrorCode::kClusterInvalid,
                       "the topology is too large or has too many distinct bandwidths to route", "",
                       "State the links of fewer devices, or give routes of your own.");
    }
    for (const DeviceId to : cluster_.devices()) {
      if (from != to) FillRoute(from, to, std::move(paths[node_of[to.index()]]));
    }
  }
  for (auto& [pair, links] : explicit_routes_) {
    Route& computed = cluster_.routes_[static_cast<size_t>(pair.first) * n + pair.second];
    computed = Route();
    FillRoute(DeviceId(pair.first), DeviceId(pair.second), std::move(links));
  }
  return Ok();
}

void ClusterBuilder::BuildGroups() {
  std::map<std::pair<int32_t, int32_t>, size_t> group_of;  // (host, kind)
  for (const DeviceId id : cluster_.devices()) {
    const Device& device = cluster_.devices_[id];
    const auto [it, fresh] =
        group_of.emplace(std::pair(device.host, device.kind), cluster_.groups_.size());
    if (fresh) {
      cluster_.groups_.push_back(
          {fmt::format("host{}/{}", device.host, cluster_.kinds_[device.kind].name), {}});
    }
    cluster_.groups_[it->second].devices.push_back(id);
  }
}

Result<Cluster> ClusterBuilder::Build() && {
  if (cluster_.devices_.empty()) {
    return MakeError(ErrorCode::kClusterInvalid, "the cluster has no devices");
  }
  PW_RETURN_IF_ERROR(BuildRoutes());
  BuildGroups();
  for (const DeviceId id : cluster_.devices()) cluster_.devices_by_name_.push_back(id);
  std::sort(cluster_.devices_by_name_.begin(), cluster_.devices_by_name_.end(),
            [this](DeviceId a, DeviceId b) {
              return cluster_.devices_[a].name < cluster_.devices_[b].name;
            });
  return std::move(cluster_);
}

}  // namespace placewright
