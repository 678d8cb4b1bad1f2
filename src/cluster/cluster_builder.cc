#include "cluster/cluster_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

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

int32_t HostOf(std::string_view name) {
  if (!name.starts_with("host")) return 0;
  int32_t host = 0;
  const auto [end, error] = std::from_chars(name.data() + 4, name.data() + name.size(), host);
  const bool good = error == std::errc() && end != name.data() + name.size() && *end == '/';
  return good && host >= 0 && host <= kMaxHost ? host : 0;
}

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
  if (kind.channels < 0 || (kind.channels > 0 && kind.channels >= kind.multiprocessors)) {
    return Field("device kind", kind.name, "it has no more multiprocessors than channels");
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
  nodes_.push_back({std::move(name), device, false});
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
  // Hosts have CPUs beside what is counted.
  const auto class_of = [&](const Device& one) { return cluster_.kinds_[one.kind].device_class; };
  const bool cpu = class_of(device) == DeviceClass::kCpu;
  const auto alike =
      std::count_if(cluster_.devices_.begin(), cluster_.devices_.end(),
                    [&](const Device& one) { return (class_of(one) == DeviceClass::kCpu) == cpu; });
  if (static_cast<size_t>(alike) >= kMaxDevices) {
    return MakeError(
        ErrorCode::kClusterInvalid,
        fmt::format("more than {} {}", kMaxDevices, cpu ? "CPUs" : "devices that are no CPUs"));
  }
  const DeviceId id(cluster_.devices_.size());
  PW_RETURN_IF_ERROR(AddNode(device.name, id));
  cluster_.devices_.push_back(std::move(device));
  return id;
}

Status ClusterBuilder::AddForwarder(std::string name, bool host_memory) {
  PW_ASSIGN(const int32_t node, AddNode(std::move(name), DeviceId()));
  nodes_[static_cast<size_t>(node)].host_memory = host_memory;
  return Ok();
}

void ClusterBuilder::AddNote(std::string note) {
  std::vector<std::string>& notes = cluster_.notes_;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
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
                               Nanos latency, Duplex duplex, std::string source,
                               std::optional<bool> p2p) {
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
  const bool peers = p2p.value_or(CarriesPeerToPeer(from, to));
  Link there{fmt::format("{}{}{}", a, full ? '>' : '-', b), bandwidth, latency, source, peers};
  Link back{fmt::format("{}>{}", b, a), bandwidth, latency, std::move(source), peers};
  PW_RETURN_IF_ERROR(CheckLink(there));
  if (full) PW_RETURN_IF_ERROR(CheckLink(back));
  joined_.insert(std::minmax(from, to));
  const LinkId first = PushLink(std::move(there));
  const LinkId second = full ? PushLink(std::move(back)) : first;
  hops_.push_back({from, to, first, bandwidth.count});
  hops_.push_back({to, from, second, bandwidth.count});
  return Ok();
}

void ClusterBuilder::Amend(LinkId link, const LinkChange& change) {
  for (size_t i = 0; i + 1 < hops_.size(); i += 2) {  // there and back
    if (hops_[i].link != link && hops_[i + 1].link != link) continue;
    for (const size_t h : {i, i + 1}) {
      Link& changed = cluster_.links_[hops_[h].link];
      if (change.p2p) changed.p2p = *change.p2p;
      if (!change.bandwidth) continue;
      changed.bandwidth = *change.bandwidth;
      changed.source = change.source;
      hops_[h].bandwidth = change.bandwidth->count;
    }
  }
}

// What a link between the two nodes carries where nothing is stated.
bool ClusterBuilder::CarriesPeerToPeer(int32_t a, int32_t b) const {
  const DeviceId first = nodes_[static_cast<size_t>(a)].device;
  const DeviceId second = nodes_[static_cast<size_t>(b)].device;
  if (first.valid() == second.valid()) return true;
  const DeviceKind& kind =
      cluster_.kinds_[static_cast<size_t>(cluster_.devices_[first.valid() ? first : second].kind)];
  return kind.device_class != DeviceClass::kGpu || kind.p2p;
}

