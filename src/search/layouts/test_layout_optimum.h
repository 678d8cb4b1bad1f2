// Brute force over layouts, for tests.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TEST_LAYOUT_OPTIMUM_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TEST_LAYOUT_OPTIMUM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "plan/layout.h"
#include "search/evaluator.h"
#include "search/problem/layout_problem.h"

namespace placewright {

// Each device; everything on every set of devices; every named axis that the group's ops or tensors have, in all
// shares on all sets of devices in all orders. Others come to the same.
std::vector<Layout> LayoutsOf(const LayoutProblem& problem, GroupId group);

// What has boxes of several axes, or replicas of parts: all sets of three devices or more, cut in two by an axis of the
// group in the middle or behind its first element, each side cut on, or copied. Not those of LayoutsOf.
std::vector<Layout> BoxLayoutsOf(const LayoutProblem& problem, GroupId group);

struct LayoutOptimum {
  int64_t combinations = 0;
  std::optional<Score> best;  // over all combinations that can be compiled; none: there are none
};
// Over all combinations of LayoutsOf, with Broadcast and without; nothing where there are more than `limit`.
std::optional<LayoutOptimum> BestOfLayouts(const LayoutProblem& problem, int64_t limit);
// Over combinations of LayoutsOf and BoxLayoutsOf: all, where there are no more than `limit`, else so many drawn ones.
LayoutOptimum BestOfBoxes(const LayoutProblem& problem, int64_t limit, Random& random);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_LAYOUT_OPTIMUM_H_
