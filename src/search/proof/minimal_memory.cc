#include "search/proof/minimal_memory.h"

#include <algorithm>

#include "base/text.h"

namespace placewright {

std::map<int32_t, int64_t> WorkingSet(const Problem& problem, int32_t group, int32_t op) {
  const SimGraph& sim_graph = problem.sim_graph;
  std::map<int32_t, int64_t> bytes;
  const auto counted_already = [&](int32_t storage) {
    return sim_graph.storage_class[storage] == StorageClass::kPersistent &&
           sim_graph.fixed_home[storage] < 0 && sim_graph.home_op[storage] >= 0 &&
           problem.group_of[OpId(sim_graph.home_op[storage])] == group;
  };
  for (int32_t i = sim_graph.op_slices_offset[op]; i < sim_graph.op_slices_offset[op + 1]; ++i) {
    const int32_t crossing = sim_graph.op_slices[i];
    const int32_t storage = sim_graph.version_storage[sim_graph.slice_version[crossing]];
    if (counted_already(storage)) continue;
    bytes[storage] = std::max(bytes[storage], sim_graph.slice_bytes[crossing]);
  }
  for (int32_t i = sim_graph.op_makes_offset[op]; i < sim_graph.op_makes_offset[op + 1]; ++i) {
    const int32_t storage = sim_graph.version_storage[sim_graph.op_makes[i]];
    if (sim_graph.storage_class[storage] != StorageClass::kTransient) continue;
    bytes[storage] = std::max(bytes[storage], sim_graph.storage_bytes[storage]);
  }
  return bytes;
}

std::vector<MinMemory> MinMemoryOfGroups(const Problem& problem) {
  const SimGraph& sim_graph = problem.sim_graph;
  std::vector<MinMemory> needs(problem.groups.size());
  std::vector<int64_t> workspace(problem.groups.size(), 0);
  for (int32_t op = 0; op < sim_graph.ops; ++op) {
    const int32_t group = problem.group_of[sim_graph.op_of[op]];
    int64_t bytes = 0;
    for (const auto& [storage, size] : WorkingSet(problem, group, op)) {
      bytes = SaturatingAdd(bytes, size);
    }
    if (needs[group].op < 0 || bytes > needs[group].bytes) needs[group] = {bytes, op};
    workspace[group] = std::max(workspace[group], sim_graph.workspace[op]);
  }
  for (size_t u = 0; u < needs.size(); ++u) {
    needs[u].bytes = SaturatingAdd(needs[u].bytes,
                                   SaturatingAdd(problem.groups[u].persistent.count, workspace[u]));
  }
  return needs;
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

std::string GroupName(const Problem& problem, int32_t id) {
  const ColocationGroup& group = problem.groups[id];
  return "the colocation group of op " + Printable(problem.graph->op(group.ops.front()).name, 80) +
         " (" + FormatCount(static_cast<int64_t>(group.ops.size())) +
         (group.ops.size() == 1 ? " op)" : " ops)");
}

std::string LargestGroup(const Problem& problem, const std::vector<MinMemory>& needs) {
  if (needs.empty()) return "";
  size_t largest = 0;
  for (size_t u = 1; u < needs.size(); ++u) {
    if (needs[u].bytes > needs[largest].bytes) largest = u;
  }
  return "; the largest indivisible group is " + GroupName(problem, static_cast<int32_t>(largest)) +
         " with " + FormatSize(needs[largest].bytes);
}

}  // namespace placewright
