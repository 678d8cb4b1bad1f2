// Tiny steps of equal layers, two devices for them, and what searches over their layouts need.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_TEST_TINY_STEPS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_TEST_TINY_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/random.h"
#include "plan/layout_spec.h"
#include "search/layouts/layout_search.h"
#include "search/layouts/layout_state.h"
#include "search/problem/layout_problem.h"
#include "search/problem/problem.h"

namespace placewright {

inline constexpr int64_t kSamples = 8;

struct TinySize {
  int64_t samples = kSamples;
  int64_t least_width = 4;  // to 32 times as many
};

// Some layers (0: one or two), each with a product, an activation, the weight's gradient as a sum over the samples,
// and its update. `alike`: of equal widths.
Graph TinyStep(Random& random, size_t layers, bool alike = false, const TinySize& size = {});

// Two devices, a and b, one of which may be slower.
Cluster TinyCluster(Random& random);

// Never moved.
struct LayeredProblem {
  explicit LayeredProblem(uint64_t seed, const Constraints& constraints = {}, size_t layers = 0);
  LayeredProblem(Graph graph, Cluster cluster, const Constraints& constraints = {});

  PlannerResult Search(LayoutRule rule, int64_t moves, uint64_t seed = 0, int threads = 1) const;

  std::unique_ptr<const Graph> graph;
  std::unique_ptr<const Cluster> cluster;
  std::unique_ptr<LayoutProblem> layouts;
  Problem problem;

 private:
  void Complete(const Constraints& constraints);
};

// To the end of the options' budget, from their starts.
PlannerResult SearchTiny(const Problem& problem, const PlannerOptions& options,
                         LayoutRule rule = LayoutRule::kLocalSearch);

// All samples shared out evenly over a and b.
DistributionSpec EvenSplit();

// By the compiled graph. Errors: those of CompileStep.
Result<Evaluation> EvaluateState(const LayoutProblem& problem, LayoutBook& book,
                                 const LayoutState& state);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_TEST_TINY_STEPS_H_
