// A compiled step in which devices that do alike are one: the first of each class has the ops of all of them
// (docs/simulator.md, "Lanes").
#ifndef PLACEWRIGHT_PLAN_STEP_LANES_H_
#define PLACEWRIGHT_PLAN_STEP_LANES_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace placewright {

struct StepLanes {
  // By device: that which stands for it, and the devices that it stands for, itself first; none of the others.
  IdVector<DeviceId, DeviceId> first;
  IdVector<DeviceId, std::vector<DeviceId>> members;
  // By link: that which collectives, and that which transfers, use as they use it in the full step.
  IdVector<LinkId, LinkId> held, taken;
  // By collective of the step: how many of the full step's it stands for, and its communicator.
  IdVector<CollectiveId, int32_t> stands_for, communicator;
  // By communicator: the sets of devices that it stands for.
  std::vector<std::vector<std::vector<DeviceId>>> sets;
};

// How many devices do what is on this one. `lanes`: nullptr where every device has its own ops.
inline int64_t DevicesLike(const StepLanes* lanes, DeviceId device) {
  return lanes == nullptr ? 1 : static_cast<int64_t>(lanes->members[device].size());
}

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_STEP_LANES_H_
