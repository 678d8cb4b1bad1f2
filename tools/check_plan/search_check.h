// What a plan says of the search that found it, as far as its figures speak of each other.
#ifndef CHECK_PLAN_SEARCH_CHECK_H_
#define CHECK_PLAN_SEARCH_CHECK_H_

#include "check_plan/violation.h"
#include "plan/plan.h"

namespace placewright::check {

// Names: the plan's algorithm has one; baselines have distinct ones; the history's are among these.
// Baselines: none that fits is better than the plan; the one of the plan's own algorithm is the
// plan; each has the best step time that the history has of its algorithm.
// History: falls strictly, and ends at the step time with the plan's algorithm, with no more
// iterations than the plan. Without a plan that fits there is none.
// Seconds: those of the history never fall and end by the plan's; the first are those of the first
// plan that fits.
// Precondition: the step time and the feasible flag are right.
MaybeViolation CheckSearch(const Plan& plan);

}  // namespace placewright::check

#endif  // CHECK_PLAN_SEARCH_CHECK_H_
