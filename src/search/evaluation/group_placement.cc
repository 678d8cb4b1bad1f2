#include "search/evaluation/group_placement.h"

#include <algorithm>

#include "sim/placement_check.h"

namespace placewright {

Placement ExpandGroups(const Problem& problem, const GroupPlacement& device_of) {
  Placement placement(problem.graph->op_count());
  for (OpId op : problem.graph->ops()) placement[op] = device_of[problem.group_of[op]];
  return placement;
}

namespace {

template <class DeviceOf>
GroupPlacement GroupsBy(const Problem& problem, const DeviceOf& device_of_op) {
  GroupPlacement device_of;
  for (const ColocationGroup& group : problem.groups) {
    const DeviceId device = device_of_op(group.ops.front());
    const bool together = std::all_of(group.ops.begin(), group.ops.end(),
                                      [&](OpId op) { return device_of_op(op) == device; });
    const bool allowed =
        std::find(group.allowed.begin(), group.allowed.end(), device) != group.allowed.end();
    device_of.push_back(together && allowed ? device : group.allowed.front());
  }
  return device_of;
}

}  // namespace

GroupPlacement GroupsOf(const Problem& problem, const Placement& placement) {
  return GroupsBy(problem, [&](OpId op) { return placement[op]; });
}

GroupPlacement GroupsOf(const Problem& problem, const StepPlan& plan) {
  const Graph& graph = *problem.graph;
  return GroupsBy(problem,
                  [&](OpId op) { return plan.layouts.Of(graph.group(op)).shares.front().device; });
}

std::optional<GroupPlacement> GroupsIfPlaced(const Problem& problem, const StepPlan& plan) {
  const std::optional<Placement> placement = PlacementIfPlaced(*problem.graph, plan);
  return placement ? std::optional(GroupsOf(problem, *placement)) : std::nullopt;
}

std::optional<GroupPlacement> InitialGroups(const Problem& problem, const PlannerOptions& options) {
  return options.initial ? GroupsIfPlaced(problem, *options.initial) : std::nullopt;
}

Result<Score> EvaluateGroups(const Problem& problem, const GroupPlacement& device_of,
                             Evaluator& evaluator, const EvaluationOptions& options) {
  const Placement placement = ExpandGroups(problem, device_of);
  PW_RETURN_IF_ERROR(
      CheckPlacementLegal(problem.sim_graph, *problem.graph, *problem.cluster, placement));
  return evaluator.EvaluateOne(placement, options).score();
}

StepPlan PlanOf(const Problem& problem, const GroupPlacement& device_of) {
  return PlanOf(*problem.graph, ExpandGroups(problem, device_of));
}

Placement PlacementOf(const Problem& problem, const StepPlan& plan) {
  return PlacementOf(*problem.graph, plan);
}

}  // namespace placewright
