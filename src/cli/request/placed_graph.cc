#include "cli/request/placed_graph.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/request/inputs.h"
#include "cli/request/planning.h"
#include "planning/prepared_problem.h"
#include "sim/device_use.h"
#include "sim/placement_check.h"
#include "sim/program_sequences.h"
#include "sim/simulator.h"

namespace placewright {

Result<PlanInputs> LoadPlacedGraph(const InputOptions& input, const std::string& placement) {
  PW_ASSIGN(Inputs inputs, LoadInputs(input));
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  PlanInputs placed;
  PW_ASSIGN(LoadedPlacement loaded, LoadPlacement(placement, inputs.graph, cluster));
  placed.plan.placement = std::move(loaded.placement);
  PW_ASSIGN(const Placement devices,
            ResolvePlacement(placed.plan.placement, graph, cluster).InFile(placement));
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, inputs.costs);
  PW_RETURN_IF_ERROR(CheckPlacementLegal(sim_graph, graph, cluster, devices).InFile(placement));
  PW_ASSIGN(placed.sequences,
            ResolveSequences(loaded.sequences, graph, cluster, devices).InFile(placement));
  if (inputs.policy == SchedulingPolicy::kProgram) {
    PW_RETURN_IF_ERROR(CheckProgramOrder(sim_graph, graph).InFile(input.graph));
  }
  SimOptions options;
  options.policy = inputs.policy;
  options.sequences = &placed.sequences;
  const SimResult result = Simulator(sim_graph).Run(devices, options);
  if (result.stuck.valid()) {
    Error error = SequenceDeadlock(graph, cluster, devices, result.stuck);
    error.file = placement;
    return error;
  }
  Plan& plan = placed.plan;
  NameInputs(inputs, input, plan);
  // A plan's path of it is relative to the plan's file, of which there is none.
  if (plan.cost_store) {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(plan.cost_store->path, failed);
    if (!failed) plan.cost_store->path = whole.string();
  }
  plan.graph_name = graph.name();
  plan.cluster_name = cluster.name();
  plan.policy = inputs.policy;
  plan.algorithm = "given";
  plan.feasible = result.feasible;
  plan.step_time = result.step_time;
  plan.devices = UseOfDevices(result, cluster);
  const CostShares shares = SharesOf(inputs.costs, devices);
  plan.share_given = shares.given;
  plan.share_measured = shares.measured;
  plan.share_modelled = shares.modelled;
  placed.graph = std::move(inputs.graph);
  placed.cluster = std::move(inputs.cluster);
  placed.costs = std::move(inputs.costs);
  return placed;
}

}  // namespace placewright
