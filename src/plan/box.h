// Boxes: what a device has of a step's named axes, and what a piece has of a tensor.
#ifndef PLACEWRIGHT_PLAN_BOX_H_
#define PLACEWRIGHT_PLAN_BOX_H_

#include <compare>
#include <cstdint>

#include "base/ids.h"
#include "base/small_vector.h"

namespace placewright {

using AxisId = Id<struct AxisTag>;  // a named axis of the step (sharding/named_axes.h)

struct Interval {
  int64_t from = 0, to = 0;
  int64_t length() const { return to - from; }
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

struct AxisInterval {
  AxisId axis;
  Interval interval;
  friend auto operator<=>(const AxisInterval&, const AxisInterval&) = default;
};
// Of different axes; all of what it does not name.
using Box = SmallVector<AxisInterval>;

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_BOX_H_
