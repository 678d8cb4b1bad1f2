#include "search/problem/lifetimes.h"

namespace placewright {

Lifetimes FindLifetimes(const Problem& problem, const OpGraph& graph) {
  const SimGraph& sim_graph = problem.sim_graph;
  const size_t storages = sim_graph.storage_class.size();
  Lifetimes lives;
  lives.first.assign(storages, -1);
  lives.last.assign(storages, -1);
  lives.group.assign(storages, ColocationGroupId());
  for (int32_t step = 0; step < static_cast<int32_t>(graph.order.size()); ++step) {
    const ExecOpId op = graph.order[step];
    for (VersionId version : sim_graph.op_makes[op]) {
      const StorageId s = sim_graph.version_storage[version];
      if (sim_graph.storage_class[s] != StorageClass::kTransient) continue;
      if (lives.first[s] < 0) lives.first[s] = step, lives.group[s] = graph.group_of[op];
      lives.last[s] = step;
    }
    for (const OpInput& input : graph.Inputs(op)) {
      lives.last[sim_graph.version_storage[sim_graph.slice_version[input.crossing]]] = step;
    }
  }
  // In units of 64 KiB, so that no sum overflows.
  std::vector<int64_t> change(graph.order.size() + 1, 0);
  for (StorageId s : sim_graph.storage_ids()) {
    if (lives.first[s] < 0) continue;
    change[lives.first[s]] += sim_graph.storage_bytes[s] >> 16;
    change[lives.last[s] + 1] -= sim_graph.storage_bytes[s] >> 16;
  }
  int64_t now = 0, max = -1;
  for (int32_t step = 0; step < static_cast<int32_t>(graph.order.size()); ++step) {
    now += change[step];
    if (now > max) max = now, lives.peak_step = step;
  }
  return lives;
}

}  // namespace placewright
