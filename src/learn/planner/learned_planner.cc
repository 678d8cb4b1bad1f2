#include "learn/planner/learned_planner.h"

#include "learn/planner/learned_run.h"

namespace placewright {

Result<std::unique_ptr<PlannerRun>> LearnedPlanner::Start(const Problem& problem,
                                                          Evaluator& evaluator,
                                                          const PlannerOptions& options) const {
  PW_ASSIGN(std::unique_ptr<LearnedRun> run,
            LearnedRun::Start(settings_, problem, evaluator, options, policy_.get()));
  return std::unique_ptr<PlannerRun>(std::move(run));
}

}  // namespace placewright
