// A layout: which devices have which part of a colocation group's ops and tensors. Placement is its
// simplest case.
//
//   place            one device, everything
//   duplicate        several devices, each everything
//   split            several devices, each a box: intervals of named axes (sharding/named_axes.h), such as the
//                    batch, for data parallelism, the heads of an attention, the columns of a weight; or of several
//                    of them, as on a mesh of batch x heads
//
// What does not have an axis is on every device of the layout as far as that axis goes: an update of a parameter whose
// readers are split by the batch happens everywhere, once the gradients have been summed.
#ifndef PLACEWRIGHT_PLAN_LAYOUT_H_
#define PLACEWRIGHT_PLAN_LAYOUT_H_

#include <compare>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "plan/box.h"

namespace placewright {

using LayoutId = Id<struct LayoutTag>;

// What one device has; an empty box: everything.
struct Share {
  DeviceId device;
  Box box;
  // The only axis of its box; none: it has everything, or its box is of several.
  AxisId axis() const { return box.size() == 1 ? box.front().axis : AxisId(); }
  // [0, 0) where its box does not have the axis.
  Interval Along(AxisId axis) const {
    for (const AxisInterval& one : box) {
      if (one.axis == axis) return one.interval;
    }
    return {};
  }
  friend auto operator<=>(const Share&, const Share&) = default;
};

struct Layout {
  // Distinct devices, all boxes of the same axes, ascending. The boxes cover the product of the axes: equal ones are
  // replicas, unequal ones have nothing in common.
  std::vector<Share> shares;

  // The only axis of its boxes, of which every device has a part of its own, one behind the other; none: each device has
  // everything, or boxes are of several axes or have replicas.
  AxisId axis() const;
  bool IsSplit() const { return !shares.empty() && !shares.front().box.empty(); }
  friend auto operator<=>(const Layout&, const Layout&) = default;
};

// Everything on one device, or on each of several.
Layout PlacedOn(DeviceId device);
Layout CopiesOn(const std::vector<DeviceId>& devices);
// Parts of these lengths of the axis, one behind the other, for as many devices.
Layout SplitOver(AxisId axis, const std::vector<DeviceId>& devices,
                 const std::vector<int64_t>& lengths);
// In the order of its shares.
std::vector<DeviceId> DevicesOf(const Layout& layout);
// Of the shares' intervals of the axis.
std::vector<int64_t> LengthsOf(const Layout& layout);

// One layout for every colocation group.
struct Layouts {
  std::vector<Layout> layouts;
  IdVector<GroupId, LayoutId> of_group;

  const Layout& Of(GroupId group) const { return layouts[of_group[group].index()]; }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_LAYOUT_H_
