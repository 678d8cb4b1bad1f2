// Whether a step in micro-batches computes what the step did (transform `accumulate`).
#ifndef CHECK_PLAN_TRANSFORMS_MICRO_BATCHES_H_
#define CHECK_PLAN_TRANSFORMS_MICRO_BATCHES_H_

#include <cstdint>

#include "check_plan/violation.h"
#include "graph/graph.h"

namespace placewright::check {

// Follows every tensor from the inputs on: which tensor of the original it is, all of it, the interval of a
// micro-batch, or a share of a sum over some samples. `X@k` is op X on the k-th interval, as the rules of sharding
// license it: the operator and arguments of the part, inputs of that interval, or all of what has no batch. What is
// neither that, nor an op of the original on all of its tensors, cuts an interval, adds shares, divides them, or weighs
// targets. So each interval is computed once and enters each sum once, and what is read whole is complete.
// `original` draws as `step` does (counted_draws.h). Of batch norms each interval has its own statistics.
//
// Kinds: "doubled-sample" and "missing-sample" (an interval twice, or nowhere), "wrong-part" (another interval than
// the op's), "doubled-sum" and "lost-sum" (shares of a sum), "local-divisor", "wrong-input", "wrong-argument",
// "stale-parameter" (another content than is due), "missing-op", "not-proven". O(ops + edges).
MaybeViolation CheckMicroBatches(const Graph& original, const Graph& step, int64_t micro_batches);

}  // namespace placewright::check

#endif  // CHECK_PLAN_TRANSFORMS_MICRO_BATCHES_H_
