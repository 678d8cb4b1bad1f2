// CheckPlacementLegal: what a placement must satisfy before it can be simulated at all.
#include "sim/placement_check.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "sim/simulator.h"

namespace placewright {

namespace {

std::string Place(const Graph& graph, OpId op) { return "op " + Printable(graph.op(op).name); }

Status VerifyDevices(const SimGraph& p, const Graph& graph, const Placement& placement) {
  if (placement.size() != graph.op_count()) {
    return MakeError(ErrorCode::kPlanMismatch,
                     "the placement covers " + std::to_string(placement.size()) +
                         " ops, the graph has " + std::to_string(graph.op_count()),
                     "", "Give every op of the graph a device.");
  }
  for (OpId op : graph.ops()) {
    const int32_t device = placement[op].value();
    if (device < 0 || device >= p.devices) {
      return MakeError(ErrorCode::kPlanInvalid,
                       "op '" + Printable(graph.op(op).name) + "' is placed on device " +
                           std::to_string(device) + " of " + std::to_string(p.devices),
                       Place(graph, op), "Place it on a device of the cluster.");
    }
  }
  return Ok();
}

Status VerifySupport(const SimGraph& p, const Graph& graph, const Cluster& cluster,
                     const Placement& placement) {
  for (ExecOpId exec : p.exec_ops()) {
    const DeviceId device = placement[p.op_of[exec]];
    if (p.Time(exec, device) >= 0) continue;
    const Op& op = graph.op(p.op_of[exec]);
    return MakeError(ErrorCode::kField,
                     "op '" + Printable(op.name) + "' of type '" + Printable(op.type) +
                         "' is not supported on device '" + Printable(cluster.device(device).name) +
                         "'",
                     Place(graph, p.op_of[exec]), "Place it on a device that supports it.");
  }
  return Ok();
}

Status VerifyGroups(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  IdVector<GroupId, OpId> first(graph.group_count());
  for (OpId op : graph.ops()) {
    OpId& other = first[graph.group(op)];
    if (!other.valid()) other = op;
    if (placement[op] == placement[other]) continue;
    return MakeError(
        ErrorCode::kPlanInvalid,
        "ops '" + Printable(graph.op(other).name) + "' on '" +
            Printable(cluster.device(placement[other]).name) + "' and '" +
            Printable(graph.op(op).name) + "' on '" +
            Printable(cluster.device(placement[op]).name) +
            "' must lie on one device (they share a storage, a parameter or its state)",
        Place(graph, op), "Place both, and all else of their colocation group, on one device.");
  }
  return Ok();
}

// Rule 15: the members of a collective lie on distinct devices.
Status VerifyCollectives(const Graph& graph, const Cluster& cluster, const Placement& placement) {
  for (CollectiveId id : graph.collectives()) {
    const Collective& collective = graph.collective(id);
    IdVector<DeviceId, OpId> member_on(cluster.device_count());
    for (OpId op : collective.members) {
      const OpId other = std::exchange(member_on[placement[op]], op);
      if (!other.valid()) continue;
      return MakeError(ErrorCode::kPlanInvalid,
                       "members '" + Printable(graph.op(other).name) + "' and '" +
                           Printable(graph.op(op).name) + "' of collective '" +
                           Printable(collective.name) + "' both lie on '" +
                           Printable(cluster.device(placement[op]).name) + "'",
                       "collective " + Printable(collective.name),
                       "Place the members of a collective on distinct devices.");
    }
  }
  return Ok();
}

// Every slice reaches the devices of its readers.
Status VerifyRoutes(const SimGraph& p, const Graph& graph, const Cluster& cluster,
                    const Placement& placement) {
  for (SliceId slice : p.slice_ids()) {
    const StorageId storage = p.slice_storage[slice];
    if (p.storage_class[storage] == StorageClass::kInput) continue;
    const ExecOpId writer = p.slice_writer[slice];
    DeviceId home = p.fixed_home[storage];
    if (writer.valid()) {
      home = placement[p.op_of[writer]];
    } else if (!home.valid()) {
      home = placement[p.home_op[storage]];
    }
    for (ExecOpId exec : p.slice_readers[slice]) {
      const OpId reader = p.op_of[exec];
      if (cluster.Connected(home, placement[reader])) continue;
      return MakeError(ErrorCode::kUnreachable,
                       "op '" + Printable(graph.op(reader).name) + "' on '" +
                           Printable(cluster.device(placement[reader]).name) + "' reads '" +
                           Printable(graph.tensor(graph.storage(storage).first).name) + "' of '" +
                           Printable(cluster.device(home).name) +
                           "', and there is no route to it from there",
                       Place(graph, reader),
                       "Place them on devices joined by a route, or add a link or a route to the "
                       "cluster.");
    }
  }
  return Ok();
}

}  // namespace

Status CheckPlacementLegal(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                           const Placement& placement) {
  PW_RETURN_IF_ERROR(VerifyDevices(sim_graph, graph, placement));
  PW_RETURN_IF_ERROR(VerifySupport(sim_graph, graph, cluster, placement));
  PW_RETURN_IF_ERROR(VerifyGroups(graph, cluster, placement));
  PW_RETURN_IF_ERROR(VerifyCollectives(graph, cluster, placement));
  return VerifyRoutes(sim_graph, graph, cluster, placement);
}

}  // namespace placewright
