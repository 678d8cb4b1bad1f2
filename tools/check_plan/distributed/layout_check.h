// Where the instances of a step are, against the layouts that its plan states.
#ifndef CHECK_PLAN_DISTRIBUTED_LAYOUT_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_LAYOUT_CHECK_H_

#include "check_plan/violation.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"
#include "plan/layout_spec.h"

namespace placewright::check {

// The last spec that names a colocation group holds. Its ops have one instance on each of the spec's devices,
// or, where the option gives the group one device, all on one of these: place, model-parallel, the groups of
// parameters under parameter-server; views of a broadcast's copies are beside these. Draws of random numbers may be those of the first device alone. Which
// parts they compute is the interpreter's concern: kWrongDevice.
MaybeViolation CheckLayouts(const Graph& original, const DistributedStep& step,
                            const Cluster& cluster, const LayoutSpecs& specs);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_LAYOUT_CHECK_H_
