// A strategy: how a whole training step is distributed, in a few numbers. An algorithm lays the step out (who has which
// samples, parameters, stages), and the step is rewritten for it before (micro-batches, recomputation, the order of a
// pipeline).
#ifndef PLACEWRIGHT_PLAN_STRATEGY_H_
#define PLACEWRIGHT_PLAN_STRATEGY_H_

#include <placewright/base/units.h>
#include <placewright/graph/transform.h>

#include <algorithm>
#include <string>
#include <vector>

namespace placewright {

struct Strategy {
  std::string algorithm;                   // "fsdp", "2d", "1f1b": docs/algorithms
  Rewriting rewriting = {};                // of the recorded step
  std::vector<std::string> settings = {};  // of the algorithm, "NAME=VALUE": --set
};
// "fsdp", "2d tensor=4", "fsdp, 4 micro-batches, recompute full", "1f1b, 4 stages, 8 micro-batches".
std::string Describe(const Strategy& strategy);

// What a strategy comes to on a cluster.
struct StrategyResult {
  Strategy strategy;
  // By tables of the step alone (src/search/strategies/strategy_space.h), before anything is compiled.
  Nanos estimated_time;
  Bytes estimated_memory;  // of the fullest device
  bool evaluated = false;  // was compiled and simulated
  // As simulated, else as estimated.
  bool fits = false;
  Nanos step_time;
  Bytes memory, capacity;  // of the device that is fullest, or the furthest beyond what it has
  std::string
      why_not;  // "does not fit: 103.9 of 75.7 GiB", "heads do not divide", ...; "": it is a plan

  // What dynamic programming found for stages or recomputed layers, in its own model: without collectives and
  // gradients' sums. Zero: nothing was chosen so. No bound of the step.
  Nanos layer_optimum;

  Nanos BestTime() const { return evaluated ? step_time : estimated_time; }
  // What it needs beyond what that device has.
  Bytes Over() const { return Bytes(std::max<int64_t>(0, memory.count - capacity.count)); }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_STRATEGY_H_
