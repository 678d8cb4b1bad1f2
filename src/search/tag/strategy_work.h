// What the units of a step take and hand on, and how slices use their devices, roughly: for priors and features.
#ifndef PLACEWRIGHT_SEARCH_TAG_STRATEGY_WORK_H_
#define PLACEWRIGHT_SEARCH_TAG_STRATEGY_WORK_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/problem/layout_problem.h"
#include "search/tag/strategies.h"

namespace placewright {

// ns of a unit's ops on a kind of device, at least (search/floors/part_floors.h).
struct UnitWork {
  double fixed = 0;   // of every device that has a part
  double shared = 0;  // shared out by the batch
  double update = 0;  // of the optimizer's ops that the batch does not split
};

struct WorkEdge {
  size_t from, to;  // units
  double bytes;     // that would cross if they lay apart
};

// Of a slice, by its device groups.
struct SliceUse {
  std::vector<double> share;  // of the batch for one device; of whole ops, of the unit's time
  std::vector<double> has;    // of a tensor, all devices of the group together
  double rate = 0;            // bytes/ns of the narrowest route of a ring over its devices
  double widest = 0;          // 2 d (n - d) / n, most of all groups of d of n devices
};

class StrategyWork {
 public:
  // Both must outlive it. O(ops * kinds of devices + slices * devices).
  StrategyWork(const LayoutProblem& problem, const Strategies& strategies);

  const UnitWork& Of(size_t unit, DeviceId device) const;
  // Bytes of the parameters of a unit that the step updates.
  double Gradients(size_t unit) const { return gradients_[unit]; }
  const std::vector<WorkEdge>& edges() const { return edges_; }
  const SliceUse& UseOf(int32_t slice) const { return uses_[static_cast<size_t>(slice)]; }
  // bytes/ns; next to none where there is no route.
  double RateBetween(DeviceId from, DeviceId to) const;

 private:
  void FindWork();
  void FindEdges();
  void FindUses();
  double RateWithin(const Slice& slice) const;

  const LayoutProblem& problem_;
  const Strategies& strategies_;
  const size_t kinds_;
  std::vector<UnitWork> work_;     // [unit][kind]
  std::vector<double> gradients_;  // by unit
  std::vector<WorkEdge> edges_;
  std::vector<SliceUse> uses_;  // [slice]
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_STRATEGY_WORK_H_
