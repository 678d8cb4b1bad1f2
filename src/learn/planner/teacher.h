// Plans for a policy of many graphs to begin with: a policy that has settled on one kind of plan learns
// nothing of the others from its own samples.
#ifndef PLACEWRIGHT_LEARN_PLANNER_TEACHER_H_
#define PLACEWRIGHT_LEARN_PLANNER_TEACHER_H_

#include <cstdint>
#include <vector>

#include "learn/agent/agent.h"
#include "search/evaluator.h"
#include "search/planner.h"

namespace placewright {

struct TaughtPlan {
  GroupPlacement devices;
  double weight = 0;  // they sum to 1
};

// Without moves, the constructive plans that policies may follow (constructive_plans.h), weighted by
// (shortest step / step)^kSharpness, those that do not fit by 0 unless none does. Else the best of them
// after so many moves of `local-search`. Errors: those of Planner::Plan.
inline constexpr double kSharpness = 20;
Result<std::vector<TaughtPlan>> TeachersPlans(const AgentProblem& problem, Evaluator& evaluator,
                                              const PlannerOptions& options, int64_t moves);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLANNER_TEACHER_H_
