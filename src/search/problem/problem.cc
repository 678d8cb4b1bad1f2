#include "search/problem/problem.h"

#include <algorithm>

#include "base/text.h"
#include "search/problem/constraints.h"

namespace placewright {
namespace {

bool SupportsAll(const Problem& problem, const PlacementUnit& unit, DeviceId device) {
  for (OpId op : unit.ops) {
    if (!problem.graph->op(op).is_view && !problem.costs->Supports(op, device)) return false;
  }
  return true;
}

// The first op of the unit that no device can run, or one that rules out the last device.
Error NoDeviceFor(const Problem& problem, const PlacementUnit& unit, const char* constrained) {
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
    for (OpId op : unit.ops) {
      if (graph.op(op).is_view || problem.costs->Supports(op, device)) continue;
      reasons += " does not support " + Printable(graph.op(op).type, 60) + " (op " +
                 Printable(graph.op(op).name, 60) + ")";
      break;
    }
  }
  return MakeError(ErrorCode::kInfeasible,
                   "no device can run the colocation group of op " +
                       Printable(graph.op(unit.ops.front()).name) + " (" +
                       FormatCount(static_cast<int64_t>(unit.ops.size())) +
                       (unit.ops.size() == 1 ? " op): " : " ops): ") + reasons,
                   "op " + Printable(graph.op(unit.ops.front()).name),
                   "Add a device that supports all ops of the group, or lift the --pin or --forbid "
                   "that rules out the devices that do");
}

void AddPersistentBytes(Problem& problem) {
  const StepProgram& program = problem.program;
  for (size_t s = 0; s < program.storage_class.size(); ++s) {
    if (program.storage_class[s] != StorageClass::kPersistent) continue;
    if (program.fixed_home[s] >= 0 || program.home_op[s] < 0) continue;
    PlacementUnit& unit = problem.units[problem.unit_of[OpId(program.home_op[s])]];
    unit.persistent = Bytes(SaturatingAdd(unit.persistent.count, program.storage_bytes[s]));
  }
}

}  // namespace

Result<Problem> BuildProblem(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const Constraints& constraints, Order order) {
  Problem problem;
  problem.graph = &graph;
  problem.cluster = &cluster;
  problem.costs = &costs;
  problem.order = order;
  problem.constraints = constraints;
  PW_ASSIGN(problem.unit_of, JoinGroups(graph, constraints));
  int32_t units = 0;
  for (OpId op : graph.ops()) units = std::max(units, problem.unit_of[op] + 1);
  problem.units.resize(units);
  for (OpId op : graph.ops()) problem.units[problem.unit_of[op]].ops.push_back(op);
  PW_ASSIGN(const std::vector<char> constrained,
            ConstrainedDevices(graph, cluster, constraints, problem.unit_of, units));
  for (int32_t u = 0; u < units; ++u) {
    PlacementUnit& unit = problem.units[u];
    const char* row = &constrained[u * cluster.device_count()];
    for (DeviceId device : cluster.devices()) {
      if (row[device.index()] && SupportsAll(problem, unit, device)) unit.allowed.push_back(device);
    }
    if (unit.allowed.empty()) return NoDeviceFor(problem, unit, row);
  }
  problem.program = BuildStepProgram(graph, cluster, costs);
  AddPersistentBytes(problem);
  return problem;
}

}  // namespace placewright
