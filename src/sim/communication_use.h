// What moves between devices in a simulated step, as plans say it.
#ifndef PLACEWRIGHT_SIM_COMMUNICATION_USE_H_
#define PLACEWRIGHT_SIM_COMMUNICATION_USE_H_

#include <vector>

#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "plan/step_lanes.h"

namespace placewright {

// Collectives by kind and algorithm, in the order of these, then transfers; what there is none of is left
// out. The bytes of a collective are those of its largest output. `lanes`: of a step in lanes, what is of all devices.
std::vector<CommunicationUse> UseOfCommunication(const Graph& graph, const CostTable& costs,
                                                 const Schedule& schedule,
                                                 const StepLanes* lanes = nullptr);

// Time in which at least one transfer or collective is under way, and of that the time in which no device
// computes: what communication costs the step.
struct CommunicationTime {
  Nanos any, exposed;
};
CommunicationTime TimeOfCommunication(const Graph& graph, const Schedule& schedule);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_COMMUNICATION_USE_H_
