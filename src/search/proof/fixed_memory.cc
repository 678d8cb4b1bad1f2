#include "search/proof/fixed_memory.h"

#include <algorithm>

#include "search/proof/minimal_memory.h"

namespace placewright {

FixedMemory FindFixedMemory(const Problem& problem) {
  const SimGraph& sim_graph = problem.sim_graph;
  FixedMemory fixed{IdVector<StorageId, DeviceId>(sim_graph.storage_class.size()),
                    IdVector<DeviceId, int64_t>(sim_graph.devices, 0)};
  for (StorageId s : sim_graph.storage_ids()) {
    if (sim_graph.storage_class[s] != StorageClass::kPersistent) continue;
    DeviceId device = sim_graph.fixed_home[s];
    if (!device.valid() && sim_graph.home_op[s].valid()) {
      const ColocationGroup& group = problem.groups[problem.group_of[sim_graph.home_op[s]]];
      if (group.allowed.size() == 1) device = group.allowed.front();
    }
    if (!device.valid()) continue;
    fixed.device_of[s] = device;
    fixed.bytes[device] = SaturatingAdd(fixed.bytes[device], sim_graph.storage_bytes[s]);
  }
  return fixed;
}

int64_t MinMemoryBesideFixed(const Problem& problem, const FixedMemory& fixed, ColocationGroupId id,
                             DeviceId device) {
  const SimGraph& sim_graph = problem.sim_graph;
  const ColocationGroup& group = problem.groups[id];
  int64_t max = 0, workspace = 0;
  for (OpId op : group.ops) {
    const ExecOpId exec = sim_graph.exec_of[op];
    if (!exec.valid()) continue;
    int64_t bytes = 0;
    for (const auto& [storage, size] : WorkingSet(problem, id, exec)) {
      if (fixed.device_of[storage] != device) bytes = SaturatingAdd(bytes, size);
    }
    max = std::max(max, bytes);
    workspace = std::max(workspace, sim_graph.workspace[exec]);
  }
  // A group that may run here only is fixed itself.
  const int64_t own = group.allowed.size() == 1 ? 0 : group.persistent.count;
  const int64_t lying = SaturatingAdd(fixed.bytes[device], own);
  return SaturatingAdd(lying, SaturatingAdd(max, workspace));
}

}  // namespace placewright
