// What a tensor between the ops of a batch norm in parts holds, on inputs that the checker makes up (internal
// to the checker; norm_check.h says what for).
#ifndef CHECK_PLAN_DISTRIBUTED_NORMS_VALUE_H_
#define CHECK_PLAN_DISTRIBUTED_NORMS_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "check_plan/distributed/part.h"

namespace placewright::check {

// All numbers of a small tensor. Of a part of x, or of a tensor of its sizes, rows: elements of a channel that
// are equal are one number, and a row has one for each channel.
struct NormValue {
  std::vector<int64_t> shape;   // as the step states it
  std::vector<double> numbers;  // row-major; of a part [rows channels]
  int32_t part = -1;            // of x, as the norm's samples number them
};

// A part of x: how many elements of a channel each row stands for, at least one.
struct NormPart {
  Part part;
  std::vector<double> weights;
};

// The channels of a part's shape [n channels ...].
inline size_t ChannelsOf(const std::vector<int64_t>& shape) {
  return static_cast<size_t>(shape[1]);
}
int64_t CountOf(const std::vector<int64_t>& shape);

// To 1e-11 of the largest magnitude that is due.
bool IsNear(const std::vector<double>& found, const std::vector<double>& due);

// `f` of the numbers at one place of each, broadcast as LibTorch does; with a part among them the others are
// parts of the same elements, or have one number or one for each channel. Nothing where they do not fit.
std::optional<NormValue> Elementwise(const std::vector<const NormValue*>& values,
                                     const std::function<double(const std::vector<double>&)>& f);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_NORMS_VALUE_H_
