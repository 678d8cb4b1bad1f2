// A step as a strategy rewrites it, and what the strategy's planner makes of it.
#ifndef PLACEWRIGHT_PLANNING_REWRITTEN_STEP_H_
#define PLACEWRIGHT_PLANNING_REWRITTEN_STEP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/stop_check.h"
#include "planning/strategy_search.h"
#include "search/evaluator.h"
#include "search/problem/layout_problem.h"
#include "search/problem/problem.h"

namespace placewright {

// Hands on, and keeps what the last plan came to.
class LastEvaluation : public Evaluator {
 public:
  explicit LastEvaluation(Evaluator& evaluator) : evaluator_(evaluator) {}

  std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                   const EvaluationOptions& options) override {
    return evaluator_.Evaluate(candidates, options);
  }
  std::vector<Result<Evaluation>> EvaluatePlans(std::span<const StepPlan> candidates,
                                                const EvaluationOptions& options) override {
    std::vector<Result<Evaluation>> evaluations = evaluator_.EvaluatePlans(candidates, options);
    if (!evaluations.empty() && evaluations.back().ok()) last_ = evaluations.back().value();
    count_ += evaluations.size();
    return evaluations;
  }
  int threads() const override { return evaluator_.threads(); }
  std::unique_ptr<MoveEvaluator> StartMoves(size_t memory_limit) override {
    return evaluator_.StartMoves(memory_limit);
  }
  std::unique_ptr<Evaluator> ForProblem(const Problem& variant, int threads) const override {
    return evaluator_.ForProblem(variant, threads);
  }

  const Evaluation& last() const { return last_; }
  size_t count() const { return count_; }

 private:
  Evaluator& evaluator_;
  Evaluation last_;
  size_t count_ = 0;
};

// The plan of the strategy's planner, with its settings. Errors: the planner's.
Result<PlannerResult> LaidOut(const Strategy& strategy, const Problem& problem,
                              Evaluator& evaluator, const PlannerOptions& options);

// What somebody stopped, or time.
Error GivenUp();

// The step under one rewriting, with all that planners of layouts ask for.
class RewrittenStep {
 public:
  // `written`: so many of its micro-batches alone (ApplyTransforms); `stop`: true ends its making, and evaluations, with
  // kCancelled. Step, cluster and costs must outlive it. Errors: those of the rewriting, of MakeLayouts and BuildProblem.
  static Result<std::unique_ptr<RewrittenStep>> Make(const Graph& step, const Cluster& cluster,
                                                     const CostOptions& costs,
                                                     const Rewriting& rewriting,
                                                     const StrategySearchOptions& options,
                                                     const StopCheck& stop,
                                                     std::optional<int64_t> written = {});

  const Problem& problem() const { return problem_; }
  Evaluator& evaluator() const { return *evaluator_; }
  // The rewritten graph, without all else; nullptr: the step is as it was. Nothing else can be asked for then.
  std::unique_ptr<Graph> TakeGraph();

 private:
  std::unique_ptr<Graph> graph_;  // nullptr: the step as it is
  std::unique_ptr<LayoutProblem> layouts_;
  Problem problem_;
  std::unique_ptr<Evaluator> evaluator_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_REWRITTEN_STEP_H_
