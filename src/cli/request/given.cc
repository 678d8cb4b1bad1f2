#include "cli/request/given.h"

#include "sim/placement_check.h"
#include "sim/simulator.h"

namespace placewright {

std::optional<StepPlan> GivenPlacement(const Inputs& inputs, const SimGraph& sim_graph) {
  if (!inputs.graph.placement) return std::nullopt;
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  Result<Placement> placement = ResolvePlacement(*inputs.graph.placement, graph, cluster);
  if (!placement.ok()) return std::nullopt;
  if (!CheckPlacementLegal(sim_graph, graph, cluster, placement.value()).ok()) return std::nullopt;
  StepPlan plan = PlanOf(graph, placement.value());
  // One that takes colocation groups apart is none that planners may go on from.
  if (PlacementOf(graph, plan) != placement.value()) return std::nullopt;
  return plan;
}

}  // namespace placewright
