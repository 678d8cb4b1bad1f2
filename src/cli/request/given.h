// The placement that a cost graph's file states.
#ifndef PLACEWRIGHT_CLI_REQUEST_GIVEN_H_
#define PLACEWRIGHT_CLI_REQUEST_GIVEN_H_

#include <optional>

#include "cli/request/inputs.h"
#include "plan/step_plan.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// Nothing if the file states none, or one that is incomplete or cannot be simulated.
std::optional<StepPlan> GivenPlacement(const Inputs& inputs, const SimGraph& sim_graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_GIVEN_H_
