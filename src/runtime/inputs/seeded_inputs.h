// Legal values for the inputs of a recorded step, where none are given: from a seed, the same on every
// machine.
//
//   indices           uniform below what the file says (Tensor::below) and the ops that look them up allow
//                     (IndexLimits)
//   other integers    1: masks that let everything pass, counts
//   booleans          true, of square matrices the lower triangle (masks of what comes later); the
//                     reverse where true hides something (HidingMasks)
//   inputs            uniform in [-1, 1)
//   targets           classes that follow from the inputs by a rule, so that a model can learn them: of as
//                     many tokens, (7 token + 3) modulo the number of classes; of an input with a row for
//                     each, one of at most 16, whose pattern is mixed with the row in equal parts; tokens
//                     that are targets themselves count up along their last dimension
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
// Of the step's inputs alone (TensorKind::kInput), another batch for every number; that of 0 is the one
// of SeededInputs. The rule is the same for all.
Result<std::vector<std::pair<TensorId, at::Tensor>>> SeededBatch(const Graph& graph, uint64_t seed,
                                                                 int64_t number);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_INPUTS_SEEDED_INPUTS_H_
