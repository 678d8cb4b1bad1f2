#include "search/problem/layout_problem.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace placewright {

LayoutProblem::LayoutProblem(const Graph& step, std::unique_ptr<const Graph> transformed,
                             const Cluster& machines, CostTable whole, CostOptions options,
                             SchedulingPolicy order)
    : transformed_(std::move(transformed)),
      graph(transformed_ ? *transformed_ : step),
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
  PW_ASSIGN(std::unique_ptr<const Graph> made, ApplyTransforms(step, kUsualTransforms));
  PW_ASSIGN(CostTable costs, ModelCosts(made ? *made : step, cluster, cost_options));
  return std::unique_ptr<LayoutProblem>(new LayoutProblem(
      step, std::move(made), cluster, std::move(costs), std::move(cost_options), policy));
}

bool LayoutProblem::HasBatchNorms() const {
  for (const OpId op : graph.ops()) {
    if (axes.rule(op) != nullptr && axes.rule(op)->form == PartForm::kBatchNorm) return true;
  }
  return false;
}

Status CheckTransforms(const LayoutProblem& problem, const std::optional<Transforms>& stated) {
  const Transforms& made_by = problem.graph.transforms();
  if (!stated || *stated == made_by) return Ok();
  return MakeError(ErrorCode::kField,
                   made_by.empty()
                       ? std::string("no transform changes this step")
                       : fmt::format("this step is rewritten by others: {}", Describe(made_by)),
                   "transforms",
                   "Leave the field out: they follow from --micro-batches, --recompute, --offload, "
                   "--mixed-precision.");
}

StepSwitches AsStart(const LayoutProblem& problem, StepSwitches switches) {
  switches.local_batch_norm = problem.local_batch_norm;
  switches.gradients_apart.reset();
  return switches;
}

}  // namespace placewright
