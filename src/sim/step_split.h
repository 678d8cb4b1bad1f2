// What the devices of a simulated step do with their time, on the average.
#ifndef PLACEWRIGHT_SIM_STEP_SPLIT_H_
#define PLACEWRIGHT_SIM_STEP_SPLIT_H_

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/step_lanes.h"

namespace placewright {

// Shares of the step; they sum to 1 where some device computes.
struct StepSplit {
  double compute = 0;
  double communication = 0;  // something moves to or from the device, and it does not compute
  double idle = 0;           // neither: waits for others, the bubble of a pipeline
  // Of `compute` by type of op, of `communication` by "all-reduce", ..., "transfer"; largest first. Where several
  // move at once, what ends last before the device goes on is what it waited for.
  std::vector<std::pair<std::string, double>> op_types, kinds;
};

// Over the devices that compute. `lanes`: of a step in lanes. Complexity: O(n log n) in ops and transfers, times those that move at once.
StepSplit SplitOfStep(const Graph& step, const Placement& placement, const Schedule& schedule,
                      size_t devices, Nanos step_time, const StepLanes* lanes = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_STEP_SPLIT_H_
