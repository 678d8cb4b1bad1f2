#include "search/layouts/layout_problem.h"

#include <optional>
#include <utility>

#include "compile/counter_draws.h"
#include "compile/layout_specs.h"
#include "compile/step_costs.h"
#include "search/evaluation/simulated.h"
#include "sharding/separable_results.h"
#include "sim/placement_check.h"

namespace placewright {

LayoutProblem::LayoutProblem(const Graph& step, std::unique_ptr<const Graph> counted,
                             const Cluster& machines, CostTable whole, CostOptions options,
                             SchedulingPolicy order)
    : counted_(std::move(counted)),
      graph(counted_ ? *counted_ : step),
      cluster(machines),
      costs(std::move(whole)),
      cost_options(std::move(options)),
      policy(order),
      axes(graph),
      communication(machines, cost_options.measured_collectives) {}

Result<std::unique_ptr<LayoutProblem>> LayoutProblem::Make(const Graph& step,
                                                           const Cluster& cluster,
                                                           CostOptions cost_options,
                                                           SchedulingPolicy policy) {
  PW_ASSIGN(std::unique_ptr<const Graph> counted, WithCountedDraws(step, kDrawSeed));
  PW_ASSIGN(CostTable costs, ModelCosts(counted ? *counted : step, cluster, cost_options));
  return std::unique_ptr<LayoutProblem>(new LayoutProblem(
      step, std::move(counted), cluster, std::move(costs), std::move(cost_options), policy));
}

bool LayoutProblem::HasBatchNorms() const {
  for (const OpId op : graph.ops()) {
    if (axes.rule(op) != nullptr && axes.rule(op)->form == PartForm::kBatchNorm) return true;
  }
  return false;
}

namespace {

bool MakesResultsApart(const DistributedStep& step, const Graph& original) {
  for (const OpId op : step.graph.ops()) {
    const OpId origin = step.origin[op];
    const auto mask = origin.valid() ? SeparableResults(step.graph.op(op)) : std::nullopt;
    if (mask && mask != SeparableResults(original.op(origin))) return true;
  }
  return false;
}

Result<CompiledStep> CompileWith(const LayoutProblem& problem, const Layouts& layouts,
                                 const CompileOptions& options) {
  CompiledStep compiled;
  PW_ASSIGN(compiled.step, Compile(problem.graph, problem.axes, layouts, problem.cluster, options));
  PW_ASSIGN(compiled.costs, CostsOfStep(compiled.step, problem.graph, problem.communication,
                                        problem.cost_options, &compiled.report));
  const DistributedStep& step = compiled.step;
  compiled.sim_graph = BuildSimGraph(step.graph, problem.cluster, compiled.costs);
  PW_RETURN_IF_ERROR(
      CheckPlacementLegal(compiled.sim_graph, step.graph, problem.cluster, step.placement));
  compiled.gradients_apart = MakesResultsApart(step, problem.graph);
  return compiled;
}

}  // namespace

std::vector<TimedInstance> InstancesOf(const CompiledStep& compiled) {
  std::vector<TimedInstance> instances;
  const DistributedStep& step = compiled.step;
  for (const OpId op : step.graph.ops()) {
    const DeviceId device = step.placement[op];
    instances.push_back({step.origin[op], device, compiled.costs.time(op, device)});
  }
  return instances;
}

Result<CompiledStep> CompileStep(const LayoutProblem& problem, const DistributionSpec& spec) {
  PW_ASSIGN(const Layouts layouts, ResolveLayouts(problem.graph, problem.axes, problem.cluster,
                                                  problem.costs, spec.layouts));
  return CompileStep(problem, layouts, {.switches = spec.switches});
}

Result<CompiledStep> CompileStep(const LayoutProblem& problem, const Layouts& layouts,
                                 CompileOptions options) {
  const bool decided = options.switches.gradients_apart.has_value();
  PW_ASSIGN(CompiledStep apart, CompileWith(problem, layouts, options));
  if (decided || !apart.gradients_apart) return apart;
  // What is ready earlier may come before something that more waits for.
  options.switches.gradients_apart = false;
  PW_ASSIGN(CompiledStep together, CompileWith(problem, layouts, options));
  const Score of_apart = EvaluateStep(apart, problem.policy).score();
  if (of_apart < EvaluateStep(together, problem.policy).score()) return apart;
  return together;
}

}  // namespace placewright
