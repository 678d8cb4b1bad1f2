// Whether parts of a tensor, or cuts of an op, are all of it, each element once (internal to the checker).
//
// On a mesh they are boxes of a grid; where hosts have unequal shares, each cut by another axis inside, they are not.
// Equal ones are replicas, which count once. What has one axis of such boxes alone may be cut in several ways at once:
// of [0, 3) x [0, 6), [0, 3) x [6, 12), [3, 4) x [0, 4), [3, 4) x [4, 8), [3, 4) x [8, 12) the second axis is cut into
// two and into three.
#ifndef CHECK_PLAN_DISTRIBUTED_COVER_H_
#define CHECK_PLAN_DISTRIBUTED_COVER_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "check_plan/distributed/part.h"
#include "plan/box.h"

namespace placewright::check {

struct Coverage {
  enum Kind : uint8_t {
    kOnce,    // all of it, each element once
    kLayers,  // all of it several times: each one is of some that cover it once
    kTwice,   // two have something in common
    kNotAll,  // something is in none of them
    kMixed    // two that have something in common are of different axes
  };
  Kind kind = kOnce;
  size_t at = 0, other = 0;  // of kTwice and kMixed: which two; of kNotAll: the one beside the gap
  std::optional<Interval> gap;  // of kNotAll, where there is one axis
};

// Precondition: none of them is somewhere. Layers that are not found within 10^4 trials are taken to be there.
// O(n log n) on meshes.
Coverage CoverageOf(const std::vector<Part>& parts);
Coverage CoverageOf(const std::vector<Cut>& cuts);

// Whether they have an element in common.
bool Meet(const Part& a, const Part& b);
bool Meet(const Cut& a, const Cut& b);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_COVER_H_
