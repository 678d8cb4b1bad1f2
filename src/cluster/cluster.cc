#include "cluster/cluster.h"

#include <algorithm>

namespace placewright {

DeviceId Cluster::FindDevice(std::string_view name) const {
  const auto it = std::lower_bound(
      devices_by_name_.begin(), devices_by_name_.end(), name,
      [this](DeviceId id, std::string_view wanted) { return devices_[id].name < wanted; });
  if (it == devices_by_name_.end() || devices_[*it].name != name) return DeviceId();
  return *it;
}

std::vector<std::string> Cluster::DeviceNames() const {
  std::vector<std::string> names;
  names.reserve(devices_.size());
  for (const Device& device : devices_) names.push_back(device.name);
  return names;
}

}  // namespace placewright
