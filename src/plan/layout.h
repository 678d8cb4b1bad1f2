// A layout: which devices have which part of a colocation group's ops and tensors. Placement is its
// simplest case.
//
//   place            one device, everything
//   duplicate        several devices, each everything
//   split            several devices, each an interval of one named axis (sharding/named_axes.h): the
//                    batch, for data parallelism; the heads of an attention, the columns of a weight
//
// What does not have the axis is on every device of the layout: an update of a parameter whose readers
// are split by the batch happens everywhere, once the gradients have been summed.
#ifndef PLACEWRIGHT_PLAN_LAYOUT_H_
#define PLACEWRIGHT_PLAN_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace placewright {

using LayoutId = Id<struct LayoutTag>;
using AxisId = Id<struct AxisTag>;  // a named axis of the step (sharding/named_axes.h)

// What one device has: [from, to) of the axis; [0, 0) where there is none.
struct Share {
  DeviceId device;
  int64_t from = 0, to = 0;
  friend bool operator==(const Share&, const Share&) = default;
};

struct Layout {
  AxisId axis;                // of all shares; none: each device has everything
  std::vector<Share> shares;  // distinct devices, intervals ascending, that cover the axis
  friend bool operator==(const Layout&, const Layout&) = default;
};

// One layout for every colocation group.
struct Layouts {
  std::vector<Layout> layouts;
  IdVector<GroupId, LayoutId> of_group;

  const Layout& Of(GroupId group) const { return layouts[of_group[group].index()]; }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_LAYOUT_H_
