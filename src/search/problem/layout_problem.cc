#include "search/problem/layout_problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace placewright {

LayoutProblem::LayoutProblem(const Graph& step, TransformedStep transformed,
                             const Cluster& machines, CostTable whole, CostOptions options,
                             SchedulingPolicy order)
    : transformed_(std::move(transformed.graph)),
      graph(transformed_ ? *transformed_ : step),
      transforms(std::move(transformed.applied)),
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
  PW_ASSIGN(TransformedStep made, ApplyTransforms(step, kUsualTransforms));
  PW_ASSIGN(CostTable costs, ModelCosts(made.graph ? *made.graph : step, cluster, cost_options));
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
  if (!stated || *stated == problem.transforms) return Ok();
  std::vector<std::string_view> names;
  for (const Transform& transform : problem.transforms) names.push_back(ToString(transform.kind));
  return MakeError(
      ErrorCode::kField,
      names.empty() ? std::string("no transform changes this step")
                    : fmt::format("this step is rewritten by others: {}", fmt::join(names, ", ")),
      "transforms", "Leave the field out: they follow from the step.");
}

StepSwitches AsStart(const LayoutProblem& problem, StepSwitches switches) {
  switches.local_batch_norm = problem.local_batch_norm;
  switches.gradients_apart.reset();
  return switches;
}

}  // namespace placewright
