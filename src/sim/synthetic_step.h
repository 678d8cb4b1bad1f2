// A made-up training step on which the simulator's speed is measured: large, regular in depth and
// irregular in everything else, and the same for the same options.
//
// Ops lie in layers of 40. Each makes one tensor and reads two: one of the layer before and one of
// the three layers before (one where both draws agree); the first layer reads nothing. Tensors have
// 2^10 to 2^23 bytes, each power as likely as the others; times are log-normal (mu = 2.5,
// sigma = 1.2, in microseconds), cut to [1 us, 5 ms], the same on every device. Draws come from
// std::mt19937, whose sequence the C++ standard fixes: per op the time and then the size, after all
// ops the inputs. Each ordered pair of devices has a link of its own: 2 us, then 10 GB/s.
//
// Times go through log and sqrt of the C library, so another library may shift some of them by a
// nanosecond. Only benchmarks may use this.
#ifndef PLACEWRIGHT_SIM_SYNTHETIC_STEP_H_
#define PLACEWRIGHT_SIM_SYNTHETIC_STEP_H_

#include <cstdint>

#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/placement.h"

namespace placewright {

struct SyntheticStepOptions {
  int32_t ops = 80'000;  // >= 1
  int32_t devices = 8;   // >= 1
  uint32_t seed = 1;
};

struct SyntheticStep {
  Graph graph;
  Cluster cluster;
  CostTable costs;
};

SyntheticStep MakeSyntheticStep(const SyntheticStepOptions& options = {});

// Op i on device i * devices / ops: long runs of neighbours, few transfers.
Placement ContiguousPlacement(const SyntheticStep& step);
// Every op on a device drawn by std::mt19937(3), modulo the devices: most tensors cross.
Placement RandomPlacement(const SyntheticStep& step);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_SYNTHETIC_STEP_H_
