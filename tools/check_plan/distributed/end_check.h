// What a compiled step leaves behind (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_END_CHECK_H_
#define CHECK_PLAN_DISTRIBUTED_END_CHECK_H_

#include "check_plan/distributed/contents.h"

namespace placewright::check {

// Every op of the original has an instance. Parameters, state and buffers are in pieces that are each all of them or
// that cover them, equal ones as replicas, and every piece has the last version. Outputs of the original are outputs
// of the step, all of each.
MaybeViolation CheckEnd(const Graph& original, const DistributedStep& step,
                        const Contents& contents);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_END_CHECK_H_
