// A simulated step in lanes (plan/step_lanes.h) as one of all its devices.
#ifndef PLACEWRIGHT_SIM_STEP_IN_LANES_H_
#define PLACEWRIGHT_SIM_STEP_IN_LANES_H_

#include "cost/cost_table.h"
#include "plan/placement.h"
#include "plan/step_lanes.h"
#include "sim/engine/sim_graph.h"
#include "sim/simulator.h"

namespace placewright {

// Which collectives wait for one another: their members alone do not say it.
void SetCommunicators(const StepLanes& lanes, SimGraph& sim_graph);

// Every device and every link does what the one does that stands for it. The schedule stays that of the step's ops.
void ExpandLanes(const StepLanes& lanes, SimResult& result);

// As SharesOf (cost/cost_table.h) of the full step. `lanes`: nullptr where it is one.
CostShares SharesOf(const CostTable& costs, const Placement& placement, const StepLanes* lanes);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_STEP_IN_LANES_H_
