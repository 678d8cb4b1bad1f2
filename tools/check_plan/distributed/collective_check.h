// The order in which devices come to their collectives.
#ifndef CHECK_PLAN_DISTRIBUTED_COLLECTIVE_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_COLLECTIVE_CHECK_H_

#include "check_plan/violation.h"
#include "plan/distributed_step.h"

namespace placewright::check {

// Every device calls its members in the order of the step's ops. Two devices that come to two collectives in
// different orders, or a longer circle of that kind, wait for one another for ever: kReorderedCollective.
// O(members).
MaybeViolation CheckCollectiveOrder(const DistributedStep& step);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_COLLECTIVE_CHECK_H_
