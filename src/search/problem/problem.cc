#include "search/problem/problem.h"

#include <algorithm>

#include "base/text.h"
#include "search/problem/constraints.h"
#include "sim/program_sequences.h"

namespace placewright {
namespace {

// The three must speak of the same ops and devices.
Status CheckDimensions(const Graph& graph, const Cluster& cluster, const CostTable& costs) {
  if (costs.op_count() != graph.op_count() || costs.device_count() != cluster.device_count()) {
    return MakeError(
        ErrorCode::kPlanMismatch,
        "the costs are of " + FormatCount(static_cast<int64_t>(costs.op_count())) + " ops on " +
            std::to_string(costs.device_count()) + " devices, the graph has " +
            FormatCount(static_cast<int64_t>(graph.op_count())) + " ops and the cluster " +
            std::to_string(cluster.device_count()) + " devices",
        "", "Give the costs of this graph on this cluster.");
  }
  for (StorageId storage : graph.storages()) {
    const DeviceId home = graph.given_home(storage);
    if (!home.valid() || home.index() < cluster.device_count()) continue;
    return MakeError(ErrorCode::kPlanMismatch,
                     "the graph keeps a tensor on device " + std::to_string(home.value()) +
                         " of its own cluster; this one has " +
                         std::to_string(cluster.device_count()),
                     "", "Plan it on the cluster of its file.");
  }
  return Ok();
}

bool SupportsAll(const Problem& problem, const ColocationGroup& group, DeviceId device) {
  for (OpId op : group.ops) {
    if (!problem.graph->op(op).is_view && !problem.costs->Supports(op, device)) return false;
  }
  return true;
}

// The first op of the group that no device can run, or one that rules out the last device.
Error NoDeviceFor(const Problem& problem, const ColocationGroup& group, const char* constrained) {
  const Graph& graph = *problem.graph;
  std::string reasons;
  for (DeviceId device : problem.cluster->devices()) {
    if (reasons.size() > 300) break;
    reasons += reasons.empty() ? "" : "; ";
    reasons += problem.cluster->device(device).name;
    if (!constrained[device.index()]) {
      reasons += " is ruled out by --pin or --forbid";
      continue;
    }
    for (OpId op : group.ops) {
      if (graph.op(op).is_view || problem.costs->Supports(op, device)) continue;
      reasons += " does not support " + Printable(graph.op(op).type, 60) + " (op " +
                 Printable(graph.op(op).name, 60) + ")";
      break;
    }
  }
  return MakeError(ErrorCode::kInfeasible,
                   "no device can run the colocation group of op " +
                       Printable(graph.op(group.ops.front()).name) + " (" +
                       FormatCount(static_cast<int64_t>(group.ops.size())) +
                       (group.ops.size() == 1 ? " op): " : " ops): ") + reasons,
                   "op " + Printable(graph.op(group.ops.front()).name),
                   "Add a device that supports all ops of the group, or lift the --pin or --forbid "
                   "that rules out the devices that do");
}

void AddPersistentBytes(Problem& problem) {
  const SimGraph& sim_graph = problem.sim_graph;
  for (StorageId s : sim_graph.storage_ids()) {
    if (sim_graph.storage_class[s] != StorageClass::kPersistent) continue;
    if (sim_graph.fixed_home[s].valid() || !sim_graph.home_op[s].valid()) continue;
    ColocationGroup& group = problem.groups[problem.group_of[sim_graph.home_op[s]]];
    group.persistent = Bytes(SaturatingAdd(group.persistent.count, sim_graph.storage_bytes[s]));
  }
}

}  // namespace

Result<Problem> BuildProblem(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const Constraints& constraints, SchedulingPolicy policy) {
  Problem problem;
  problem.graph = &graph;
  problem.cluster = &cluster;
  problem.costs = &costs;
  problem.policy = policy;
  problem.constraints = constraints;
  PW_RETURN_IF_ERROR(CheckDimensions(graph, cluster, costs));
  if (graph.collective_count() > 0) {
    return MakeError(ErrorCode::kField,
                     "the graph has collectives: it is a step that was compiled for the devices of "
                     "its placement, and cannot be placed anew",
                     "collective " + Printable(graph.collective(CollectiveId(0)).name, 80),
                     "Plan the graph that it was compiled from; `placewright simulate` says what "
                     "this one takes.");
  }
  PW_ASSIGN(problem.group_of, JoinGroups(graph, constraints));
  size_t groups = 0;
  for (OpId op : graph.ops()) groups = std::max(groups, problem.group_of[op].index() + 1);
  problem.groups.resize(groups);
  for (OpId op : graph.ops()) problem.groups[problem.group_of[op]].ops.push_back(op);
  PW_ASSIGN(const std::vector<char> constrained,
            ConstrainedDevices(graph, cluster, constraints, problem.group_of, groups));
  for (ColocationGroupId id : problem.group_ids()) {
    ColocationGroup& group = problem.groups[id];
    const char* row = &constrained[id.index() * cluster.device_count()];
    for (DeviceId device : cluster.devices()) {
      if (row[device.index()] && SupportsAll(problem, group, device))
        group.allowed.push_back(device);
    }
    if (group.allowed.empty()) return NoDeviceFor(problem, group, row);
  }
  problem.sim_graph = BuildSimGraph(graph, cluster, costs);
  if (policy == SchedulingPolicy::kProgram) {
    PW_RETURN_IF_ERROR(CheckProgramOrder(problem.sim_graph, graph));
  }
  AddPersistentBytes(problem);
  return problem;
}

}  // namespace placewright
