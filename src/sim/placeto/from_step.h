// A step of ours under Placeto's rules: what its simulator would say of a graph and a placement.
//
// Ops are those that are no views, with their times where they are placed, in microseconds; an op
// of no time has no rest behind it. The outputs of an op are the slices that it makes (sim/engine).
// An op also waits, for no bytes, for the ops that it names in `after` and, if it writes in place,
// for what made the old content and for those beside it that read it. What is there before the step
// is there for Placeto on every device. As in the original, an op that reads several outputs of
// another pays for the one alone that is last among its inputs, and memory plays no part.
#ifndef PLACEWRIGHT_SIM_PLACETO_FROM_STEP_H_
#define PLACEWRIGHT_SIM_PLACETO_FROM_STEP_H_

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/placeto_case.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// Precondition: CheckPlacementLegal holds. Complexity: O(ops + edges log edges).
PlacetoCase MakePlacetoCase(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                            const Placement& placement, const PlacetoParams& params = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PLACETO_FROM_STEP_H_
