#include "cluster/cluster_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "cluster/link_figures.h"

namespace placewright {
namespace {

constexpr const char* kWhatIfSource = "as if it were there";

bool IsGpu(const ClusterBuilder& builder, const Device& device) {
  return builder.kinds()[static_cast<size_t>(device.kind)].device_class == DeviceClass::kGpu;
}

// Links that routes between hosts take and no route inside one does. A link between a device and what is no device is the
// device's own slot.
std::set<LinkId> NetworkOf(const Cluster& cluster) {
  std::set<LinkId> across, inside;
  for (const DeviceId from : cluster.devices()) {
    for (const DeviceId to : cluster.devices()) {
      if (from == to) continue;
      const bool same = cluster.device(from).host == cluster.device(to).host;
      const std::vector<LinkId>& links = cluster.route(from, to).links;
      (same ? inside : across).insert(links.begin(), links.end());
    }
  }
  std::set<LinkId> network;
  for (const LinkId link : across) {
    if (inside.contains(link)) continue;
    const std::string& name = cluster.link(link).name;
    const size_t middle = name.find_first_of(">-");
    const bool joined = middle != std::string::npos;
    const bool from = joined && cluster.FindDevice(name.substr(0, middle)).valid();
    const bool to = joined && cluster.FindDevice(name.substr(middle + 1)).valid();
    if (from == to) network.insert(link);
  }
  return network;
}

// GPUs of one kind on one host, by host and kind, that no link joins directly.
std::vector<std::vector<const Device*>> UnjoinedGpus(const ClusterBuilder& builder) {
  std::set<std::string> joined;
  std::map<std::string, const Device*> gpus;
  for (const Device& device : builder.devices()) {
    if (IsGpu(builder, device)) gpus.emplace(device.name, &device);
  }
  for (const ClusterBuilder::Join& join : builder.Joins()) {
    const bool direct = gpus.contains(join.a) && gpus.contains(join.b);
    const bool nvswitch = join.a.ends_with("/nvswitch") || join.b.ends_with("/nvswitch");
    if (direct || nvswitch) joined.insert({join.a, join.b});
  }
  std::map<std::pair<int32_t, int32_t>, std::vector<const Device*>> by_group;
  for (const Device& device : builder.devices()) {
    if (!IsGpu(builder, device) || joined.contains(device.name)) continue;
    by_group[{device.host, device.kind}].push_back(&device);
  }
  std::vector<std::vector<const Device*>> groups;
  for (auto& [key, group] : by_group) {
    const DeviceKind& kind = builder.kinds()[static_cast<size_t>(key.second)];
    if (group.size() > 1 && FindNvlink(kind) != nullptr) groups.push_back(std::move(group));
  }
  return groups;
}

Status AddNvlink(ClusterBuilder& builder) {
  const std::vector<std::vector<const Device*>> groups = UnjoinedGpus(builder);
  std::vector<std::vector<std::string>> names;
  std::vector<const Nvlink*> figures;
  for (const auto& group : groups) {
    names.emplace_back();
    for (const Device* const device : group) names.back().push_back(device->name);
    figures.push_back(FindNvlink(builder.kinds()[static_cast<size_t>(group.front()->kind)]));
  }
  for (size_t g = 0; g < names.size(); ++g) {
    const Nvlink& figure = *figures[g];
    const BytesPerSecond bandwidth = figure.lane * figure.lanes;
    if (figure.bridge) {
      for (size_t i = 0; i + 1 < names[g].size(); i += 2) {
        PW_RETURN_IF_ERROR(builder.Connect(names[g][i], names[g][i + 1], bandwidth, kNvlinkLatency,
                                           Duplex::kFull, kWhatIfSource));
      }
      continue;
    }
    const std::string center = fmt::format("host{}/nvlink{}", groups[g].front()->host, g);
    PW_RETURN_IF_ERROR(builder.AddForwarder(center));
    for (const std::string& name : names[g]) {
      PW_RETURN_IF_ERROR(builder.Connect(name, center, bandwidth, Nanos(kNvlinkLatency.count / 2),
                                         Duplex::kFull, kWhatIfSource, true));
    }
  }
  return Ok();
}

}  // namespace

bool HasNetwork(const Cluster& cluster) { return !NetworkOf(cluster).empty(); }

bool CanHaveNvlink(const ClusterBuilder& described) { return !UnjoinedGpus(described).empty(); }

bool LacksPeerToPeer(const ClusterBuilder& described) {
  std::map<int32_t, int64_t> on_host;
  for (const Device& device : described.devices()) {
    const DeviceKind& kind = described.kinds()[static_cast<size_t>(device.kind)];
    if (kind.device_class == DeviceClass::kGpu && !kind.p2p) ++on_host[device.host];
  }
  return std::any_of(on_host.begin(), on_host.end(),
                     [](const auto& host) { return host.second > 1; });
}

Result<ClusterBuilder> ChangeCluster(const ClusterBuilder& described, const ClusterChange& change) {
  if (described.HasGivenRoutes()) {
    return MakeError(ErrorCode::kUsage, "the description gives its routes one by one", "",
                     "Give the description that it was resolved from, or a preset.");
  }
  std::set<std::string> left_out(change.without.begin(), change.without.end());
  ClusterBuilder changed(described.name());
  for (DeviceKind kind : described.kinds()) {
    if (change.peer_to_peer && kind.device_class == DeviceClass::kGpu) kind.p2p = true;
    PW_RETURN_IF_ERROR(changed.AddKind(std::move(kind)));
  }
  std::set<std::string> gone;
  for (Device device : described.devices()) {
    if (left_out.erase(device.name) > 0) {
      gone.insert(device.name);
      continue;
    }
    if (IsGpu(described, device)) device.capacity += change.more_memory;
    PW_RETURN_IF_ERROR(changed.AddDevice(std::move(device)));
  }
  if (!left_out.empty()) {
    return MakeError(ErrorCode::kUnknownName,
                     fmt::format("there is no device \"{}\"", Printable(*left_out.begin(), 80)));
  }
  for (const ClusterBuilder::Forwarder& forwarder : described.Forwarders()) {
    PW_RETURN_IF_ERROR(changed.AddForwarder(forwarder.name, forwarder.host_memory));
  }
  std::set<std::string> network;
  if (change.network_factor != 1) {
    PW_ASSIGN(const Cluster built, ClusterBuilder(described).Build());
    for (const LinkId link : NetworkOf(built)) network.insert(built.link(link).name);
  }
  for (const ClusterBuilder::Join& join : described.Joins()) {
    if (gone.contains(join.a) || gone.contains(join.b)) continue;
    const std::string there =
        fmt::format("{}{}{}", join.a, join.duplex == Duplex::kFull ? '>' : '-', join.b);
    const std::string back = fmt::format("{}>{}", join.b, join.a);
    const bool faster = network.contains(there) || network.contains(back);
    PW_RETURN_IF_ERROR(changed.Connect(
        join.a, join.b, faster ? join.bandwidth * change.network_factor : join.bandwidth,
        join.latency, join.duplex, join.source, join.p2p));
  }
  if (change.nvlink) PW_RETURN_IF_ERROR(AddNvlink(changed));
  PW_RETURN_IF_ERROR(changed.SetCollectives(described.collectives()));
  for (const std::string& note : described.notes()) changed.AddNote(note);
  return changed;
}

}  // namespace placewright
