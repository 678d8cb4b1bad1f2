// Whether a step whose parameters are of a wider type computes what the step did, up to that type (transform `precision`).
#ifndef CHECK_PLAN_TRANSFORMS_PRECISION_H_
#define CHECK_PLAN_TRANSFORMS_PRECISION_H_

#include <string>
#include <vector>

#include "check_plan/violation.h"
#include "graph/graph.h"

namespace placewright::check {

// `words`: what the plan states of it. Followed from the inputs on, up to casts each tensor of the step is one of the
// original, at the same version:
//   * inputs are the same, of one type or, updated parameters and state of optimizers, of `master`;
//   * every op of the original is there, with its operator and arguments, and reads the same tensors. Before the update
//     all that it reads and makes has the original's type, so that the same is computed; in the update, that or `master`;
//   * any other op is a cast: of a parameter as it is before the step to the type that the original's has, or of what the
//     update alone reads to `reduce`, and of that to `master`.
// `original` draws as `step` does. O(ops + edges).
//
// Kinds: "wrong-argument" (another operator, a cast to another type), "wrong-input" (another tensor, or one of another
// type), "stale-parameter" (another version), "missing-op".
MaybeViolation CheckPrecision(const Graph& original, const Graph& step,
                              const std::vector<std::string>& words);

}  // namespace placewright::check

#endif  // CHECK_PLAN_TRANSFORMS_PRECISION_H_
