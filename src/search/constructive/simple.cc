#include "search/constructive/simple.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace placewright {

std::vector<int32_t> PlaceSingle(const PlacerInput& input) {
  std::vector<int32_t> by_work(input.graph.devices);
  std::iota(by_work.begin(), by_work.end(), 0);
  std::stable_sort(by_work.begin(), by_work.end(), [&](int32_t a, int32_t b) {
    return input.candidates.work[a] < input.candidates.work[b];
  });
  // Devices that no group may use, and equals of an earlier device, come to nothing new.
  std::vector<char> useful(input.graph.devices, 0);
  for (const auto& allowed : input.candidates.any) {
    for (int32_t device : allowed) useful[device] = 1;
  }
  std::erase_if(by_work, [&](int32_t device) { return !useful[device]; });
  if (by_work.empty()) return {};
  std::vector<int32_t> distinct;
  for (int32_t device : by_work) {
    const bool repeats =
        !distinct.empty() &&
        input.candidates.work[distinct.back()] == input.candidates.work[device] &&
        input.candidates.capacity[distinct.back()] == input.candidates.capacity[device];
    if (!repeats) distinct.push_back(device);
  }
  const size_t rank = std::min<size_t>(input.attempt, distinct.size() - 1);
  const auto chosen = std::find(by_work.begin(), by_work.end(), distinct[rank]);
  std::rotate(by_work.begin(), chosen, chosen + 1);
  std::vector<int32_t> device_of;
  for (const auto& allowed : input.candidates.any) {
    device_of.push_back(*std::find_if(by_work.begin(), by_work.end(), [&](int32_t device) {
      return std::find(allowed.begin(), allowed.end(), device) != allowed.end();
    }));
  }
  return device_of;
}

std::vector<int32_t> PlaceRandom(const PlacerInput& input) {
  Random random(input.seed);
  std::vector<int32_t> device_of;
  for (const auto& devices : input.candidates.preferred) {
    device_of.push_back(devices[random.Below(devices.size())]);
  }
  return device_of;
}

std::vector<int32_t> PlaceRoundRobin(const PlacerInput& input) {
  const std::vector<int32_t>& accelerators = input.candidates.accelerators;
  std::vector<int32_t> device_of(input.groups.size(), -1);
  size_t turn = 0;
  for (int32_t group : GroupsByPosition(input.groups)) {
    const std::vector<int32_t>& devices = input.candidates.preferred[group];
    for (size_t k = 0; k < accelerators.size() && device_of[group] < 0; ++k) {
      const int32_t device = accelerators[(turn + k) % accelerators.size()];
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) continue;
      device_of[group] = device;
      turn = turn + k + 1;
    }
    if (device_of[group] < 0) device_of[group] = devices.front();
  }
  return device_of;
}

}  // namespace placewright
