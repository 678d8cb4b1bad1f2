// Intervals along one axis.
#ifndef PLACEWRIGHT_PLAN_INTERVAL_GRID_H_
#define PLACEWRIGHT_PLAN_INTERVAL_GRID_H_

#include <algorithm>
#include <vector>

#include "plan/box.h"

namespace placewright {

// Any two of them are equal or have nothing in common. Where that is so along each axis of some boxes, it is so of the
// boxes. O(n log n).
inline bool AreEqualOrApart(std::vector<Interval>& along) {
  std::sort(along.begin(), along.end());
  along.erase(std::unique(along.begin(), along.end()), along.end());
  const auto meet = [](const Interval& a, const Interval& b) { return b.from < a.to; };
  return std::adjacent_find(along.begin(), along.end(), meet) == along.end();
}

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_INTERVAL_GRID_H_
