#include "sim/batch.h"

#include <atomic>

namespace placewright {

BatchSimulator::BatchSimulator(const SimGraph& sim_graph, ThreadPool* pool) : pool_(pool) {
  for (int thread = 0; thread < pool->threads(); ++thread) simulators_.emplace_back(sim_graph);
}

void BatchSimulator::Run(std::span<const Placement> placements, const SimOptions& options,
                         const std::function<void(size_t i, const SimResult& result)>& take) {
  std::atomic<size_t> next = 0;
  pool_->ParallelFor(pool_->threads(), [&](int worker) {
    for (size_t i = next++; i < placements.size(); i = next++) {
      take(i, simulators_[worker].Run(placements[i], options));
    }
  });
}

}  // namespace placewright
