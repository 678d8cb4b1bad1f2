#include "plan/box.h"

#include <algorithm>
#include <functional>

namespace placewright {

std::array<int64_t, 5> NumbersOf(const AxisPart& part) {
  const auto& [place, interval] = part;
  return {int64_t{place.dimension}, place.outer, place.size, interval.from, interval.to};
}

std::vector<AxisPart> InCuttingOrder(const TensorBox& box) {
  std::vector<AxisPart> parts(box.begin(), box.end());
  std::sort(parts.begin(), parts.end(), std::greater<>());
  return parts;
}

std::vector<int64_t> ShapeOf(std::vector<int64_t> shape, const TensorBox& box) {
  for (const auto& [place, interval] : box) {
    int64_t& length = shape[static_cast<size_t>(place.dimension)];
    length = length / place.size * interval.length();
  }
  return shape;
}

}  // namespace placewright
