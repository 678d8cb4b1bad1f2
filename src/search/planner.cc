#include "search/planner.h"

#include <algorithm>

#include "search/problem/problem.h"

namespace placewright {

Result<PlannerResult> IterativePlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                             const PlannerOptions& options) const {
  PW_ASSIGN(const std::unique_ptr<PlannerRun> run, Start(problem, evaluator, options));
  return RunToItsEnd(*run, options.budget);
}

int64_t FirstPlacedMoves(const Problem& problem) {
  constexpr int64_t kOps = 10'000'000;
  return std::max<int64_t>(1, kOps / std::max<int64_t>(1, problem.sim_graph.ops));
}

Result<PlannerResult> RunToItsEnd(PlannerRun& run, const Budget& budget) {
  const bool limited = budget.iterations || budget.deadline;
  while (run.Advance(kMaxQuantity) && limited && !budget.Expired()) {
  }
  PW_RETURN_IF_ERROR(run.Finish());
  return run.result();
}

}  // namespace placewright
