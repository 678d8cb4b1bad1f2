// Plans for a policy of many graphs to begin with. As long as all that a policy draws is worse than
// everything on one device, it learns from its own samples to draw just that. So it may first learn
// to draw plans that are better.
#ifndef PLACEWRIGHT_LEARN_PLANNER_TEACHER_H_
#define PLACEWRIGHT_LEARN_PLANNER_TEACHER_H_

#include <cstdint>

#include "learn/agent/agent.h"
#include "search/evaluator.h"
#include "search/planner.h"

namespace placewright {

// The best of the constructive plans that policies may see (constructive_plans.h), after so many
// moves of `local-search`. Errors: those of Planner::Plan.
Result<GroupPlacement> TeachersPlan(const AgentProblem& problem, Evaluator& evaluator,
                                    const PlannerOptions& options, int64_t moves);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_PLANNER_TEACHER_H_
