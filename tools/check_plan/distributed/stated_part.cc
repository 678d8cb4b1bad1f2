#include "check_plan/distributed/stated_part.h"

#include <algorithm>
#include <utility>

namespace placewright::check {
namespace {

std::vector<PartAlong> In(const Part& part, int32_t dimension) {
  std::vector<PartAlong> along;
  for (const PartAlong& one : part.along) {
    if (one.dimension == dimension) along.push_back(one);
  }
  return along;
}

std::vector<PartAlong> NotIn(const Part& part, int32_t dimension) {
  std::vector<PartAlong> along;
  for (const PartAlong& one : part.along) {
    if (one.dimension != dimension) along.push_back(one);
  }
  return along;
}

bool IsSomewhere(const std::vector<PartAlong>& along) {
  return std::any_of(along.begin(), along.end(),
                     [](const PartAlong& one) { return one.somewhere; });
}

// A factor of a dimension, of which a piece has some units: all of them, or those of an interval.
struct Level {
  PartAlong interval;  // all of it: [0, period)
  int64_t unit = 1;    // elements of the dimension in one
  int64_t within = 1;  // elements of the piece in one
};

// A dimension of `length` as a piece has it, the outermost factor first: the periods of its first interval, then of
// each interval what it has of the next one's periods.
std::vector<Level> LevelsOf(const std::vector<PartAlong>& along, int32_t dimension,
                            int64_t length) {
  std::vector<Level> levels = {{{dimension, 1, length, 0, length, false}}};
  for (const PartAlong& one : along) {
    levels.back().unit = one.period;
    levels.push_back({one});
  }
  for (size_t i = levels.size() - 1; i-- > 0;) {
    const Level& next = levels[i + 1];
    levels[i].within = (next.interval.to - next.interval.from) / next.unit * next.within;
  }
  return levels;
}

// In `outer` periods of `period` elements of what a piece has of a dimension, [from, to) of each, as intervals beside
// those of the piece or in their place.
std::optional<std::vector<PartAlong>> IntervalsWithin(std::vector<PartAlong> along,
                                                      int32_t dimension, int64_t length,
                                                      PartAlong part) {
  while (true) {
    const std::vector<Level> levels = LevelsOf(along, dimension, length);
    size_t at = 0;  // of whose units the period is some
    while (at + 1 < levels.size() && levels[at].within >= part.period) ++at;
    const Level& level = levels[at];
    const PartAlong& has = level.interval;
    if (part.period % level.within != 0) return std::nullopt;
    const int64_t units = part.period / level.within, all = (has.to - has.from) / level.unit;
    const int64_t period = units * level.unit;
    if (all % units != 0) return std::nullopt;
    // Some of its units in each of several runs: these are factors of the dimension.
    const bool repeats = units < all;
    if (repeats && (has.from % period != 0 || has.period % period != 0)) return std::nullopt;
    const int64_t first = part.from / level.within, last = (part.to - 1) / level.within;
    const bool aligned = part.from % level.within == 0 && part.to % level.within == 0;
    if (!aligned && first != last) return std::nullopt;
    const int64_t begin = first * level.unit, end = (last + 1) * level.unit;
    if (repeats) {
      along.push_back({dimension, length / period, period, begin, end, false});
    } else {
      const PartAlong less = {dimension,        has.outer,      has.period,
                              has.from + begin, has.from + end, false};
      if (at == 0) {
        along.push_back(less);
      } else {
        along[at - 1] = less;
      }
    }
    std::sort(along.begin(), along.end());
    if (aligned) return along;
    // Of a single unit, an interval of what the piece has in it.
    part = {dimension,
            1,
            level.within,
            part.from - first * level.within,
            part.to - first * level.within,
            false};
  }
}

// With intervals in these periods, the longest first; nothing where what it has in one is none.
std::optional<std::vector<PartAlong>> InPeriods(const std::vector<PartAlong>& along,
                                                const std::vector<int64_t>& periods,
                                                int64_t length) {
  std::vector<PartAlong> all;
  std::optional<Interval> within;  // one of its units: what it has of that
  for (size_t i = 0; i < periods.size(); ++i) {
    const int64_t period = periods[i];
    const auto own = std::find_if(along.begin(), along.end(),
                                  [&](const PartAlong& one) { return one.period == period; });
    if (own != along.end() && within) return std::nullopt;
    const Interval has = within               ? *within
                         : own != along.end() ? Interval{own->from, own->to}
                                              : Interval{0, period};
    all.push_back({along.front().dimension, length / period, period, has.from, has.to, false});
    within.reset();
    if (i + 1 == periods.size()) break;
    const int64_t next = periods[i + 1];
    if (period % next != 0) return std::nullopt;
    if (has.from % next == 0 && has.to % next == 0) continue;
    const int64_t unit = has.from / next * next;
    if (has.to > unit + next) return std::nullopt;
    all.back().from = unit;
    all.back().to = unit + next;
    within = Interval{has.from - unit, has.to - unit};
  }
  return all;
}

// The second behind the first.
std::optional<std::vector<PartAlong>> Joined(const std::vector<PartAlong>& first,
                                             const std::vector<PartAlong>& second, int64_t length) {
  if (first.empty() || second.empty()) return std::nullopt;
  std::vector<int64_t> periods;
  for (const std::vector<PartAlong>* const one : {&first, &second}) {
    for (const PartAlong& interval : *one) periods.push_back(interval.period);
  }
  const PartAlong &a = first.front(), &b = second.front();
  const int64_t apart = b.from - a.from;
  // The same part of two units that follow one another.
  const bool units = first.size() == 1 && second.size() == 1 && a.period == b.period &&
                     a.to - a.from == b.to - b.from && apart > a.to - a.from;
  if (units) periods.push_back(apart);
  std::sort(periods.rbegin(), periods.rend());
  periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
  auto joined = InPeriods(first, periods, length);
  const auto behind = InPeriods(second, periods, length);
  if (!joined || !behind) return std::nullopt;
  PartAlong* differs = nullptr;
  for (size_t i = 0; i < joined->size(); ++i) {
    PartAlong& one = (*joined)[i];
    const PartAlong& next = (*behind)[i];
    if (one == next) continue;
    if (differs != nullptr || one.to != next.from) return std::nullopt;
    one.to = next.to;
    differs = &one;
  }
  if (differs == nullptr) return std::nullopt;
  const Part merged = Merged(*std::move(joined));
  return std::vector<PartAlong>(merged.along.begin(), merged.along.end());
}

}  // namespace

std::vector<int64_t> NumbersOf(const Op& op) {
  std::vector<int64_t> numbers;
  for (size_t i = 1; i < op.args.size(); ++i) {
    if (const int64_t* number = op.args[i].AsInt()) numbers.push_back(*number);
  }
  return numbers;
}

std::vector<int64_t> NumbersOf(const Op& op, size_t tensor) {
  std::vector<int64_t> numbers;
  const Value::List* const list =
      tensor + 1 < op.args.size() ? op.args[tensor + 1].AsList() : nullptr;
  if (list == nullptr) return numbers;
  for (const Value& item : *list) {
    if (const int64_t* number = item.AsInt()) numbers.push_back(*number);
  }
  return numbers;
}

std::optional<AxisPart> StatedPartOf(const std::vector<int64_t>& numbers,
                                     const std::vector<int64_t>& shape) {
  const bool given = numbers.size() == 5 && numbers[0] >= 0 &&
                     static_cast<size_t>(numbers[0]) < shape.size() && numbers[1] > 0 &&
                     numbers[2] > 0 && numbers[3] >= 0 && numbers[3] < numbers[4] &&
                     numbers[4] <= numbers[2];
  if (!given) return std::nullopt;
  const int64_t length = shape[static_cast<size_t>(numbers[0])];
  // Whose product may be no number of 64 bits.
  if (numbers[1] > length || numbers[2] > length / numbers[1] ||
      length % (numbers[1] * numbers[2]) != 0) {
    return std::nullopt;
  }
  const AxisPlace place = {static_cast<int32_t>(numbers[0]), numbers[1], numbers[2],
                           length / (numbers[1] * numbers[2])};
  return AxisPart{place, {numbers[3], numbers[4]}};
}

std::optional<Part> PartWithin(const std::vector<int64_t>& shape, const Part& piece,
                               const AxisPart& part) {
  const Part inner = PartAt({part});
  if (inner.whole()) return piece;
  if (piece.whole()) return inner;
  const PartAlong& within = inner.along.front();
  const int32_t dimension = within.dimension;
  const int64_t length = shape[static_cast<size_t>(dimension)];
  const std::vector<PartAlong> has = In(piece, dimension);
  std::vector<PartAlong> along = NotIn(piece, dimension);
  if (IsSomewhere(has)) {
    along.push_back({dimension, 1, length, 0, within.length(), true});
    return Merged(std::move(along));
  }
  const auto intervals = IntervalsWithin(has, dimension, length, within);
  if (!intervals) return std::nullopt;
  along.insert(along.end(), intervals->begin(), intervals->end());
  return Merged(std::move(along));
}

std::optional<Part> JoinedOf(const std::vector<int64_t>& shape, const std::vector<Part>& parts,
                             int32_t dimension) {
  const int64_t length = shape[static_cast<size_t>(dimension)];
  std::vector<PartAlong> joined = In(parts.front(), dimension);
  std::vector<PartAlong> other = NotIn(parts.front(), dimension);
  const auto due = ShapeOf(shape, parts.front());
  bool somewhere = false;
  int64_t sum = 0;
  for (const Part& part : parts) {
    const std::vector<PartAlong> along = In(part, dimension), others = NotIn(part, dimension);
    somewhere = somewhere || IsSomewhere(along);
    const auto sizes = ShapeOf(shape, part);
    if (!sizes || !due || along.empty()) return std::nullopt;
    sum += (*sizes)[static_cast<size_t>(dimension)];
    for (size_t d = 0; d < shape.size(); ++d) {
      if (static_cast<int32_t>(d) != dimension && (*sizes)[d] != (*due)[d]) return std::nullopt;
    }
    if (IsSomewhere(other)) other = others;
    if (!IsSomewhere(others) && others != other) return std::nullopt;
  }
  if (somewhere) {
    if (sum > length) return std::nullopt;
    joined = {{dimension, 1, length, 0, sum, true}};
  }
  for (size_t i = 1; i < parts.size() && !somewhere; ++i) {
    const auto next = Joined(joined, In(parts[i], dimension), length);
    if (!next) return std::nullopt;
    joined = *next;
  }
  other.insert(other.end(), joined.begin(), joined.end());
  return Merged(std::move(other));
}

int32_t WhereTheyDiffer(const Part& a, const Part& b) {
  for (const Part* const part : {&a, &b}) {
    for (const PartAlong& one : part->along) {
      const auto in_a = In(a, one.dimension), in_b = In(b, one.dimension);
      if (in_a != in_b && !IsSomewhere(in_a) && !IsSomewhere(in_b)) return one.dimension;
    }
  }
  return -1;
}

int64_t FirstIn(const Part& part, int32_t dimension) {
  int64_t first = 0;
  for (const PartAlong& one : In(part, dimension)) first += one.from;
  return first;
}

}  // namespace placewright::check
