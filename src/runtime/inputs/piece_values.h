// Values for the inputs of a compiled step: parts of those of what it was compiled of.
#ifndef PLACEWRIGHT_RUNTIME_INPUTS_PIECE_VALUES_H_
#define PLACEWRIGHT_RUNTIME_INPUTS_PIECE_VALUES_H_

#include <ATen/core/Tensor.h>

#include <span>
#include <utility>
#include <vector>

#include "plan/distributed_step.h"

namespace placewright {

// The box, without gaps and in the tensor's order in memory; an empty one is the tensor itself.
at::Tensor PartOf(const at::Tensor& whole, const TensorBox& box);

// For each piece the part of its original's value; those whose original has no value are left out.
std::vector<std::pair<TensorId, at::Tensor>> PieceValues(
    std::span<const std::pair<TensorId, at::Tensor>> originals,
    std::span<const DistributedStep::InputPiece> pieces);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_INPUTS_PIECE_VALUES_H_
