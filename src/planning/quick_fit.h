// Whether some plan of a problem fits, found out in less time than a search takes: for questions in which the
// plan's speed does not matter.
#ifndef PLACEWRIGHT_PLANNING_QUICK_FIT_H_
#define PLACEWRIGHT_PLANNING_QUICK_FIT_H_

#include <cstdint>
#include <string>

#include "base/result.h"
#include "search/planner.h"
#include "search/problem/problem.h"

namespace placewright {

struct QuickFit {
  bool fits = false;
  bool proven = false;  // that none does; never of a problem with layouts
  std::string reason;   // what proves it
  PlannerResult plan;   // where it fits
};

// The problem with groups that may run on a GPU confined to GPUs: what fits in the memory of the CPUs alone is
// no answer to what fits on a machine with GPUs. Without GPUs the problem as it is.
Problem OnGpusAlone(Problem problem);

// In this order, until one fits: the proof that nothing does; where the problem has layouts, data parallelism
// (with parameter servers last, which need less memory); the constructive planners of the table but those that
// take seconds; kFitSlices slices of local search, which knows how to make a placement fit; where the problem has
// layouts, a search over them: its starts and kFitMoves moves. `asked`, where it is no search, is tried alone: it makes
// one plan. nullptr: a search. What fits does so with all that is taken beside tensors (all_peaks.h). Errors: those of BuildProblem's checks of routes and of `asked`; kCancelled.
inline constexpr int kFitSlices = 12;
inline constexpr int64_t kFitMoves = 200;
Result<QuickFit> FindFit(const Problem& problem, const Planner* asked,
                         const PlannerOptions& options);

// The fastest of the plans by which FindFit looks, those of data parallelism and of the constructive planners; what
// comes behind these there is tried where none of them fits. With `asked` as there. For questions that compare
// steps with one another, and so want the same effort for each.
Result<QuickFit> FindFastest(const Problem& problem, const Planner* asked,
                             const PlannerOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_QUICK_FIT_H_
