#include "search/layouts/layout_problem.h"

#include <utility>

#include "compile/layout_specs.h"
#include "compile/step_costs.h"
#include "sim/placement_check.h"
#include "sim/simulator.h"

namespace placewright {

Result<CompiledStep> CompileStep(const LayoutProblem& problem, const DistributionSpec& spec) {
  PW_ASSIGN(const Layouts layouts, ResolveLayouts(problem.graph, problem.axes, problem.cluster,
                                                  problem.costs, spec.layouts));
  CompiledStep compiled;
  PW_ASSIGN(compiled.step, Compile(problem.graph, problem.axes, layouts, problem.cluster));
  PW_ASSIGN(compiled.costs, CostsOfStep(compiled.step, problem.graph, problem.communication,
                                        problem.cost_options, &compiled.report));
  const DistributedStep& step = compiled.step;
  compiled.sim_graph = BuildSimGraph(step.graph, problem.cluster, compiled.costs);
  PW_RETURN_IF_ERROR(
      CheckPlacementLegal(compiled.sim_graph, step.graph, problem.cluster, step.placement));
  return compiled;
}

Result<Evaluation> EvaluateLayouts(const LayoutProblem& problem, const DistributionSpec& spec) {
  PW_ASSIGN(const CompiledStep compiled, CompileStep(problem, spec));
  Simulator simulator(compiled.sim_graph);
  SimOptions options;
  options.policy = problem.policy;
  const SimResult& result = simulator.Run(compiled.step.placement, options);
  Evaluation evaluation;
  evaluation.feasible = result.feasible;
  evaluation.step_time = result.step_time;
  for (const DeviceResult& device : result.devices) {
    evaluation.devices.push_back({device.peak, device.over});
  }
  return evaluation;
}

}  // namespace placewright
