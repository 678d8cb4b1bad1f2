// What a device of a split plan has of a tensor, as bytes.
#ifndef PLACEWRIGHT_PLAN_PIECE_BYTES_H_
#define PLACEWRIGHT_PLAN_PIECE_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/distributed_step.h"

namespace placewright {

// The interval of the axis, of a tensor of `shape` whose elements have `element` bytes each and lie in row-major
// order; all of it where the place has no dimension. `whole` has as many bytes as its shape says, and the place
// and the interval are within it. O(bytes of the part).
std::string PieceBytes(std::string_view whole, const std::vector<int64_t>& shape, int64_t element,
                       const AxisPlace& place, Interval interval);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_PIECE_BYTES_H_
