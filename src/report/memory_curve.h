// How full each device is over a simulated step, read off its schedule.
// The residents (sim/memory/residents.h) of each device, summed: the picture's highest point is a
// second opinion on the simulator's peak.
#ifndef PLACEWRIGHT_REPORT_MEMORY_CURVE_H_
#define PLACEWRIGHT_REPORT_MEMORY_CURVE_H_

#include <span>
#include <vector>

#include "base/units.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

struct MemoryPoint {
  Nanos time;
  Bytes bytes;  // of tensors, from `time` to the next point's
};
// By time, at most one point a time (the largest of an instant); the first is at 0.
using MemoryCurve = std::vector<MemoryPoint>;

// Of each device, the largest sum of the tensors on it and the workspace of the op that runs, bytes:
// no more than tensors at their peak and the largest workspace, which need not come together.
std::vector<Bytes> PeaksWithWorkspace(const SimGraph& sim_graph, const Placement& placement,
                                      const Schedule& schedule,
                                      std::span<const MemoryCurve> curves);

// One curve per device. Complexity: O((ops + slices + transfers) log).
std::vector<MemoryCurve> MemoryCurves(const SimGraph& sim_graph, const Placement& placement,
                                      const Schedule& schedule);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_MEMORY_CURVE_H_
