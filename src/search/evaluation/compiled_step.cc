#include "search/evaluation/compiled_step.h"

#include <utility>

#include "compile/step_costs.h"
#include "search/evaluation/simulated.h"
#include "sharding/separable_results.h"
#include "sim/placement_check.h"
#include "sim/simulator.h"
#include "sim/step_in_lanes.h"

namespace placewright {
namespace {

bool MakesResultsApart(const DistributedStep& step, const Graph& original) {
  for (const OpId op : step.graph.ops()) {
    const OpId origin = step.origin[op];
    const auto mask = origin.valid() ? SeparableResults(step.graph.op(op)) : std::nullopt;
    if (mask && mask != SeparableResults(original.op(origin))) return true;
  }
  return false;
}

// From the step and its costs.
Status Complete(const LayoutProblem& problem, const StepPlan& plan, CompiledStep& compiled) {
  const DistributedStep& step = compiled.step;
  compiled.sim_graph = BuildSimGraph(step.graph, problem.cluster, compiled.costs);
  if (compiled.lanes) SetCommunicators(*compiled.lanes, compiled.sim_graph);
  PW_RETURN_IF_ERROR(
      CheckPlacementLegal(compiled.sim_graph, step.graph, problem.cluster, step.placement));
  compiled.policy = plan.switches.order.value_or(problem.policy);
  compiled.gradients_apart = MakesResultsApart(step, problem.graph);
  return Ok();
}

}  // namespace

Result<CompiledStep> CompileStep(const LayoutProblem& problem, const StepPlan& plan) {
  CompiledStep compiled;
  PW_ASSIGN(compiled.step, Compile(problem.graph, problem.axes, plan.layouts, problem.cluster,
                                   {.switches = plan.switches}));
  PW_ASSIGN(compiled.costs, CostsOfStep(compiled.step, problem.graph, problem.communication,
                                        problem.cost_options, &compiled.report));
  PW_RETURN_IF_ERROR(Complete(problem, plan, compiled));
  return compiled;
}

Result<CompiledStep> CompleteInLanes(const LayoutProblem& problem, const StepPlan& plan,
                                     StepInLanes in_lanes) {
  CompiledStep compiled;
  PW_ASSIGN(compiled.costs, CostsOfStep(in_lanes, problem.graph, problem.communication,
                                        problem.cost_options, &compiled.report));
  compiled.step = std::move(in_lanes.step);
  compiled.lanes = std::move(in_lanes.lanes);
  PW_RETURN_IF_ERROR(Complete(problem, plan, compiled));
  return compiled;
}

Evaluation EvaluateStep(const CompiledStep& compiled, bool feedback) {
  Simulator simulator(compiled.sim_graph);
  SimResult result =
      simulator.Run(compiled.step.placement,
                    {.policy = compiled.policy, .schedule = feedback, .feedback = feedback});
  if (compiled.lanes) ExpandLanes(*compiled.lanes, result);
  Evaluation evaluation = EvaluationOf(result);
  evaluation.gradients_apart = compiled.gradients_apart;
  if (!feedback) return evaluation;
  evaluation.feedback = FeedbackOf(result);
  const DistributedStep& step = compiled.step;
  for (const OpId op : step.graph.ops()) {
    if (step.graph.op(op).is_view) continue;
    const OpSpan& span = result.schedule->ops[op];
    evaluation.feedback->instances.push_back(
        {step.origin[op], step.placement[op], span.start, span.end});
  }
  evaluation.feedback->schedule = {};  // of ops of the compiled step
  return evaluation;
}

Result<Evaluation> EvaluateCompiled(const LayoutProblem& problem, StepPlan plan, bool feedback) {
  const auto evaluate = [&]() -> Result<Evaluation> {
    PW_ASSIGN(const CompiledStep compiled, CompileStep(problem, plan));
    return EvaluateStep(compiled, feedback);
  };
  PW_ASSIGN(Evaluation apart, evaluate());
  if (plan.switches.gradients_apart || !*apart.gradients_apart) return apart;
  // What is ready earlier may come before something that more waits for.
  plan.switches.gradients_apart = false;
  PW_ASSIGN(Evaluation together, evaluate());
  return apart.score() < together.score() ? std::move(apart) : std::move(together);
}

}  // namespace placewright
