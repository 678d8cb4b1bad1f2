// What a device of a split plan has of a tensor, as bytes.
#ifndef PLACEWRIGHT_PLAN_PIECE_BYTES_H_
#define PLACEWRIGHT_PLAN_PIECE_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/box.h"

namespace placewright {

// The box in a tensor of `shape` whose elements have `element` bytes each and lie in row-major order. `whole` has as
// many bytes as its shape says, and the box is within it. O(bytes of the part), or of several axes of what it lies in.
std::string PieceBytes(std::string_view whole, std::vector<int64_t> shape, int64_t element,
                       const TensorBox& box);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_PIECE_BYTES_H_
