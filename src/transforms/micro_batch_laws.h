// How a step in micro-batches follows their size (internal to the module).
#ifndef PLACEWRIGHT_TRANSFORMS_MICRO_BATCH_LAWS_H_
#define PLACEWRIGHT_TRANSFORMS_MICRO_BATCH_LAWS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace placewright {

// What of a step in micro-batches comes from where in the step before.
struct MicroBatchOrigins {
  IdVector<TensorId, TensorId>
      tensors;  // of each new tensor: the one whose interval it is, or which it is; or none
  IdVector<OpId, OpId> ops;  // of each new op: the one that it is; or none
  // Beside those: dimensions and numbers, and how much each grows with a sample.
  std::vector<std::pair<TensorId, DimensionLaw>> dimensions;
  std::vector<std::pair<OpId, ArgumentLaw>> numbers;
};

// The laws of `step`, for `made`, of which the batch is that of one micro-batch: what is of a micro-batch follows it as the
// whole follows its batch, and what is of the whole batch as many times as fast as there are micro-batches.
BatchScaling LawsOfMicroBatches(const Graph& step, const Graph& made,
                                const MicroBatchOrigins& origins);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_MICRO_BATCH_LAWS_H_
