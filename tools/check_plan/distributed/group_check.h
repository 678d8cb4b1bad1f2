// All instances of one facet together (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_

#include <vector>

#include "check_plan/distributed/instance_check.h"

namespace placewright::check {

// Every instance computes everything, or their intervals cover the axis once. Of each sum that they contribute
// to, what they take as shares is added up once, and what enters once does so in one of them.
// Precondition: all of them are proven.
MaybeViolation CheckTogether(const Graph& original, const DistributedStep& step,
                             const Facets& facets, FacetId facet,
                             const std::vector<Instance>& instances, const Sums& sums);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_
