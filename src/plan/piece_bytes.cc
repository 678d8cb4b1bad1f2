#include "plan/piece_bytes.h"

#include <utility>

namespace placewright {

std::string PieceBytes(std::string_view whole, std::vector<int64_t> shape, int64_t element,
                       const TensorBox& box) {
  if (box.empty()) return std::string(whole);
  std::string piece;
  for (const auto& [place, interval] : InCuttingOrder(box)) {
    const auto at = static_cast<size_t>(place.dimension);
    const int64_t inner = shape[at] / (place.outer * place.size);
    int64_t before = place.outer, behind = inner * element;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d < at) before *= shape[d];
      if (d > at) behind *= shape[d];
    }
    shape[at] = place.outer * interval.length() * inner;
    std::string part;
    part.reserve(static_cast<size_t>(before * interval.length() * behind));
    for (int64_t i = 0; i < before; ++i) {
      const auto from = static_cast<size_t>((i * place.size + interval.from) * behind);
      part += whole.substr(from, static_cast<size_t>(interval.length() * behind));
    }
    piece = std::move(part);
    whole = piece;
  }
  return piece;
}

}  // namespace placewright
