#include "runtime/inputs/piece_values.h"

#include <ATen/ATen.h>

#include <map>

#include "aten/memory_order.h"

namespace placewright {

at::Tensor PartOf(const at::Tensor& whole, const TensorBox& box) {
  at::Tensor part = whole;
  for (const auto& [place, interval] : InCuttingOrder(box)) {
    // A number that fills a dimension, seen from several places, has no parts of its own.
    if (!part.is_non_overlapping_and_dense()) part = part.contiguous();
    part = PartInOrder(part, place.dimension, place.outer, place.size, interval.from, interval.to);
  }
  return part;
}

std::vector<std::pair<TensorId, at::Tensor>> PieceValues(
    std::span<const std::pair<TensorId, at::Tensor>> originals,
    std::span<const DistributedStep::InputPiece> pieces) {
  std::map<TensorId, const at::Tensor*> by_id;
  for (const auto& [id, tensor] : originals) by_id[id] = &tensor;
  std::vector<std::pair<TensorId, at::Tensor>> values;
  for (const DistributedStep::InputPiece& piece : pieces) {
    const auto found = by_id.find(piece.original);
    if (found == by_id.end()) continue;
    values.emplace_back(piece.piece, PartOf(*found->second, piece.box));
  }
  return values;
}

}  // namespace placewright
