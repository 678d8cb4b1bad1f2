// Tiny steps drawn at random, of all forms in which ops can be split, and clusters for them.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TEST_STEPS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TEST_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/random.h"
#include "search/problem/layout_problem.h"
#include "search/problem/problem.h"

namespace placewright {

// Two to five colocation groups with a proven batch of two to four samples: products, sums, softmaxes, means,
// batch norms and gradients of convolutions, some in place, some with an update of a parameter.
Graph DrawStep(Random& random);

// `devices` named d0, d1, ..., of one to three kinds, some GPUs, with launch overheads or without, and links
// between any two. `capacity`: bytes of each.
Cluster DrawCluster(Random& random, size_t devices, int64_t capacity);

// Everything that a search over layouts needs; never moved.
struct DrawnProblem {
  // Three devices where the step has few groups and `large` allows it. `tight`: memory for a part of the step.
  explicit DrawnProblem(uint64_t seed, bool large = true, bool tight = false);

  // About half of what ops become in layouts drawn at random was measured, at a fifth to five times of what is
  // modelled, some in another state of the machine than it is in. `layouts` and `problem` are made anew.
  void Measure();

  Random random;
  std::unique_ptr<const Graph> graph;
  std::unique_ptr<const Cluster> cluster;
  std::unique_ptr<LayoutProblem> layouts;
  Problem problem;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_STEPS_H_
