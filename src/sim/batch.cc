#include "sim/batch.h"

#include <algorithm>
#include <atomic>

namespace placewright {

BatchSimulator::BatchSimulator(const SimGraph& sim_graph, ThreadPool* pool)
    : sim_graph_(sim_graph), pool_(pool), simulators_(pool->threads()) {}

void BatchSimulator::Run(std::span<const Placement> placements, const SimOptions& options,
                         const std::function<void(size_t i, const SimResult& result)>& take) {
  std::atomic<size_t> next = 0;
  // A large step's arrays take as long to build as it takes to simulate: few placements, few
  // simulators.
  const size_t workers = std::min(placements.size(), simulators_.size());
  pool_->ParallelFor(static_cast<int>(workers), [&](int worker) {
    std::optional<Simulator>& simulator = simulators_[worker];
    if (!simulator) simulator.emplace(sim_graph_);
    for (size_t i = next++; i < placements.size(); i = next++) {
      take(i, simulator->Run(placements[i], options));
    }
  });
}

}  // namespace placewright
