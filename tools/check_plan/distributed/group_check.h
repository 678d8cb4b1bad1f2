// All instances of one facet together (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_

#include <vector>

#include "check_plan/distributed/instance_check.h"

namespace placewright::check {

// What they compute covers the op: of equal cuts, which are those of replicas, one counts; and where one is part of
// another they cover it several times (cover.h). What those of one cut take as shares of a sum is all of it.
// Precondition: all of them are proven.
MaybeViolation CheckTogether(const Graph& original, const DistributedStep& step,
                             const Facets& facets, FacetId facet,
                             const std::vector<Instance>& instances, Sums& sums);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_
