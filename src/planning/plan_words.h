// A step's plan and the words that layout files have for it.
#ifndef PLACEWRIGHT_PLANNING_PLAN_WORDS_H_
#define PLACEWRIGHT_PLANNING_PLAN_WORDS_H_

#include <optional>

#include "base/result.h"
#include "plan/layout_spec.h"
#include "plan/step_plan.h"
#include "search/problem/layout_problem.h"

namespace placewright {

// What the words say; what they leave to a planner is decided. Errors: those of CheckTransforms, ResolveLayouts and
// PlaceModelParallel.
Result<StepPlan> ResolvePlan(const LayoutProblem& problem, const DistributionSpec& spec);
// By what the step was rewritten; nothing: it is as recorded.
std::optional<Transforms> StatedTransforms(const Graph& step);
// The words for a plan, with as few lines as modules allow. Resolved, every group lies as it does in the plan.
DistributionSpec StatePlan(const LayoutProblem& problem, const StepPlan& plan);
// The words that were resolved to the plan, with devices, shares and transforms; where they left something open, those
// for the plan.
DistributionSpec Restate(const LayoutProblem& problem, const StepPlan& plan,
                         DistributionSpec resolved);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_PLAN_WORDS_H_
