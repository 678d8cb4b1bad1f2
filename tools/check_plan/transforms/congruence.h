// Whether a step that computes some of its ops again computes what the step did (transforms `recompute`, `offload`).
#ifndef CHECK_PLAN_TRANSFORMS_CONGRUENCE_H_
#define CHECK_PLAN_TRANSFORMS_CONGRUENCE_H_

#include "check_plan/violation.h"
#include "graph/graph.h"

namespace placewright::check {

// By numbers of values (value_numbers.h), nothing is executed:
//   * both have the same inputs; every op of the original is there, by its name, with its operator and arguments, and
//     reads the same values;
//   * any other op makes what some op of the original makes: the same operator with the same arguments, of equal
//     values. It writes nothing that an op of the original makes, or that is there before the step;
//   * outputs, and what parameters, states and buffers hold behind the step, are the same values.
// `original` draws as `step` does (counted_draws.h). O(ops + edges), in hashed lookups.
//
// Kinds: "wrong-argument" (another operator, another number of a draw, ...), "wrong-input" (another tensor),
// "stale-parameter" (what is read is there, but at another version), "missing-op", "doubled-sample" (something is
// written a second time).
MaybeViolation CheckCongruence(const Graph& original, const Graph& step);

}  // namespace placewright::check

#endif  // CHECK_PLAN_TRANSFORMS_CONGRUENCE_H_
