// What lies on each device from when to when in a simulated step, read off its schedule.
//
// Worked out from the rules (docs/simulator.md, memory) rather than taken from the event loop, so
// that whatever is made of it is a second opinion on the simulator's peak.
#ifndef PLACEWRIGHT_SIM_MEMORY_RESIDENTS_H_
#define PLACEWRIGHT_SIM_MEMORY_RESIDENTS_H_

#include <vector>

#include "plan/placement.h"
#include "plan/schedule.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// A storage on its home, a read-only input on a device that reads it, or a copy of a slice.
struct Resident {
  StorageId storage;
  DeviceId device;
  Bytes bytes;        // rounded up to the granule (rule 8)
  bool copy = false;  // received in a transfer
  Nanos from, until;
};
// `until` of what lies there for the whole step.
inline constexpr Nanos kWholeStep = Nanos(kMaxQuantity);

// Transfers first, in the schedule's order, then storages by id. Nothing of no bytes is left out.
// Complexity: O(ops + slices + transfers).
std::vector<Resident> FindResidents(const SimGraph& sim_graph, const Placement& placement,
                                    const Schedule& schedule);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_MEMORY_RESIDENTS_H_
