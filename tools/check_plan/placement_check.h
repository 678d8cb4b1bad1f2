// Checks of the placement alone: no time in it.
#ifndef CHECK_PLAN_PLACEMENT_CHECK_H_
#define CHECK_PLAN_PLACEMENT_CHECK_H_

#include "check_plan/violation.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/placement.h"

namespace placewright::check {

// Every op of the graph, views included, exactly once on a device of the cluster that supports it.
// Fills in `placement`.
MaybeViolation CheckCoverage(const NamedPlacement& named, const Graph& graph,
                             const Cluster& cluster, const CostTable& costs, Placement& placement);

// Ops that must lie together do: the maker, the writers and the views of each storage; and each
// parameter with the optimizer ops that read or write it and no other parameter, and with the
// owners of the optimizer state of its update. Worked out from the storages; then the groups that
// the reader found (tied weights, temporaries of an update) are compared too. Of a compiled step neither
// these nor views of inputs that nothing writes count: what is on every device can be viewed on every one.
MaybeViolation CheckColocation(const Graph& graph, const Cluster& cluster,
                               const Placement& placement, bool distributed = false);

// Sets of ops that must lie together by the first rule of CheckColocation: smallest op id of each
// set. `views_of_inputs`: those of an input that nothing writes, too.
IdVector<OpId, OpId> SharedStorageSets(const Graph& graph, bool views_of_inputs = true);

}  // namespace placewright::check

#endif  // CHECK_PLAN_PLACEMENT_CHECK_H_
