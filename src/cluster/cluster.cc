#include "cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace placewright {

DeviceId Cluster::FindDevice(std::string_view name) const {
  const auto it = std::lower_bound(
      devices_by_name_.begin(), devices_by_name_.end(), name,
      [this](DeviceId id, std::string_view wanted) { return devices_[id].name < wanted; });
  if (it == devices_by_name_.end() || devices_[*it].name != name) return DeviceId();
  return *it;
}

void Cluster::SumRoute(Route& route) const {
  route.latency = Nanos(0);
  route.bandwidth = route.links.empty() ? BytesPerSecond() : links_[route.links.front()].bandwidth;
  for (const LinkId id : route.links) {
    const Link& link = links_[id];
    route.latency = Nanos(SaturatingAdd(route.latency.count, link.latency.count));
    route.bandwidth = std::min(route.bandwidth, link.bandwidth);
  }
}

LinkId Cluster::FindLink(std::string_view name) const {
  for (const LinkId id : links()) {
    if (links_[id].name == name) return id;
  }
  return LinkId();
}

Nanos StatedCollectives::TimeOf(Bytes bytes, BytesPerSecond slowest) const {
  Nanos longest;
  for (const Line& line : lines) {
    const int64_t time =
        SaturatingAdd(line.latency.count, TransferTime(bytes, line.bandwidth).count);
    longest = std::max(longest, Nanos(time));
  }
  using Wide = unsigned __int128;
  const auto by = static_cast<Wide>(slowest.count);
  const Wide scaled =
      (static_cast<Wide>(longest.count) * static_cast<Wide>(measured_at.count) + by - 1) / by;
  return Nanos(static_cast<int64_t>(std::min(scaled, static_cast<Wide>(kMaxQuantity))));
}

void Cluster::SetLink(LinkId id, BytesPerSecond bandwidth, Nanos latency, std::string source) {
  links_[id].bandwidth = bandwidth;
  links_[id].latency = latency;
  links_[id].source = std::move(source);
  for (Route& route : routes_) {
    if (std::find(route.links.begin(), route.links.end(), id) != route.links.end()) SumRoute(route);
  }
}

Status Cluster::SetReserve(DeviceId id, Bytes reserve) {
  Device& device = devices_[id];
  const Bytes memory = device.capacity + device.reserve;
  const Bytes min(kind(id).device_class == DeviceClass::kOther ? 0 : 1);  // left to use
  if (reserve < Bytes(0) || reserve > memory - min) {
    return MakeError(
        ErrorCode::kUsage,
        fmt::format("{} has {} of memory and cannot keep {} in reserve", Printable(device.name, 80),
                    FormatBytes(memory), FormatBytes(reserve)),
        "", "Reserve less.");
  }
  device.reserve = reserve;
  device.reserve_stated = true;
  device.capacity = memory - reserve;
  return Ok();
}

std::vector<std::string> Cluster::DeviceNames() const {
  std::vector<std::string> names;
  names.reserve(devices_.size());
  for (const Device& device : devices_) names.push_back(device.name);
  return names;
}

}  // namespace placewright
