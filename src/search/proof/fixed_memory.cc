#include "search/proof/fixed_memory.h"

#include <algorithm>

#include "search/proof/minimal_memory.h"

namespace placewright {

FixedMemory FindFixedMemory(const Problem& problem) {
  const SimGraph& sim_graph = problem.sim_graph;
  FixedMemory fixed{std::vector<int32_t>(sim_graph.storage_class.size(), -1),
                    std::vector<int64_t>(sim_graph.devices, 0)};
  for (size_t s = 0; s < sim_graph.storage_class.size(); ++s) {
    if (sim_graph.storage_class[s] != StorageClass::kPersistent) continue;
    int32_t device = sim_graph.fixed_home[s];
    if (device < 0 && sim_graph.home_op[s] >= 0) {
      const ColocationGroup& group = problem.groups[problem.group_of[OpId(sim_graph.home_op[s])]];
      if (group.allowed.size() == 1) device = group.allowed.front().value();
    }
    if (device < 0) continue;
    fixed.device_of[s] = device;
    fixed.bytes[device] = SaturatingAdd(fixed.bytes[device], sim_graph.storage_bytes[s]);
  }
  return fixed;
}

int64_t MinMemoryBesideFixed(const Problem& problem, const FixedMemory& fixed, int32_t id,
                             DeviceId device) {
  const SimGraph& sim_graph = problem.sim_graph;
  const ColocationGroup& group = problem.groups[id];
  int64_t max = 0, workspace = 0;
  for (OpId op : group.ops) {
    const int32_t exec = sim_graph.exec_of[op.index()];
    if (exec < 0) continue;
    int64_t bytes = 0;
    for (const auto& [storage, size] : WorkingSet(problem, id, exec)) {
      if (fixed.device_of[storage] != device.value()) bytes = SaturatingAdd(bytes, size);
    }
    max = std::max(max, bytes);
    workspace = std::max(workspace, sim_graph.workspace[exec]);
  }
  // A group that may run here only is fixed itself.
  const int64_t own = group.allowed.size() == 1 ? 0 : group.persistent.count;
  const int64_t lying = SaturatingAdd(fixed.bytes[device.index()], own);
  return SaturatingAdd(lying, SaturatingAdd(max, workspace));
}

}  // namespace placewright
