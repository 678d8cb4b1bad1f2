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

Result<FilePlacement> LoadFilePlacement(const std::string& path, const InputOptions& input,
                                        const Inputs& inputs) {
  PW_ASSIGN(const bool is_plan, IsPlan(path));
  if (is_plan) {
    PW_ASSIGN(const Plan plan, LoadPlan(path));
    if (plan.space != PlanSpace::kPlaced) {
      Error split = MakeError(ErrorCode::kUsage,
                              "it is a plan that splits or copies ops, which is no placement", "",
                              "Simulate the plan itself, without the graph.");
      split.file = path;
      const bool other = plan.graph.sha256 != inputs.graph.sha256;
      return other ? OfOtherPlan(plan, input, inputs, std::move(split)) : split;
    }
    const auto resolved =
        ResolvePlacement(plan.placement, inputs.graph.graph, inputs.cluster.cluster).InFile(path);
    if (!resolved.ok()) return OfOtherPlan(plan, input, inputs, resolved.error());
  }
  PW_ASSIGN(LoadedPlacement loaded, LoadPlacement(path, inputs.graph, inputs.cluster.cluster));
  FilePlacement file;
  file.named = std::move(loaded.placement);
  PW_ASSIGN(file.placement,
            ResolvePlacement(file.named, inputs.graph.graph, inputs.cluster.cluster).InFile(path));
  PW_ASSIGN(file.sequences, ResolveSequences(loaded.sequences, inputs.graph.graph,
                                             inputs.cluster.cluster, file.placement)
                                .InFile(path));
  return file;
}

Result<PlanInputs> LoadPlacedGraph(const InputOptions& input, const std::string& placement) {
  PW_ASSIGN(Inputs inputs, LoadInputs(input));
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  PlanInputs placed;
  PW_ASSIGN(FilePlacement file, LoadFilePlacement(placement, input, inputs));
  placed.plan.placement = std::move(file.named);
  placed.sequences = std::move(file.sequences);
  const Placement& devices = file.placement;
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, inputs.costs);
  PW_RETURN_IF_ERROR(CheckPlacementLegal(sim_graph, graph, cluster, devices).InFile(placement));
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
