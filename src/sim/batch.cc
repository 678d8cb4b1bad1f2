#include "sim/batch.h"

#include <atomic>

namespace placewright {

BatchSimulator::BatchSimulator(const StepProgram& program, ThreadPool* pool) : pool_(pool) {
  for (int thread = 0; thread < pool->threads(); ++thread) simulators_.emplace_back(program);
}

std::vector<SimResult> BatchSimulator::Run(std::span<const Placement> placements,
                                           const SimOptions& options) {
  std::vector<SimResult> results(placements.size());
  std::atomic<size_t> next = 0;
  pool_->ParallelFor(pool_->threads(), [&](int worker) {
    for (size_t i = next++; i < placements.size(); i = next++) {
      results[i] = simulators_[worker].Run(placements[i], options);
    }
  });
  return results;
}

}  // namespace placewright
