#include "runtime/inputs/piece_values.h"

#include <ATen/ATen.h>

#include <map>

namespace placewright {

at::Tensor PartOf(const at::Tensor& whole, const AxisPlace& place, Interval interval) {
  if (place.dimension < 0) return whole;
  std::vector<int64_t> shape = whole.sizes().vec(), factors = shape;
  factors.erase(factors.begin() + place.dimension);
  const int64_t sizes[] = {place.outer, place.size, place.inner};
  factors.insert(factors.begin() + place.dimension, std::begin(sizes), std::end(sizes));
  shape[static_cast<size_t>(place.dimension)] = place.outer * interval.length() * place.inner;
  return whole.reshape(factors)
      .narrow(place.dimension + 1, interval.from, interval.length())
      .reshape(shape)
      .contiguous();
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
    values.emplace_back(piece.piece, PartOf(*found->second, piece.place, piece.interval));
  }
  return values;
}

}  // namespace placewright
