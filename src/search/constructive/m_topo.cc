#include "search/constructive/m_topo.h"

#include <algorithm>

namespace placewright {

GroupPlacement PlaceMTopo(const PlacerInput& input) {
  const std::vector<DeviceId>& accelerators = input.candidates.chain;
  const IdVector<ColocationGroupId, int64_t> bytes = LeaderBytes(input.groups);
  int64_t sum = 0, largest = 0;
  for (int64_t b : bytes) sum = SaturatingAdd(sum, b), largest = std::max(largest, b);
  const int64_t cap = SaturatingAdd(sum / static_cast<int64_t>(accelerators.size()), largest);
  IdVector<DeviceId, int64_t> left(input.graph.devices, 0);
  for (DeviceId device : accelerators) {
    const int64_t capacity = input.candidates.capacity[device];
    left[device] = std::min(cap, capacity - capacity / 8 * input.attempt);
  }
  GroupPlacement device_of(input.groups.size());
  size_t filling = 0;  // index of the device that is being filled
  for (ColocationGroupId group : GroupsByPosition(input.groups)) {
    if (input.groups[group].leader != group) continue;
    const std::vector<DeviceId>& allowed = input.candidates.preferred[group];
    const auto may = [&](DeviceId device) {
      return std::find(allowed.begin(), allowed.end(), device) != allowed.end();
    };
    while (filling + 1 < accelerators.size() && may(accelerators[filling]) &&
           left[accelerators[filling]] < bytes[group]) {
      ++filling;
    }
    const DeviceId device = may(accelerators[filling]) ? accelerators[filling] : allowed.front();
    left[device] = std::max(left[device] - bytes[group], -kMaxQuantity);
    device_of[group] = device;
  }
  PlaceFollowers(input.groups, input.candidates.preferred, device_of);
  return device_of;
}

}  // namespace placewright
