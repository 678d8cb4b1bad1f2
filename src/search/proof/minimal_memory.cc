#include "search/proof/minimal_memory.h"

#include <algorithm>

#include "base/text.h"

namespace placewright {

std::map<StorageId, int64_t> WorkingSet(const Problem& problem, ColocationGroupId group,
                                        ExecOpId op) {
  const SimGraph& sim_graph = problem.sim_graph;
  std::map<StorageId, int64_t> bytes;
  const auto counted_already = [&](StorageId storage) {
    return sim_graph.storage_class[storage] == StorageClass::kPersistent &&
           !sim_graph.fixed_home[storage].valid() && sim_graph.home_op[storage].valid() &&
           problem.group_of[sim_graph.home_op[storage]] == group;
  };
  for (SliceId crossing : sim_graph.op_slices[op]) {
    const StorageId storage = sim_graph.slice_storage[crossing];
    if (counted_already(storage)) continue;
    bytes[storage] = std::max(bytes[storage], sim_graph.slice_bytes[crossing]);
  }
  for (VersionId version : sim_graph.op_makes[op]) {
    const StorageId storage = sim_graph.version_storage[version];
    if (sim_graph.storage_class[storage] != StorageClass::kTransient) continue;
    bytes[storage] = std::max(bytes[storage], sim_graph.storage_bytes[storage]);
  }
  return bytes;
}

GroupMemory MinMemoryOfGroups(const Problem& problem) {
  const SimGraph& sim_graph = problem.sim_graph;
  GroupMemory minimal(problem.groups.size());
  IdVector<ColocationGroupId, int64_t> workspace(problem.groups.size(), 0);
  for (ExecOpId op : sim_graph.exec_ops()) {
    const ColocationGroupId group = problem.group_of[sim_graph.op_of[op]];
    int64_t bytes = 0;
    for (const auto& [storage, size] : WorkingSet(problem, group, op)) {
      bytes = SaturatingAdd(bytes, size);
    }
    if (!minimal[group].op.valid() || bytes > minimal[group].bytes) minimal[group] = {bytes, op};
    workspace[group] = std::max(workspace[group], sim_graph.workspace[op]);
  }
  for (ColocationGroupId u : problem.group_ids()) {
    minimal[u].bytes = SaturatingAdd(
        minimal[u].bytes, SaturatingAdd(problem.groups[u].persistent.count, workspace[u]));
  }
  return minimal;
}

std::string FormatSize(int64_t bytes) {
  if (bytes >= kMaxQuantity) return "at least 2^60 B";  // counting stops there
  const std::string exact = FormatCount(bytes) + " B";
  return bytes < 1024 ? exact : FormatBytes(Bytes(bytes)) + " (" + exact + ")";
}

std::string KeptInReserve(const Problem& problem, DeviceId device) {
  const int64_t reserve = problem.cluster->device(device).reserve.count;
  return reserve == 0 ? "" : ", keeping " + FormatSize(reserve) + " in reserve";
}

std::string GroupName(const Problem& problem, ColocationGroupId id) {
  const ColocationGroup& group = problem.groups[id];
  return "the colocation group of op " + Printable(problem.graph->op(group.ops.front()).name, 80) +
         " (" + FormatCount(static_cast<int64_t>(group.ops.size())) +
         (group.ops.size() == 1 ? " op)" : " ops)");
}

std::string LargestGroup(const Problem& problem, const GroupMemory& minimal) {
  if (minimal.empty()) return "";
  ColocationGroupId largest(0);
  for (ColocationGroupId u : problem.group_ids()) {
    if (minimal[u].bytes > minimal[largest].bytes) largest = u;
  }
  return "; the largest indivisible group is " + GroupName(problem, largest) + " with " +
         FormatSize(minimal[largest].bytes);
}

}  // namespace placewright
