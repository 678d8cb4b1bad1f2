// Legal values for the inputs of a recorded step, where none are given: from a seed, the same on every
// machine.
//
//   indices           uniform below what the ops that look them up allow (IndexLimits)
//   other integers    1: masks that let everything pass, counts
//   booleans          true, of square matrices the lower triangle (masks of what comes later); the
//                     reverse where true hides something (HidingMasks)
//   inputs            uniform in [-1, 1)
//   parameters        uniform in [-a, a), a = sqrt(3 / fan-in), of variance 1 / fan-in (of a vector,
//                     its length); numbers and vectors named weight: 1, vectors named bias: 0
//   optimizer state   0
//   buffers           variances 1, other floats 0
#ifndef PLACEWRIGHT_RUNTIME_INPUTS_SEEDED_INPUTS_H_
#define PLACEWRIGHT_RUNTIME_INPUTS_SEEDED_INPUTS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// Of every tensor that no op makes, in their order. Errors: kExecution (a dtype that LibTorch has no
// tensors of).
Result<std::vector<std::pair<TensorId, at::Tensor>>> SeededInputs(const Graph& graph,
                                                                  uint64_t seed);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_INPUTS_SEEDED_INPUTS_H_
