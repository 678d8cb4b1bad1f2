// The work of a recorded training step at another batch size than it was recorded with.
//
// What grows with the batch: the arithmetic of forward and backward ops, and every byte of an
// activation or input. What does not: optimizer ops, and the bytes of parameters, their gradients,
// optimizer state, buffers and constants. Exact for networks without ops across the batch.
#ifndef PLACEWRIGHT_BENCH_COSTS_RESCALE_H_
#define PLACEWRIGHT_BENCH_COSTS_RESCALE_H_

#include "cluster/cluster.h"
#include "cost/cost_model.h"

namespace placewright::bench {

// Work of one op with `factor` = new batch / recorded batch.
Work RescaledWork(const Graph& graph, OpId op, double factor);

// Time of the whole step on one device: the sum over its ops, one after the other.
Nanos StepTime(const Graph& graph, const DeviceKind& kind, double factor = 1,
               FloatPrecision precision = FloatPrecision::kPyTorch);

}  // namespace placewright::bench

#endif  // PLACEWRIGHT_BENCH_COSTS_RESCALE_H_
