// How long a step takes at least, laid out in a given way: the work of its busiest device.
//
// By part_floors.h: an op that is whole on a device takes there at least its floor; a part of n of the F elements of the
// axis that is split at least the launch (of what was measured: 0) and n / F of the rest. Where a layout has several axes,
// of which an op may be split by some alone, n / F is the share of all of them; of parts that are uneven (AxisPartOp)
// the launch alone. Equal GPUs of one layout are slower than
// one, as cost/slowest.h says. What is moved, joined and summed is not counted, nor is any wait.
#ifndef PLACEWRIGHT_SEARCH_FLOORS_LAYOUT_FLOOR_H_
#define PLACEWRIGHT_SEARCH_FLOORS_LAYOUT_FLOOR_H_

#include <map>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "plan/layout.h"
#include "search/floors/part_floors.h"
#include "search/problem/layout_problem.h"

namespace placewright {

class LayoutFloor {
 public:
  // `problem`, which must outlive it, has no costs by name.
  explicit LayoutFloor(const LayoutProblem& problem);

  // No compiled step of these layouts is shorter. O(groups * kinds of devices), once they and their axes have been
  // seen. `layouts.layouts` only grows from call to call.
  Nanos Of(const Layouts& layouts);

 private:
  // Of a group on a kind of device, or of several: nanoseconds of every instance, and those that are shared out.
  struct Work {
    double fixed = 0, shared = 0;
  };

  void AddOp(OpId op, const std::vector<AxisId>& axes, Work* by_kind) const;
  const std::vector<Work>& WorkBy(const std::vector<AxisId>& axes);
  void SumUp(const Layouts& layouts);
  void AddTo(const Layout& layout, const Work* by_kind);

  const LayoutProblem& problem_;
  const PartFloors floors_;
  const size_t kinds_;
  std::vector<double> slowest_of_;  // by number of devices
  std::vector<DeviceId> one_of_;    // by kind
  IdVector<GroupId, bool> draws_;   // on the first device of its layout alone
  std::map<std::vector<AxisId>, std::vector<Work>> by_axes_;  // by group and kind
  std::vector<const std::vector<Work>*> works_;  // by layout, of those seen: in by_axes_
  std::vector<Work> sums_;                       // by layout and kind
  std::vector<double> busy_;                     // by device
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_FLOORS_LAYOUT_FLOOR_H_
