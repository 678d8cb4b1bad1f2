// Is a compiled step the original one, distributed as its plan says?
#ifndef CHECK_PLAN_DISTRIBUTED_DISTRIBUTION_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_DISTRIBUTION_CHECK_H_

#include "check_plan/distributed/interpreter.h"
#include "cluster/cluster.h"
#include "plan/layout_spec.h"

namespace placewright::check {

// The step interpreted (interpreter.h), the order of its collectives, and where its instances are.
Findings CheckDistribution(const Graph& original, const DistributedStep& step,
                           const Cluster& cluster, const DistributionSpec& spec);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_DISTRIBUTION_CHECK_H_
