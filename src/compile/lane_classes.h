// Devices that do alike in a step, of which one is written and simulated for all: docs/simulator.md, "Lanes".
#ifndef PLACEWRIGHT_COMPILE_LANE_CLASSES_H_
#define PLACEWRIGHT_COMPILE_LANE_CLASSES_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "cluster/cluster.h"
#include "plan/layout.h"

namespace placewright {

// A partition of the devices. The i-th members of all classes of one size are a lane.
struct LaneClasses {
  IdVector<DeviceId, DeviceId> first;  // of its class, which stands for it
  IdVector<DeviceId, int32_t> lane, size;

  bool empty() const { return first.empty(); }
  bool StandsForItself(DeviceId device) const { return first[device] == device; }
};

// Partitions that may do for a step that is laid out like that, the coarsest first; none where no two devices can be
// alike. Devices of a class are of one kind and capacity and have parts of equal lengths of the same groups. Whether
// they do alike is found out when the step is written (lane_folder.h) and packed.
std::vector<LaneClasses> FindLaneClasses(const Cluster& cluster, const Layouts& layouts);

// How many devices have a share of some group.
size_t CountDevices(const Cluster& cluster, const Layouts& layouts);
// And how many classes such devices are of.
size_t CountClasses(const LaneClasses& lanes, const Layouts& layouts);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_LANE_CLASSES_H_
