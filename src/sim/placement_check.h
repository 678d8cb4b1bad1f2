// Whether a placement can be run at all: what every candidate must be before it is evaluated.
#ifndef PLACEWRIGHT_SIM_PLACEMENT_CHECK_H_
#define PLACEWRIGHT_SIM_PLACEMENT_CHECK_H_

#include "base/result.h"
#include "plan/placement.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// Errors: kField (unsupported op), kPlanInvalid (colocation broken), kUnreachable; each names the
// first offender.
Status CheckPlacementLegal(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                           const Placement& placement);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PLACEMENT_CHECK_H_
