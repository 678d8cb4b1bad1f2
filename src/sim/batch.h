// Simulates many placements of one program on the threads of a pool.
#ifndef PLACEWRIGHT_SIM_BATCH_H_
#define PLACEWRIGHT_SIM_BATCH_H_

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "sim/simulator.h"

namespace placewright {

class BatchSimulator {
 public:
  // Both must outlive this. Holds one Simulator a thread.
  BatchSimulator(const StepProgram& program, ThreadPool* pool);

  // results[i] is what Simulator::Run gives for placements[i], whatever the number of threads: a
  // limit holds for all alike and is not lowered by what is found on the way.
  std::vector<SimResult> Run(std::span<const Placement> placements, const SimOptions& options = {});

 private:
  ThreadPool* pool_;
  std::vector<Simulator> simulators_;  // one a thread
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_BATCH_H_
