#include "search/problem/lifetimes.h"

namespace placewright {

Lifetimes FindLifetimes(const Problem& problem, const OpGraph& graph) {
  const StepProgram& program = problem.program;
  const size_t storages = program.storage_class.size();
  Lifetimes lives;
  lives.first.assign(storages, -1);
  lives.last.assign(storages, -1);
  lives.unit.assign(storages, -1);
  for (int32_t step = 0; step < static_cast<int32_t>(graph.order.size()); ++step) {
    const int32_t op = graph.order[step];
    for (int32_t i = program.op_makes_offset[op]; i < program.op_makes_offset[op + 1]; ++i) {
      const int32_t s = program.version_storage[program.op_makes[i]];
      if (program.storage_class[s] != StorageClass::kTransient) continue;
      if (lives.first[s] < 0) lives.first[s] = step, lives.unit[s] = graph.unit_of[op];
      lives.last[s] = step;
    }
    for (const OpInput& input : graph.Inputs(op)) {
      lives.last[program.version_storage[program.unit_version[input.crossing]]] = step;
    }
  }
  // In units of 64 KiB, so that no sum overflows.
  std::vector<int64_t> change(graph.order.size() + 1, 0);
  for (size_t s = 0; s < storages; ++s) {
    if (lives.first[s] < 0) continue;
    change[lives.first[s]] += program.storage_bytes[s] >> 16;
    change[lives.last[s] + 1] -= program.storage_bytes[s] >> 16;
  }
  int64_t now = 0, most = -1;
  for (int32_t step = 0; step < static_cast<int32_t>(graph.order.size()); ++step) {
    now += change[step];
    if (now > most) most = now, lives.peak_step = step;
  }
  return lives;
}

}  // namespace placewright
