#include "check_plan/distributed/stated_part.h"

namespace placewright::check {

std::vector<int64_t> NumbersOf(const Op& op) {
  std::vector<int64_t> numbers;
  for (size_t i = 1; i < op.args.size(); ++i) {
    if (const int64_t* number = op.args[i].AsInt()) numbers.push_back(*number);
  }
  return numbers;
}

std::optional<AxisPart> StatedPartOf(const std::vector<int64_t>& numbers,
                                     const std::vector<int64_t>& shape) {
  const bool there =
      !numbers.empty() && numbers[0] >= 0 && static_cast<size_t>(numbers[0]) < shape.size();
  return there ? StatedPartOf(numbers, shape[static_cast<size_t>(numbers[0])]) : std::nullopt;
}

std::optional<AxisPart> StatedPartOf(const std::vector<int64_t>& numbers, int64_t length) {
  const bool given = numbers.size() == 5 && numbers[1] > 0 && numbers[2] > 0 && numbers[3] >= 0 &&
                     numbers[3] < numbers[4] && numbers[4] <= numbers[2];
  // Whose product may be no number of 64 bits.
  if (!given || numbers[1] > length || numbers[2] > length / numbers[1] ||
      length % (numbers[1] * numbers[2]) != 0) {
    return std::nullopt;
  }
  const AxisPlace place = {static_cast<int32_t>(numbers[0]), numbers[1], numbers[2],
                           length / (numbers[1] * numbers[2])};
  return AxisPart{place, {numbers[3], numbers[4]}};
}

std::optional<Part> PartWithin(const Part& piece, const AxisPart& part) {
  const Part inner = PartAt({part});
  if (inner.whole()) return piece;
  if (piece.whole()) return inner;
  const PartAlong all = piece.only(), within = inner.only();
  if (within.dimension != all.dimension) return std::nullopt;
  if (all.somewhere) return Part{{{all.dimension, 1, all.period, 0, within.length(), true}}};
  if (within.outer != all.outer || within.period != all.to - all.from) return std::nullopt;
  return Part{{{all.dimension, all.outer, all.period, all.from + within.from, all.from + within.to,
                false}}};
}

}  // namespace placewright::check
