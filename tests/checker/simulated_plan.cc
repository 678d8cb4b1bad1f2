#include "simulated_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "check_plan/checker.h"
#include "formats/plan/plan_json.h"
#include "sim/device_use.h"
#include "sim/engine/sim_graph.h"
#include "sim/simulator.h"

namespace placewright::tests {
namespace {

// Longest chain of minimum times, and the minimum times spread over all devices.
Nanos SimpleBound(const SimGraph& sim_graph) {
  int64_t longest = 0, all = 0;
  for (ExecOpId op : sim_graph.exec_ops()) {
    longest = std::max(longest, sim_graph.min_path[op]);
    all = SaturatingAdd(all, sim_graph.min_time[op]);
  }
  return Nanos(std::max(longest, all / sim_graph.devices));
}

}  // namespace

Placement RandomPlacement(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                          double spread, Random& random) {
  Placement placement(graph.op_count());
  const auto members = graph.GroupMembers();
  DeviceId last;
  for (GroupId group : IdRange<GroupId>(graph.group_count())) {
    std::vector<DeviceId> allowed;
    for (DeviceId device : cluster.devices()) {
      const auto ops = members[group];
      const bool all = std::all_of(ops.begin(), ops.end(), [&](OpId op) {
        return graph.op(op).is_view || costs.Supports(op, device);
      });
      if (all) allowed.push_back(device);
    }
    const bool stay =
        std::find(allowed.begin(), allowed.end(), last) != allowed.end() && random.Unit() >= spread;
    if (!stay) last = allowed[random.Below(allowed.size())];
    for (OpId op : members[group]) placement[op] = last;
  }
  return placement;
}

SimulatedPlan Simulate(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                       const Placement& placement, SchedulingPolicy policy) {
  const SimGraph sim_graph = BuildSimGraph(graph, cluster, costs);
  Simulator simulator(sim_graph);
  SimOptions options;
  options.policy = policy;
  options.schedule = true;
  SimResult result = simulator.Run(placement, options);
  SimulatedPlan simulated;
  Plan& plan = simulated.plan;
  plan.graph_name = graph.name();
  plan.cluster_name = cluster.name();
  plan.policy = policy;
  plan.algorithm = "random";
  plan.feasible = result.feasible;
  plan.step_time = result.step_time;
  plan.lower_bound = SimpleBound(sim_graph);
  plan.devices = UseOfDevices(result, cluster);
  plan.baselines = {{"single", result.feasible, Nanos(result.step_time.count + 7)},
                    {"random", result.feasible, result.step_time}};
  if (result.feasible) {
    plan.history = {{3, 0.5, Nanos(result.step_time.count + 7), "single"},
                    {9, 0.75, result.step_time, "random"}};
    plan.first_feasible_seconds = 0.5;
  }
  const CostShares shares = SharesOf(costs, placement);
  plan.share_given = shares.given;
  plan.share_measured = shares.measured;
  plan.share_modelled = shares.modelled;
  plan.seed = 5;
  plan.iterations = 9;
  plan.seconds = 1.5;
  plan.placement = NamePlacement(placement, graph, cluster);
  simulated.schedule = std::move(*result.schedule);
  return simulated;
}

std::string Verdict(LoadedGraph& graph, const Cluster& cluster, const CostTable& costs,
                    const Placement& placement, SimulatedPlan simulated) {
  PlanInputs inputs;
  inputs.plan = std::move(simulated.plan);
  inputs.cluster.cluster = cluster;
  inputs.costs = costs;
  inputs.schedule = {std::move(simulated.schedule), placement};
  inputs.document = PlanToJson(inputs.plan);
  std::swap(inputs.graph, graph);
  const check::MaybeViolation violation = check::CheckPlan(inputs);
  std::swap(inputs.graph, graph);
  return violation ? ToError(*violation).ToString() : "holds";
}

}  // namespace placewright::tests
