#include "search/planner.h"

#include "search/layouts/layout_search.h"

namespace placewright {

Result<PlannerResult> IterativePlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                             const PlannerOptions& options) const {
  PW_ASSIGN(const std::unique_ptr<PlannerRun> run, Start(problem, evaluator, options));
  if (problem.layouts != nullptr && layout_rule()) {
    return SearchLayouts(problem, options, *layout_rule(), name(), run->result().placement);
  }
  const bool limited = options.budget.iterations || options.budget.deadline;
  while (run->Advance(kMaxQuantity) && limited && !options.budget.Expired()) {
  }
  return run->result();
}

}  // namespace placewright