std::vector<ClusterBuilder::Forwarder> ClusterBuilder::Forwarders() const {
  std::vector<Forwarder> forwarders;
  for (const Node& node : nodes_) {
    if (!node.device.valid()) forwarders.push_back({node.name, node.host_memory});
  }
  return forwarders;
}

std::vector<ClusterBuilder::Join> ClusterBuilder::Joins() const {
  std::vector<Join> joins;
  for (size_t i = 0; i + 1 < hops_.size(); i += 2) {  // there and back
    const Link& link = cluster_.links_[hops_[i].link];
    const bool usual = link.p2p == CarriesPeerToPeer(hops_[i].from, hops_[i].to);
    joins.push_back({nodes_[hops_[i].from].name, nodes_[hops_[i].to].name, link.bandwidth,
                     link.latency,
                     hops_[i].link == hops_[i + 1].link ? Duplex::kHalf : Duplex::kFull,
                     link.source, usual ? std::nullopt : std::optional(link.p2p)});
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

Status ClusterBuilder::AddRoute(DeviceId from, DeviceId to, std::vector<LinkId> links,
                                bool through_host) {
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
  GivenRoute route{std::move(links), through_host};
  if (!explicit_routes_.emplace(std::pair(from.value(), to.value()), std::move(route)).second) {
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

Status ClusterBuilder::FindPaths(int32_t from, const std::vector<Hop>& hops,
                                 const std::vector<bool>& targets, int64_t& work,
                                 Paths& paths) const {
  std::vector<bool> forwards(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) forwards[i] = !nodes_[i].device.valid();
  paths[from] = BestPathsFrom(from, hops, forwards, targets, work);
  if (work >= 0) return Ok();
  return MakeError(ErrorCode::kClusterInvalid,
                   "the topology is too large or has too many distinct bandwidths to route", "",
                   "State the links of fewer devices, or give routes of your own.");
}

Status ClusterBuilder::BuildRoutes() {
  const size_t n = cluster_.devices_.size();
  cluster_.routes_.resize(n * n);
  Ways ways;
  ways.memories = HostMemories();
  std::vector<bool> targets(nodes_.size());
  node_of_.resize(n);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    targets[i] = nodes_[i].device.valid();
    if (targets[i]) node_of_[nodes_[i].device] = static_cast<int32_t>(i);
  }
  const auto peers = [&](const Hop& hop) { return cluster_.links_[hop.link].p2p; };
  const bool staged = !std::all_of(hops_.begin(), hops_.end(), peers);
  if (staged) {
    for (const auto& [host, nodes] : ways.memories) {
      for (const int32_t node : nodes) targets[static_cast<size_t>(node)] = true;
    }
  }
  int64_t work = kMaxRouteWork;
  for (const DeviceId from : cluster_.devices()) {
    if (hops_.empty()) break;
    PW_RETURN_IF_ERROR(FindPaths(node_of_[from], hops_, targets, work, ways.any));
    for (const DeviceId to : cluster_.devices()) {
      if (from != to) FillRoute(from, to, ways.any[node_of_[from]][node_of_[to]]);
    }
    if (!staged) ways.any.clear();
  }
  if (staged) {
    std::vector<Hop> direct;
    std::copy_if(hops_.begin(), hops_.end(), std::back_inserter(direct), peers);
    for (const DeviceId from : cluster_.devices()) {
      PW_RETURN_IF_ERROR(FindPaths(node_of_[from], direct, targets, work, ways.direct));
    }
    for (const auto& [host, nodes] : ways.memories) {
      for (const int32_t node : nodes) {
        PW_RETURN_IF_ERROR(FindPaths(node, hops_, targets, work, ways.any));
        PW_RETURN_IF_ERROR(FindPaths(node, direct, targets, work, ways.direct));
      }
    }
    PW_RETURN_IF_ERROR(RoutePeers(ways));
  }
  for (auto& [pair, given] : explicit_routes_) {
    Route& computed = cluster_.routes_[static_cast<size_t>(pair.first) * n + pair.second];
    computed = Route();
    computed.through_host = given.through_host;
    FillRoute(DeviceId(pair.first), DeviceId(pair.second), std::move(given.links));
  }
  return Ok();
}

// The forwarders that a CPU is joined to, and those that say so; ascending.
std::map<int32_t, std::vector<int32_t>> ClusterBuilder::HostMemories() const {
  std::map<int32_t, std::set<int32_t>> found;
  for (const Hop& hop : hops_) {
    const DeviceId device = nodes_[static_cast<size_t>(hop.from)].device;
    if (!device.valid() || nodes_[static_cast<size_t>(hop.to)].device.valid()) continue;
    const Device& cpu = cluster_.devices_[device];
    const DeviceKind& kind = cluster_.kinds_[static_cast<size_t>(cpu.kind)];
    if (kind.device_class == DeviceClass::kCpu) found[cpu.host].insert(hop.to);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].host_memory) found[HostOf(nodes_[i].name)].insert(static_cast<int32_t>(i));
  }
  std::map<int32_t, std::vector<int32_t>> memories;
  for (const auto& [host, nodes] : found) memories[host].assign(nodes.begin(), nodes.end());
  return memories;
}

// Pairs of GPUs: without host memory where every link carries peer to peer, else through it.
Status ClusterBuilder::RoutePeers(Ways& ways) {
  std::set<std::pair<bool, std::string>> staged;  // kinds, those without peer to peer first
  const auto gpu = [&](DeviceId id) {
    return cluster_.kinds_[static_cast<size_t>(cluster_.devices_[id].kind)].device_class ==
           DeviceClass::kGpu;
  };
  for (const DeviceId from : cluster_.devices()) {
    for (const DeviceId to : cluster_.devices()) {
      if (from == to || !gpu(from) || !gpu(to)) continue;
      std::vector<LinkId>& direct = ways.direct[node_of_[from]][node_of_[to]];
      if (!direct.empty()) {
        FillRoute(from, to, std::move(direct));
        continue;
      }
      if (!cluster_.Connected(from, to)) continue;
      std::vector<LinkId> links = BestThroughHost(ways, from, to);
      if (links.empty()) {
        AddNote(
            fmt::format("GPUs of host{} have no peer to peer, and no CPU or host memory is "
                        "described that their copies could go through: they are taken to go "
                        "directly",
                        cluster_.devices_[std::min(from, to)].host));
        continue;
      }
      PW_RETURN_IF_ERROR(CheckCrossings(from, to, links));
      cluster_.routes_[from.index() * cluster_.devices_.size() + to.index()].through_host = true;
      FillRoute(from, to, std::move(links));
      for (const DeviceId id : {from, to}) {
        const DeviceKind& kind = cluster_.kinds_[static_cast<size_t>(cluster_.devices_[id].kind)];
        staged.insert({kind.p2p, kind.name});
      }
    }
  }
  if (!staged.empty()) {
    // Where kinds have none, they are the reason.
    std::vector<std::string> kinds;
    for (const auto& [p2p, name] : staged) {
      if (!p2p || staged.begin()->first) kinds.push_back(name);
    }
    AddNote(
        fmt::format("copies between GPUs go through host memory where a link on their way has no "
                    "peer to peer: of {} (p2p: true on the kind or the link where the driver "
                    "offers it)",
                    Printable(fmt::format("{}", fmt::join(kinds, ", ")), 200)));
  }
  return Ok();
}

int64_t ClusterBuilder::MinBandwidth(const std::vector<LinkId>& links) const {
  int64_t minimum = kMaxQuantity;
  for (const LinkId id : links) minimum = std::min(minimum, cluster_.links_[id].bandwidth.count);
  return minimum;
}

std::vector<LinkId> ClusterBuilder::BestThroughHost(const Ways& ways, DeviceId from,
                                                    DeviceId to) const {
  const int32_t a = node_of_[from], b = node_of_[to];
  const int32_t a_host = cluster_.devices_[from].host, b_host = cluster_.devices_[to].host;
  const auto memories = [&](int32_t host) {
    const auto it = ways.memories.find(host);
    return it == ways.memories.end() ? std::vector<int32_t>() : it->second;
  };
  std::vector<LinkId> best;
  // Parts that follow one another; an empty one does not exist.
  const auto offer = [&](std::initializer_list<const std::vector<LinkId>*> parts) {
    std::vector<LinkId> links;
    for (const std::vector<LinkId>* part : parts) {
      if (part->empty()) return;
      links.insert(links.end(), part->begin(), part->end());
    }
    const auto key = [&](const std::vector<LinkId>& l) {
      return std::pair(l.size(), -MinBandwidth(l));
    };
    if (best.empty() || std::pair(key(links), links) < std::pair(key(best), best)) {
      best = std::move(links);
    }
  };
  const auto any = [&](int32_t x, int32_t y) { return &ways.any.at(x)[static_cast<size_t>(y)]; };
  const auto direct = [&](int32_t x, int32_t y) {
    return &ways.direct.at(x)[static_cast<size_t>(y)];
  };
  if (a_host == b_host) {
    for (const int32_t m : memories(a_host)) offer({any(a, m), any(m, b)});
    return best;
  }
  for (const int32_t m : memories(a_host)) offer({any(a, m), direct(m, b)});
  for (const int32_t m : memories(b_host)) offer({direct(a, m), any(m, b)});
  if (!best.empty()) return best;
  for (const int32_t m : memories(a_host)) {
    for (const int32_t k : memories(b_host)) offer({any(a, m), any(m, k), any(k, b)});
  }
  return best;
}

// A transfer has each link of its route once.
Status ClusterBuilder::CheckCrossings(DeviceId from, DeviceId to,
                                      const std::vector<LinkId>& links) const {
  std::set<LinkId> distinct;
  for (const LinkId id : links) {
    if (distinct.insert(id).second) continue;
    return MakeError(
        ErrorCode::kClusterInvalid,
        fmt::format("{} and {} have no peer to peer, and their copies through host memory would "
                    "cross the half-duplex link \"{}\" twice",
                    Printable(cluster_.devices_[from].name, 80),
                    Printable(cluster_.devices_[to].name, 80),
                    Printable(cluster_.links_[id].name, 80)),
        "", "Describe the link as full duplex, or say \"p2p: true\" on the GPUs' links.");
  }
  return Ok();
}

Status ClusterBuilder::SetCollectives(StatedCollectives collectives) {
  const auto invalid = [](std::string_view problem) {
    return MakeError(ErrorCode::kField, fmt::format("collectives: {}", problem));
  };
  if (!collectives.lines.empty()) {
    if (!collectives.one_communicator) {
      return invalid(
          "stated lines are of collectives that run one after another, beside the links");
    }
    if (!InRange(collectives.measured_at.count, 1)) {
      return invalid("the bandwidth that the lines were measured at is outside [1, 2^60]");
    }
  }
  for (const StatedCollectives::Line& line : collectives.lines) {
    if (!InRange(line.latency.count, 0) || !InRange(line.bandwidth.count, 1)) {
      return invalid("a line's latency or bandwidth is negative, zero or above 2^60");
    }
  }
  cluster_.collectives_ = std::move(collectives);
  return Ok();
}

void ClusterBuilder::BuildGroups() {
  std::map<std::pair<int32_t, int32_t>, size_t> group_of;  // (host, kind)
  for (const DeviceId id : cluster_.devices()) {
    const Device& device = cluster_.devices_[id];
    const auto [it, fresh] =
        group_of.emplace(std::pair(device.host, device.kind), cluster_.host_groups_.size());
    if (fresh) {
      cluster_.host_groups_.push_back(
          {fmt::format("host{}/{}", device.host, cluster_.kinds_[device.kind].name), {}});
    }
    cluster_.host_groups_[it->second].devices.push_back(id);
  }
  for (const DeviceGroup& whole : cluster_.host_groups_) {
    std::vector<std::vector<DeviceId>> sets = EqualSets(whole.devices);
    for (size_t i = 0; i < sets.size(); ++i) {
      cluster_.groups_.push_back(
          {sets.size() == 1 ? whole.name : fmt::format("{}#{}", whole.name, i),
           std::move(sets[i])});
    }
  }
  std::stable_sort(
      cluster_.groups_.begin(), cluster_.groups_.end(),
      [](const auto& a, const auto& b) { return a.devices.front() < b.devices.front(); });
}

// `devices`: of one kind and host. Sets ordered by their first device.
std::vector<std::vector<DeviceId>> ClusterBuilder::EqualSets(
    const std::vector<DeviceId>& devices) const {
  const auto between = [&](DeviceId a, DeviceId b) {
    return std::minmax({cluster_.route(a, b).bandwidth, cluster_.route(b, a).bandwidth});
  };
  std::vector<DeviceId> left = devices;
  std::vector<std::vector<DeviceId>> sets;
  if (cluster_.kind(devices.front()).device_class == DeviceClass::kCpu) return {devices};
  while (!left.empty()) {
    std::vector<DeviceId> set = {left.front()};
    std::optional<std::pair<BytesPerSecond, BytesPerSecond>> most;
    for (const DeviceId a : left) {
      for (const DeviceId b : left) {
        if (a == b || (most && between(a, b) <= *most)) continue;
        most = between(a, b);
        set = {a};
      }
    }
    for (const DeviceId device : left) {
      const auto alike = [&](DeviceId member) {
        return member != device && between(member, device) == *most;
      };
      if (std::all_of(set.begin(), set.end(), alike)) set.push_back(device);
    }
    std::sort(set.begin(), set.end());
    std::erase_if(left,
                  [&](DeviceId id) { return std::binary_search(set.begin(), set.end(), id); });
    sets.push_back(std::move(set));
  }
  std::sort(sets.begin(), sets.end());
  return sets;
}

Result<Cluster> ClusterBuilder::Build() && {
  if (cluster_.devices_.empty()) {
    return MakeError(ErrorCode::kClusterInvalid, "the cluster has no devices");
  }
  PW_RETURN_IF_ERROR(BuildRoutes());
  BuildGroups();
  if (cluster_.collectives_.one_communicator) {
    // Nothing is sent over it: its bandwidth is as good as any.
    Link link{"communicator", BytesPerSecond(kMaxQuantity), Nanos(0),
              "holds one collective at a time"};
    PW_RETURN_IF_ERROR(CheckLink(link));
    PushLink(std::move(link));
  }
  bool gpus = false, all = !cluster_.collectives_.one_communicator;
  for (const DeviceId id : cluster_.devices()) {
    const DeviceKind& kind = cluster_.kind(id);
    gpus = gpus || kind.device_class == DeviceClass::kGpu;
    all = all && (kind.device_class == DeviceClass::kCpu || kind.channels > 0);
    cluster_.devices_by_name_.push_back(id);
  }
  cluster_.collectives_share_ = gpus && all;
  std::sort(cluster_.devices_by_name_.begin(), cluster_.devices_by_name_.end(),
            [this](DeviceId a, DeviceId b) {
              return cluster_.devices_[a].name < cluster_.devices_[b].name;
            });
  return std::move(cluster_);
}

}  // namespace placewright
