// Simulates many placements of one step on the threads of a pool.
#ifndef PLACEWRIGHT_SIM_BATCH_H_
#define PLACEWRIGHT_SIM_BATCH_H_

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "sim/simulator.h"

namespace placewright {

class BatchSimulator {
 public:
  // Both must outlive this. Holds a Simulator for every thread that a batch has needed so far.
  BatchSimulator(const SimGraph& sim_graph, ThreadPool* pool);

  // Hands what Simulator::Run gives for placements[i] to `take`, on any thread of the pool and in
  // any order; the reference is valid during the call. A limit holds for all alike and is not
  // lowered by what is found on the way.
  void Run(std::span<const Placement> placements, const SimOptions& options,
           const std::function<void(size_t i, const SimResult& result)>& take);

 private:
  const SimGraph& sim_graph_;
  ThreadPool* pool_;
  std::vector<std::optional<Simulator>> simulators_;  // [thread]
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_BATCH_H_
