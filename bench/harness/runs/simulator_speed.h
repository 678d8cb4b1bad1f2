// How fast the simulator is on the synthetic step, measured from outside its event loop.
#ifndef PLACEWRIGHT_BENCH_HARNESS_RUNS_SIMULATOR_SPEED_H_
#define PLACEWRIGHT_BENCH_HARNESS_RUNS_SIMULATOR_SPEED_H_

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "plan/schedule.h"
#include "sim/synthetic_step.h"

namespace placewright {

struct SimulatorSpeedOptions {
  SyntheticStepOptions step;
  bool random = false;  // placement: RandomPlacement, else ContiguousPlacement
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  int repeat = 31;  // simulations timed, >= 1
};

// Seconds of one simulation: all of Simulator::Run, memory included, without records. They are
// processor time of the one thread that simulates, which is the time on the wall where nothing else
// runs. Each repeat times one simulation and one plain pass; one of each goes before without being
// timed. `best` is the fastest repeat, the one with the smallest disturbance of its caches by
// others.
struct SimulatorSpeed {
  int64_t inputs = 0;  // tensors read, summed over the ops
  double best_seconds = 0, median_seconds = 0;
  // One look at every number that a simulation cannot do without, in the order in which they lie:
  // device, time, size and requirements of every op, and its readers.
  double best_pass_seconds = 0, median_pass_seconds = 0;
  Nanos step_time;
  // Time of IncrementalSimulator::Try as a part of best_seconds, where one op of its own colocation
  // group moves to the next device: the median over 101 ops spread over the graph, and over 51 of
  // those that start in the last tenth of the step. Each is tried three times and the fastest
  // counts. None with one device.
  std::optional<double> incremental_median, incremental_last_tenth;
};

SimulatorSpeed MeasureSimulator(const SimulatorSpeedOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_RUNS_SIMULATOR_SPEED_H_
