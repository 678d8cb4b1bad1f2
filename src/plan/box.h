// Boxes: what a device has of a step's named axes, and what a piece has of a tensor.
#ifndef PLACEWRIGHT_PLAN_BOX_H_
#define PLACEWRIGHT_PLAN_BOX_H_

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

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

// An axis within a tensor: dimension `dimension` has outer * size * inner elements, and the axis is the
// middle factor.
struct AxisPlace {
  int32_t dimension = -1;  // -1: the tensor does not have the axis
  int64_t outer = 1, size = 1, inner = 1;
  friend auto operator<=>(const AxisPlace&, const AxisPlace&) = default;
};

struct AxisPart {
  AxisPlace place;  // with a dimension
  Interval interval;
  friend auto operator<=>(const AxisPart&, const AxisPart&) = default;
};
// As ops state it: dimension, outer, size, from, to.
std::array<int64_t, 5> NumbersOf(const AxisPart& part);

// What a piece has of a tensor: of different axes, ascending, each a proper part of its axis; empty: all of it.
using TensorBox = SmallVector<AxisPart>;

// Of these parts those that are not all of their axis.
TensorBox BoxOf(std::vector<AxisPart> parts);
// What both have; nothing where they have nothing in common. Of one tensor.
std::optional<TensorBox> CommonOf(const TensorBox& a, const TensorBox& b);
bool Contains(const TensorBox& box, const TensorBox& part);
// All of the axis where the box does not name it.
Interval AlongPlace(const TensorBox& box, const AxisPlace& place);
// The box with another interval there; all of the axis: without it.
TensorBox WithInterval(const TensorBox& box, const AxisPlace& place, Interval interval);
// Where an axis lies in a piece that has `box`.
AxisPlace PlaceWithin(const TensorBox& box, AxisPlace place);
// A part as it lies in such a piece, which contains it.
TensorBox PartWithin(const TensorBox& box, const TensorBox& part);

// In an order in which one axis can be cut after the other, inner factors of a dimension first: each is then the
// middle factor of what is left of its dimension, outer * size * what is left of inner.
std::vector<AxisPart> InCuttingOrder(const TensorBox& box);

// That of the box in a tensor of `shape`, within which it lies.
std::vector<int64_t> ShapeOf(std::vector<int64_t> shape, const TensorBox& box);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_BOX_H_
