// Where the instances of a step are, against the layouts that its plan states.
#ifndef CHECK_PLAN_DISTRIBUTED_LAYOUT_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_LAYOUT_CHECK_H_

#include "check_plan/distributed/group_layouts.h"
#include "check_plan/violation.h"
#include "cluster/cluster.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::check {

// The ops of a group have one instance on each of its layout's devices, or, where the layout gives the group one
// device, all on one of these; views of a broadcast's copies are beside these. Draws of random numbers may be those
// of the first device alone. Which parts they compute says share_check.h: kWrongDevice.
MaybeViolation CheckLayouts(const Graph& original, const DistributedStep& step,
                            const Cluster& cluster, const GroupLayouts& layouts);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_LAYOUT_CHECK_H_
