// What a change of the step's meaning that users may permit would gain: the plan is of the step as it is, and says
// which switch would make it faster by 5% and more.
//
//   --batch-norm local   batch norms take the statistics of each part's samples, as under DistributedDataParallel:
//                        the plan's own layouts, if it has some, and where other plans may be looked at the best of at
//                        most 24 data-parallel ones (data-parallel-best), with gradients apart and in buckets
//   --precision tf32     float32 products in TF32: the same plan
//
// What is looked at follows from the problem and the plan alone, never from time.
#ifndef PLACEWRIGHT_PLANNING_PERMITTED_CHANGES_H_
#define PLACEWRIGHT_PLANNING_PERMITTED_CHANGES_H_

#include <string>
#include <vector>

#include "cost/cost_model.h"
#include "search/evaluator.h"
#include "search/planner.h"
#include "search/problem/layout_problem.h"
#include "search/problem/problem.h"

namespace placewright {

// A gain from which on it is said.
inline constexpr double kGainWorthSaying = 0.05;
// Ops times devices up to which plans are looked at; beyond it only that they were not.
inline constexpr int64_t kMaxOpsOnDevices = 300'000;

struct PermittedChange {
  std::string option;   // "--batch-norm local"
  std::string meaning;  // what the step then is, in words
  std::string plan;     // of whom the faster plan is: "the same plan", "data-parallel-best"
  Nanos step_time;
  double gain = 0;  // part of the plan's step time
};

struct PermittedChanges {
  std::vector<PermittedChange> changes;  // in the order above
  std::vector<std::string> notes;        // what was not looked at
};

struct PermittedQuestion {
  const Problem& problem;
  LayoutProblem*
      layouts;  // of the problem, changed while it is asked; nullptr: ops may not be split
  Evaluator& evaluator;
  const CostOptions& costs;   // of the problem's table
  const PlannerResult& plan;  // feasible
  Nanos step_time;            // of the plan
  bool other_plans = false;   // the plan came of a search over all planners
  int threads = 1;
};
// A way that fails, or does not fit, gains nothing. Cost: at most about fifteen evaluations of layouts, and one model of
// costs.
PermittedChanges FindPermittedChanges(const PermittedQuestion& question);

// "--batch-norm local: 119 ms a step, 21.7% less, by data-parallel-best (batch norms take ...)".
std::string DescribePermittedChange(const PermittedChange& change);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_PERMITTED_CHANGES_H_
