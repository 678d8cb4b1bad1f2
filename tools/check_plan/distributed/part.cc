#include "check_plan/distributed/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

// Ascending. An interval as long as a period within it is one with the interval there.
Part Merged(std::vector<PartAlong> axes) {
  std::sort(axes.begin(), axes.end());
  std::vector<PartAlong> along;
  for (const PartAlong& one : axes) {
    const bool within = !along.empty() && !along.back().somewhere &&
                        along.back().dimension == one.dimension &&
                        along.back().to - along.back().from == one.period;
    if (within) {
      along.back().to = along.back().from + one.to;
      along.back().from += one.from;
    } else {
      along.push_back(one);
    }
  }
  return {{along.begin(), along.end()}};
}

// Of which axis an interval of that dimension is one.
std::optional<CutAlong> CutOf(const OpRule& rule, const std::vector<RuleAxisId>& axes,
                              const PartAlong& part) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = rule.axes[axes[i]].size;
    if (part.somewhere) {
      // A length that has no place: of the axis that can have it.
      if (part.period <= 0 || !Divides(part.period, part.to * size)) continue;
      const int64_t length = part.to * size / part.period;
      if (length > 0 && length < size) return CutAlong{axes[i], 1, size, 0, length, true};
      continue;
    }
    const auto [outer, inner] = StandingOf(rule, axes, i);
    if (!Divides(outer, part.outer) || !Divides(inner, part.period) || !Divides(inner, part.from) ||
        !Divides(inner, part.to)) {
      continue;
    }
    const CutAlong cut = {axes[i],           part.outer / outer, part.period / inner,
                          part.from / inner, part.to / inner,    false};
    if (cut.outer * cut.period == size) return cut;
  }
  return std::nullopt;
}

template <class Some, class TextOf>
std::string Listed(const Some& some, const TextOf& text_of) {
  std::string text;
  for (const auto& one : some.along) text += (text.empty() ? "" : " and ") + text_of(one);
  return some.whole() ? "all" : text;
}

}  // namespace

Part PartAt(const TensorBox& box) {
  std::vector<PartAlong> along;
  for (const auto& [place, interval] : box) {
    if (interval == Interval{0, place.size}) continue;
    along.push_back({place.dimension, place.outer, place.size * place.inner,
                     interval.from * place.inner, interval.to * place.inner, false});
  }
  return Merged(std::move(along));
}

std::optional<std::vector<int64_t>> ShapeOf(const std::vector<int64_t>& shape, const Part& part) {
  std::vector<int64_t> sizes = shape;
  for (const PartAlong& one : part.along) {
    const auto dimension = static_cast<size_t>(one.dimension);
    const bool fits = dimension < shape.size() && one.outer > 0 && one.period > 0 &&
                      shape[dimension] == one.outer * one.period && one.from >= 0 &&
                      one.from < one.to && one.to <= one.period;
    if (!fits) return std::nullopt;
    sizes[dimension] = sizes[dimension] / one.period * (one.to - one.from);
  }
  return sizes;
}

std::optional<Part> PartByShape(const std::vector<int64_t>& shape,
                                const std::vector<int64_t>& piece) {
  if (shape.size() != piece.size()) return std::nullopt;
  std::vector<PartAlong> along;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (piece[d] > shape[d]) return std::nullopt;
    if (piece[d] == shape[d]) continue;
    along.push_back({static_cast<int32_t>(d), 1, shape[d], 0, piece[d], true});
  }
  return Merged(std::move(along));
}

std::string ToString(const Part& part) {
  return Listed(part, [](const PartAlong& one) {
    if (one.somewhere) {
      return fmt::format("{} of {} in dimension {}", one.to, one.period, one.dimension);
    }
    return fmt::format("[{}, {}) of {}{} in dimension {}", one.from, one.to, one.period,
                       one.outer > 1 ? fmt::format(", {} times,", one.outer) : "", one.dimension);
  });
}

std::string ToString(const Cut& cut) {
  return Listed(cut, [](const CutAlong& one) {
    if (one.somewhere) return fmt::format("{} of {}", one.to, one.period);
    return fmt::format("[{}, {}) of {}", one.from, one.to, one.period);
  });
}

std::optional<Cut> CutOf(const OpRule& rule, const TensorAxes& tensor, const Part& part) {
  std::vector<CutAlong> along;
  for (const PartAlong& one : part.along) {
    const auto dimension = static_cast<size_t>(one.dimension);
    const auto cut = dimension < tensor.size() ? CutOf(rule, tensor[dimension], one) : std::nullopt;
    if (!cut) return std::nullopt;
    along.push_back(*cut);
  }
  std::sort(along.begin(), along.end());
  return Cut{{along.begin(), along.end()}};
}

Part PartIn(const OpRule& rule, const TensorAxes& tensor, const std::vector<int64_t>& shape,
            const Cut& cut) {
  std::vector<PartAlong> along;
  for (const CutAlong& one : cut.along) {
    for (size_t d = 0; d < std::min(tensor.size(), shape.size()); ++d) {
      const auto found = std::find(tensor[d].begin(), tensor[d].end(), one.axis);
      if (found == tensor[d].end()) continue;
      const auto dimension = static_cast<int32_t>(d);
      if (one.somewhere) {
        const int64_t length = shape[d] / rule.axes[one.axis].size * one.length();
        along.push_back({dimension, 1, shape[d], 0, length, true});
        break;
      }
      const auto [outer, inner] =
          StandingOf(rule, tensor[d], static_cast<size_t>(found - tensor[d].begin()));
      along.push_back({dimension, outer * one.outer, one.period * inner, one.from * inner,
                       one.to * inner, false});
      break;
    }
  }
  return Merged(std::move(along));
}

}  // namespace placewright::check
