#include "learn/planner/teacher.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "learn/units/constructive_plans.h"
#include "search/evaluation/group_placement.h"
#include "search/planner_table.h"

namespace placewright {
namespace {

Result<GroupPlacement> Searched(const Problem& problem, Evaluator& evaluator,
                                const PlannerOptions& options, const GroupPlacement& start,
                                int64_t moves) {
  const PlannerTable planners = MakeSearchPlanners();
  const auto search = std::find_if(planners.begin(), planners.end(), [](const auto& planner) {
    return planner->name() == "local-search";
  });
  PW_CHECK(search != planners.end());
  PlannerOptions of_search = options;
  of_search.budget.iterations = moves;
  of_search.initial = PlanOf(problem, start);
  of_search.progress = nullptr;
  PW_ASSIGN(const PlannerResult plan, (*search)->Plan(problem, evaluator, of_search));
  return GroupsOf(problem, plan.plan);
}

}  // namespace

Result<std::vector<TaughtPlan>> TeachersPlans(const AgentProblem& problem, Evaluator& evaluator,
                                              const PlannerOptions& options, int64_t moves) {
  std::vector<TaughtPlan> plans;
  std::vector<Score> scores;
  for (const GroupPlacement& plan : problem.plans()) {
    plans.push_back({plan, 0});
    scores.push_back(evaluator.EvaluateOne(ExpandGroups(problem.problem, plan)).score());
  }
  const auto best =
      static_cast<size_t>(std::min_element(scores.begin(), scores.end()) - scores.begin());
  if (moves > 0) {
    PW_ASSIGN(GroupPlacement searched,
              Searched(problem.problem, evaluator, options, plans[best].devices, moves));
    return std::vector<TaughtPlan>{{std::move(searched), 1}};
  }
  double sum = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (scores[i].feasible != scores[best].feasible) continue;
    const double ratio = static_cast<double>(std::max<int64_t>(1, scores[best].step_time)) /
                         static_cast<double>(std::max<int64_t>(1, scores[i].step_time));
    // Of plans that do not fit the one that lacks least comes first, and alone.
    const bool counts = scores[best].feasible || i == best;
    plans[i].weight = counts ? std::pow(ratio, kSharpness) : 0;
    sum += plans[i].weight;
  }
  for (TaughtPlan& plan : plans) plan.weight /= sum;
  return plans;
}

}  // namespace placewright
