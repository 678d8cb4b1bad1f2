// Results of planners.
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_PLAN_RESULT_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_PLAN_RESULT_H_

#include <string_view>

#include "search/evaluation/group_placement.h"
#include "search/planner.h"

namespace placewright {

// The result of a planner that made one plan.
PlannerResult MakeResult(const Problem& problem, std::string_view algorithm,
                         const GroupPlacement& device_of, const Score& score,
                         const PlannerOptions& options);

// The same of a plan that may split and copy ops.
PlannerResult MakeResult(std::string_view algorithm, StepPlan plan, const Evaluation& evaluation,
                         const PlannerOptions& options);

// What a result looks like beside others.
Baseline BaselineOf(const Problem& problem, const PlannerResult& result, bool search);

// kCancelled: the budget of `algorithm` ended before it had a plan.
Error NoPlanInTime(std::string_view algorithm);

// Seconds since the process started, as results report them.
double SecondsSince(Clock::time_point started);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_PLAN_RESULT_H_
