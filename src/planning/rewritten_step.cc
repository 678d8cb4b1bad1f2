#include "planning/rewritten_step.h"

#include <algorithm>
#include <utility>

#include "search/evaluation/simulated.h"
#include "search/planner_table.h"
#include "transforms/transforms.h"

namespace placewright {

Result<PlannerResult> LaidOut(const Strategy& strategy, const Problem& problem,
                              Evaluator& evaluator, const PlannerOptions& options) {
  const PlannerTable planners = MakeLayoutPlanners({.agent = strategy.settings});
  const auto planner = std::find_if(planners.begin(), planners.end(), [&](const auto& one) {
    return one->name() == strategy.algorithm;
  });
  return (*planner)->Plan(problem, evaluator, options);
}

Error GivenUp() { return MakeError(ErrorCode::kCancelled, "the step was given up"); }

Result<std::unique_ptr<RewrittenStep>> RewrittenStep::Make(
    const Graph& step, const Cluster& cluster, const CostOptions& costs, const Rewriting& rewriting,
    const StrategySearchOptions& options, const StopCheck& stop, std::optional<int64_t> written) {
  const auto check = [&] { return stop && stop() ? Status(GivenUp()) : Ok(); };
  auto made = std::make_unique<RewrittenStep>();
  PW_ASSIGN(made->graph_, ApplyTransforms(step, TransformsFor(rewriting), written, stop));
  PW_RETURN_IF_ERROR(check());
  const Graph& graph = made->graph_ ? *made->graph_ : step;
  PW_ASSIGN(made->layouts_, MakeLayouts(graph, cluster, costs, options.policy, options.wishes));
  if (written) {
    made->layouts_->unwritten =
        static_cast<double>(rewriting.micro_batches) / static_cast<double>(*written);
  }
  PW_RETURN_IF_ERROR(check());
  // Its graph may count draws, where this one does not.
  PW_ASSIGN(made->problem_, BuildProblem(made->layouts_->graph, cluster, made->layouts_->costs, {},
                                         options.policy));
  made->problem_.layouts = made->layouts_.get();
  made->evaluator_ = MakeSimulatedEvaluator(made->problem_, options.planning.threads, stop);
  return made;
}

std::unique_ptr<Graph> RewrittenStep::TakeGraph() {
  evaluator_.reset();
  problem_ = Problem();
  layouts_.reset();
  return std::move(graph_);
}

}  // namespace placewright
