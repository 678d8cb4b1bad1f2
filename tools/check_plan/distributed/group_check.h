// All instances of one facet together (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_

#include <optional>
#include <vector>

#include "check_plan/distributed/instance_check.h"

namespace placewright::check {

// What they compute covers the op: of equal cuts, which are those of replicas, one counts; and where one is part of
// another they cover it several times (cover.h). Precondition: all of them are proven. `rule`: the op's.
MaybeViolation CheckTogether(const Graph& original, const DistributedStep& step,
                             const std::optional<OpRule>& rule,
                             const std::vector<Instance>& instances);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_GROUP_CHECK_H_
