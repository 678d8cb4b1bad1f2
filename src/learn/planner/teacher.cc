#include "learn/planner/teacher.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "learn/units/constructive_plans.h"
#include "search/evaluation/group_placement.h"
#include "search/planner_table.h"

namespace placewright {

Result<GroupPlacement> TeachersPlan(const AgentProblem& problem, Evaluator& evaluator,
                                    const PlannerOptions& options, int64_t moves) {
  std::optional<ScoredPlacement> best;
  for (const GroupPlacement& plan :
       ConstructivePlansOf(problem.problem, problem.graph, problem.candidates, problem.groups)) {
    const Score score = evaluator.EvaluateOne(ExpandGroups(problem.problem, plan)).score();
    if (!best || score < best->score) best = {score, plan};
  }
  if (moves == 0) return best->devices;
  const PlannerTable planners = MakeSearchPlanners();
  const auto search = std::find_if(planners.begin(), planners.end(), [](const auto& planner) {
    return planner->name() == "local-search";
  });
  PW_CHECK(search != planners.end());
  PlannerOptions of_search = options;
  of_search.budget.iterations = moves;
  of_search.initial = ExpandGroups(problem.problem, best->devices);
  of_search.progress = nullptr;
  PW_ASSIGN(const PlannerResult plan, (*search)->Plan(problem.problem, evaluator, of_search));
  return GroupsOf(problem.problem, plan.placement);
}

}  // namespace placewright
