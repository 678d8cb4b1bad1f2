// A step that is distributed by a plan, as a graph with everything that it takes to simulate it.
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_COMPILED_STEP_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_COMPILED_STEP_H_

#include <optional>

#include "base/result.h"
#include "compile/compiler.h"
#include "cost/cost_model.h"
#include "plan/step_plan.h"
#include "search/evaluator.h"
#include "search/problem/layout_problem.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

struct CompiledStep {
  DistributedStep step;
  CostTable costs;
  CostModelReport report;
  SimGraph sim_graph;
  SchedulingPolicy policy = SchedulingPolicy::kFifo;  // the plan's order
  bool gradients_apart = false;                       // of some op: what StepSwitches came to
  std::optional<StepLanes> lanes = {};  // where the first device of each class has the ops of all
};

// As the plan says it; gradients are made apart (compile/rewrites/separate_gradients.h) where it leaves that open. Errors:
// those of Compile, CostsOfStep; kUnreachable where devices that have to exchange something cannot.
Result<CompiledStep> CompileStep(const LayoutProblem& problem, const StepPlan& plan);
// Of a step that was printed in lanes. Errors: those of CostsOfStep; kUnreachable.
Result<CompiledStep> CompleteInLanes(const LayoutProblem& problem, const StepPlan& plan,
                                     StepInLanes in_lanes);

// By the event simulator, with what ran where and when if `feedback`.
Evaluation EvaluateStep(const CompiledStep& compiled, bool feedback = false);

// The slow way to evaluate a plan: by its compiled step. Where the plan leaves it open, with gradients apart and together:
// the better of the two. Errors: those of CompileStep.
Result<Evaluation> EvaluateCompiled(const LayoutProblem& problem, StepPlan plan,
                                    bool feedback = false);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_COMPILED_STEP_H_
