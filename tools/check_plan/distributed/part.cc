#include "check_plan/distributed/part.h"

#include <fmt/format.h>

#include <algorithm>

namespace placewright::check {
namespace {

// Where an axis stands among the axes of a dimension.
struct Standing {
  int64_t outer = 1, inner = 1;
};

Standing StandingOf(const OpRule& rule, const std::vector<RuleAxisId>& axes, size_t at) {
  Standing standing;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i < at) standing.outer *= rule.axes[axes[i]].size;
    if (i > at) standing.inner *= rule.axes[axes[i]].size;
  }
  return standing;
}

bool Divides(int64_t divisor, int64_t number) { return divisor > 0 && number % divisor == 0; }

// A length that has no place: of the axis of that dimension that can have it.
std::optional<Cut> CutByLength(const OpRule& rule, const std::vector<RuleAxisId>& axes,
                               const Part& part) {
  for (const RuleAxisId axis : axes) {
    const int64_t size = rule.axes[axis].size;
    if (part.period <= 0 || !Divides(part.period, part.to * size)) continue;
    const int64_t length = part.to * size / part.period;
    if (length > 0 && length < size) return Cut{axis, 1, size, 0, length, true};
  }
  return std::nullopt;
}

}  // namespace

Part PartAt(const TensorBox& box) {
  if (box.empty()) return {};
  const auto& [place, interval] = box.front();
  if (interval == Interval{0, place.size}) return {};
  return {place.dimension,           place.outer,
          place.size * place.inner,  interval.from * place.inner,
          interval.to * place.inner, false};
}

std::optional<std::vector<int64_t>> ShapeOf(const std::vector<int64_t>& shape, const Part& part) {
  if (part.whole()) return shape;
  const auto dimension = static_cast<size_t>(part.dimension);
  const bool fits = dimension < shape.size() && part.outer > 0 && part.period > 0 &&
                    shape[dimension] == part.outer * part.period && part.from >= 0 &&
                    part.from < part.to && part.to <= part.period;
  if (!fits) return std::nullopt;
  std::vector<int64_t> sizes = shape;
  sizes[dimension] = part.outer * (part.to - part.from);
  return sizes;
}

std::optional<Part> PartByShape(const std::vector<int64_t>& shape,
                                const std::vector<int64_t>& piece) {
  if (shape.size() != piece.size()) return std::nullopt;
  Part part;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == piece[d]) continue;
    if (!part.whole() || piece[d] > shape[d]) return std::nullopt;
    part = {static_cast<int32_t>(d), 1, shape[d], 0, piece[d], true};
  }
  return part;
}

std::string ToString(const Part& part) {
  if (part.whole()) return "all";
  if (part.somewhere) {
    return fmt::format("{} of {} in dimension {}", part.to, part.period, part.dimension);
  }
  return fmt::format("[{}, {}) of {}{} in dimension {}", part.from, part.to, part.period,
                     part.outer > 1 ? fmt::format(", {} times,", part.outer) : "", part.dimension);
}

std::string ToString(const Cut& cut) {
  if (cut.somewhere) return fmt::format("{} of {}", cut.to, cut.period);
  return fmt::format("[{}, {}) of {}", cut.from, cut.to, cut.period);
}

std::optional<Cut> CutOf(const OpRule& rule, const TensorAxes& tensor, const Part& part) {
  if (part.whole() || static_cast<size_t>(part.dimension) >= tensor.size()) return std::nullopt;
  const std::vector<RuleAxisId>& axes = tensor[static_cast<size_t>(part.dimension)];
  if (part.somewhere) return CutByLength(rule, axes, part);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto [outer, inner] = StandingOf(rule, axes, i);
    if (!Divides(outer, part.outer) || !Divides(inner, part.period) || !Divides(inner, part.from) ||
        !Divides(inner, part.to)) {
      continue;
    }
    const Cut cut = {axes[i],           part.outer / outer, part.period / inner,
                     part.from / inner, part.to / inner,    false};
    if (cut.outer * cut.period == rule.axes[cut.axis].size) return cut;
  }
  return std::nullopt;
}

Part PartIn(const OpRule& rule, const TensorAxes& tensor, const std::vector<int64_t>& shape,
            const Cut& cut) {
  for (size_t d = 0; d < std::min(tensor.size(), shape.size()); ++d) {
    const auto found = std::find(tensor[d].begin(), tensor[d].end(), cut.axis);
    if (found == tensor[d].end()) continue;
    const auto dimension = static_cast<int32_t>(d);
    if (cut.somewhere) {
      return {dimension, 1, shape[d], 0, shape[d] / rule.axes[cut.axis].size * cut.length(), true};
    }
    const auto [outer, inner] =
        StandingOf(rule, tensor[d], static_cast<size_t>(found - tensor[d].begin()));
    return {dimension,        outer * cut.outer, cut.period * inner,
            cut.from * inner, cut.to * inner,    false};
  }
  return {};
}

}  // namespace placewright::check
