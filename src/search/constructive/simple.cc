#include "search/constructive/simple.h"

#include <algorithm>

#include "base/random.h"

namespace placewright {

GroupPlacement PlaceSingle(const PlacerInput& input) {
  std::vector<DeviceId> by_work;
  for (DeviceId device : input.graph.device_ids()) by_work.push_back(device);
  std::stable_sort(by_work.begin(), by_work.end(), [&](DeviceId a, DeviceId b) {
    return input.candidates.work[a] < input.candidates.work[b];
  });
  // Devices that no group may use, and equals of an earlier device, come to nothing new.
  IdVector<DeviceId, char> useful(input.graph.devices, 0);
  for (const auto& allowed : input.candidates.any) {
    for (DeviceId device : allowed) useful[device] = 1;
  }
  std::erase_if(by_work, [&](DeviceId device) { return !useful[device]; });
  if (by_work.empty()) return {};
  std::vector<DeviceId> distinct;
  for (DeviceId device : by_work) {
    const bool repeats =
        !distinct.empty() &&
        input.candidates.work[distinct.back()] == input.candidates.work[device] &&
        input.candidates.capacity[distinct.back()] == input.candidates.capacity[device];
    if (!repeats) distinct.push_back(device);
  }
  const size_t rank = std::min<size_t>(input.attempt, distinct.size() - 1);
  const auto chosen = std::find(by_work.begin(), by_work.end(), distinct[rank]);
  std::rotate(by_work.begin(), chosen, chosen + 1);
  GroupPlacement device_of;
  for (const auto& allowed : input.candidates.any) {
    device_of.push_back(*std::find_if(by_work.begin(), by_work.end(), [&](DeviceId device) {
      return std::find(allowed.begin(), allowed.end(), device) != allowed.end();
    }));
  }
  return device_of;
}

GroupPlacement PlaceRandom(const PlacerInput& input) {
  Random random(input.seed);
  GroupPlacement device_of;
  for (const auto& devices : input.candidates.preferred) {
    device_of.push_back(devices[random.Below(devices.size())]);
  }
  return device_of;
}

GroupPlacement PlaceRoundRobin(const PlacerInput& input) {
  const std::vector<DeviceId>& accelerators = input.candidates.accelerators;
  GroupPlacement device_of(input.groups.size());
  size_t turn = 0;
  for (ColocationGroupId group : GroupsByPosition(input.groups)) {
    const std::vector<DeviceId>& devices = input.candidates.preferred[group];
    for (size_t k = 0; k < accelerators.size() && !device_of[group].valid(); ++k) {
      const DeviceId device = accelerators[(turn + k) % accelerators.size()];
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) continue;
      device_of[group] = device;
      turn = turn + k + 1;
    }
    if (!device_of[group].valid()) device_of[group] = devices.front();
  }
  return device_of;
}

}  // namespace placewright
