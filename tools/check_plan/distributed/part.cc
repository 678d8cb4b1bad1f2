#include "check_plan/distributed/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"

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

// Both have the same key. A length without a place makes both one.
template <class One>
One Somewhere(const One& a, const One& b) {
  One one = a;
  one.period = a.outer * a.period;
  one.outer = 1;
  one.from = 0;
  one.to = SaturatingMultiply(a.length(), b.length()) / std::max<int64_t>(1, b.outer * b.period);
  one.somewhere = true;
  return one;
}

template <class One>
Intervals<One> MergedOf(std::vector<One> all) {
  std::erase_if(all, [](const One& one) { return one.from == 0 && one.to == one.period; });
  std::sort(all.begin(), all.end());
  std::vector<One> along;
  for (const One& one : all) {
    if (along.empty() || along.back().key() != one.key()) {
      along.push_back(one);
      continue;
    }
    One& back = along.back();
    if (back.somewhere || one.somewhere) {
      // However many there are, they are behind one another.
      back = Somewhere(back, one);
    } else if (back.to - back.from == one.period && back.outer < one.outer &&
               back.outer * back.period == one.outer * one.period) {
      back.to = back.from + one.to;
      back.from += one.from;
    } else {
      along.push_back(one);
    }
  }
  return {{along.begin(), along.end()}};
}

// Of which axes of a dimension an interval of it is one.
std::optional<std::vector<CutAlong>> CutsOf(const OpRule& rule, const std::vector<RuleAxisId>& axes,
                                            PartAlong part) {
  std::vector<CutAlong> cuts;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = rule.axes[axes[i]].size;
    if (part.somewhere) {
      // A length that has no place: of the axis that can have it.
      if (part.period <= 0 || !Divides(part.period, part.to * size)) continue;
      const int64_t length = part.to * size / part.period;
      if (length > 0 && length < size) return {{{axes[i], 1, size, 0, length, true}}};
      continue;
    }
    const auto [outer, inner] = StandingOf(rule, axes, i);
    if (!Divides(outer, part.outer) || part.outer >= outer * size) continue;
    if (inner <= 0) return std::nullopt;
    const CutAlong cut = {axes[i],           part.outer / outer, part.period / inner,
                          part.from / inner, part.to / inner,    false};
    if (!Divides(inner, part.period) || cut.outer * cut.period != size) return std::nullopt;
    cuts.push_back(cut);
    if (Divides(inner, part.from) && Divides(inner, part.to)) return cuts;
    // A part of one of its elements: an interval of the axes behind it.
    if (cut.from != (part.to - 1) / inner) return std::nullopt;
    cuts.back().to = cut.from + 1;
    part = {part.dimension,
            outer * size,
            inner,
            part.from - cut.from * inner,
            part.to - cut.from * inner,
            false};
  }
  return std::nullopt;
}

template <class Some, class TextOf>
std::string Listed(const Some& some, const TextOf& text_of) {
  std::string text;
  for (const auto& one : some.along) text += (text.empty() ? "" : " and ") + text_of(one);
  return some.whole() ? "all" : text;
}

// It stands for whole periods of `inner`.
bool Nests(const PartAlong& outer, const PartAlong& inner) {
  return !outer.somewhere && !inner.somewhere && outer.period > inner.period &&
         Divides(inner.period, outer.period) && Divides(inner.period, outer.from) &&
         Divides(inner.period, outer.to);
}

}  // namespace

Part Merged(std::vector<PartAlong> all) { return MergedOf(std::move(all)); }
Cut Merged(std::vector<CutAlong> all) { return MergedOf(std::move(all)); }

Part PartAt(const TensorBox& box) {
  std::vector<PartAlong> along;
  for (const auto& [place, interval] : box) {
    along.push_back({place.dimension, place.outer, place.size * place.inner,
                     interval.from * place.inner, interval.to * place.inner, false});
  }
  return Merged(std::move(along));
}

std::optional<std::vector<int64_t>> ShapeOf(const std::vector<int64_t>& shape, const Part& part) {
  std::vector<int64_t> sizes = shape;
  const PartAlong* before = nullptr;
  for (const PartAlong& one : part.along) {
    const auto dimension = static_cast<size_t>(one.dimension);
    const bool fits = dimension < shape.size() && one.outer > 0 && one.period > 0 &&
                      shape[dimension] == one.outer * one.period && one.from >= 0 &&
                      one.from < one.to && one.to <= one.period;
    if (!fits) return std::nullopt;
    const bool again = before != nullptr && before->dimension == one.dimension;
    if (again && !Nests(*before, one)) return std::nullopt;
    sizes[dimension] = sizes[dimension] / one.period * (one.to - one.from);
    before = &one;
  }
  return sizes;
}

std::optional<Part> PartByShape(const std::vector<int64_t>& shape,
                                const std::vector<int64_t>& piece) {
  if (shape.size() != piece.size()) return std::nullopt;
  std::vector<PartAlong> along;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (piece[d] > shape[d]) return std::nullopt;
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
    const auto cuts =
        dimension < tensor.size() ? CutsOf(rule, tensor[dimension], one) : std::nullopt;
    if (!cuts) return std::nullopt;
    along.insert(along.end(), cuts->begin(), cuts->end());
  }
  return Merged(std::move(along));
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

std::vector<RuleAxisId> AxesOf(const Cut& cut) {
  std::vector<RuleAxisId> axes;
  for (const CutAlong& one : cut.along) {
    if (axes.empty() || axes.back() != one.axis) axes.push_back(one.axis);
  }
  return axes;
}

Cut Along(const Cut& cut, const std::vector<RuleAxisId>& axes) {
  std::vector<CutAlong> along;
  for (const CutAlong& one : cut.along) {
    if (std::find(axes.begin(), axes.end(), one.axis) != axes.end()) along.push_back(one);
  }
  return {{along.begin(), along.end()}};
}

int64_t LengthAlong(const Cut& cut, RuleAxisId axis, int64_t size) {
  int64_t length = size;
  for (const CutAlong& one : cut.along) {
    if (one.axis == axis) length = length / one.period * (one.to - one.from);
  }
  return length;
}

}  // namespace placewright::check
