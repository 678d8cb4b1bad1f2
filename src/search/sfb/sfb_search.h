// Sufficient factor broadcasting (Zhang et al., sec. 4.2.3; Xie et al., UAI 2016) of a step that devices
// replicate: gradients are not synchronised but computed by every device, from factors that are gathered. What is
// computed so becomes `duplicate` in the layouts; the compiler inserts the rest.
//
//   embeddings  those of embeddings alone, from the rows that the batch asked for (embedding_rows.h)
//   paper  the cut of TAG's program for every gradient by itself (group_programs.h), all of them applied,
//          whatever becomes of the step
//   cut    one cut for all gradients of a device set (shared_cut.h), taken only where the simulated step falls.
//          Links and devices work at the same time, so that the sum of both misleads: cuts are tried at the
//          prices 1, 2, 4 and 8 of computing, and the paper's set, each as a whole; then of the best of them
//          the half, the quarter, ... of the pieces with the greatest gain, then numbers between the best and
//          its neighbours, at most kSfbTries of them
//
// With parameter servers a gradient that every device computes updates the parameter there: it is
// duplicated, too.
#ifndef PLACEWRIGHT_SEARCH_SFB_SFB_SEARCH_H_
#define PLACEWRIGHT_SEARCH_SFB_SFB_SEARCH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/sfb_mode.h"
#include "plan/step_plan.h"
#include "search/evaluator.h"
#include "search/problem/layout_problem.h"

namespace placewright {

inline constexpr int kSfbTries = 14;

struct SfbResult {
  StepPlan plan;  // as given, where nothing is gained
  Evaluation before, after;
  int64_t gradients = 0;     // of so many that are synchronised
  int64_t from_factors = 0;  // so many gradients every device makes of what it gathers
  // Ops that were computed in parts and are duplicated, or where they are of embeddings in the layout of their table, with
  // their views; of LayoutProblem::graph.
  std::vector<OpId> duplicated;
  int64_t pieces = 0;          // of the cut
  int tries = 0;               // candidates evaluated
  bool of_embeddings = false;  // alone

  // "87 of 391 gradients are made of gathered factors (213 ops duplicated): 45.1 ms instead of 52.0 ms"
  std::string Note() const;
};

// `evaluator`: of the problem with these layouts. Errors: those of CompileStep.
Result<SfbResult> ApplySfb(const LayoutProblem& problem, Evaluator& evaluator, const StepPlan& plan,
                           SfbMode mode);

// What `cut` begins with, as it is: the plan with the cut at each of its prices, and with the paper's set, those that
// duplicate something. `instances`: of the plan's step.
Result<std::vector<StepPlan>> SfbCandidates(const LayoutProblem& problem, const StepPlan& plan,
                                            std::span<const Feedback::Instance> instances);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_SFB_SFB_SEARCH_H_
