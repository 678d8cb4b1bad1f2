#include "planning/plan_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "formats/plan/layout_words.h"
#include "graph/module_globs.h"
#include "search/partition/model_parallel.h"

namespace placewright {

namespace {

Status CheckRegather(const Graph& graph, const std::vector<std::string>& globs) {
  if (globs.empty()) return Ok();
  const NamedGroups named(graph);
  for (size_t i = 0; i < globs.size(); ++i) {
    if (!named.By(globs[i]).empty()) continue;
    return MakeError(ErrorCode::kField,
                     fmt::format("\"{}\" matches no module{}", Printable(globs[i], 80),
                                 DidYouMean(globs[i], ModulePaths(graph))),
                     fmt::format("regather[{}]", i), "`placewright inspect --modules` lists them.");
  }
  return Ok();
}

}  // namespace

Result<StepPlan> ResolvePlan(const LayoutProblem& problem, const DistributionSpec& spec) {
  PW_RETURN_IF_ERROR(CheckTransforms(problem, spec.transforms));
  PW_RETURN_IF_ERROR(CheckRegather(problem.graph, spec.switches.regather));
  PW_ASSIGN(ResolvedLayouts resolved,
            ResolveLayouts(problem.graph, problem.axes, problem.cluster, spec.layouts));
  for (const ResolvedLayouts::Open& open : resolved.open) {
    PW_RETURN_IF_ERROR(PlaceModelParallel(problem.graph, problem.costs, open.groups, open.devices,
                                          /*speeds=*/{}, resolved.layouts));
  }
  return StepPlan{std::move(resolved.layouts), spec.switches, spec.transforms};
}

std::optional<Transforms> StatedTransforms(const Graph& step) {
  return step.transforms().empty() ? std::nullopt : std::optional(step.transforms());
}

DistributionSpec StatePlan(const LayoutProblem& problem, const StepPlan& plan) {
  DistributionSpec spec{
      StateShortLayouts(problem.graph, problem.axes, problem.cluster, plan.layouts), plan.switches};
  spec.transforms = StatedTransforms(problem.graph);
  return spec;
}

DistributionSpec Restate(const LayoutProblem& problem, const StepPlan& plan,
                         DistributionSpec resolved) {
  const bool open = std::any_of(
      resolved.layouts.begin(), resolved.layouts.end(),
      [](const LayoutSpec& spec) { return spec.option == LayoutOption::kModelParallel; });
  if (open) return StatePlan(problem, plan);
  resolved.layouts =
      ShortenSpecs(problem.axes, problem.cluster,
                   ExpandSpecs(problem.axes, problem.cluster, std::move(resolved.layouts)));
  resolved.transforms = StatedTransforms(problem.graph);
  return resolved;
}

}  // namespace placewright
