#include "search/problem/layout_problem.h"

#include <utility>

#include "compile/counter_draws.h"
#include "compile/layout_specs.h"
#include "compile/module_specs.h"
#include "search/partition/model_parallel.h"

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

Result<StepPlan> ResolvePlan(const LayoutProblem& problem, const DistributionSpec& spec) {
  const CutGroups cut = [&](const std::vector<GroupId>& groups, size_t parts) {
    return CutByMetis(problem.graph, problem.costs, groups, parts);
  };
  PW_ASSIGN(Layouts layouts,
            ResolveLayouts(problem.graph, problem.axes, problem.cluster, spec.layouts, cut));
  return StepPlan{std::move(layouts), spec.switches};
}

DistributionSpec StatePlan(const LayoutProblem& problem, const StepPlan& plan) {
  return {StateLayouts(problem.graph, problem.axes, problem.cluster, plan.layouts), plan.switches};
}

StepSwitches AsStart(const LayoutProblem& problem, StepSwitches switches) {
  switches.local_batch_norm = problem.local_batch_norm;
  switches.gradients_apart.reset();
  return switches;
}

}  // namespace placewright
