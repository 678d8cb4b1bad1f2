// Every placement of a small problem, each simulated: the optimum, or the proof that nothing fits.
#ifndef PLACEWRIGHT_SEARCH_PROOF_ENUMERATION_H_
#define PLACEWRIGHT_SEARCH_PROOF_ENUMERATION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "search/evaluation/group_placement.h"
#include "search/problem/problem.h"
#include "search/proof/bound.h"
#include "search/proof/plan_source.h"

namespace placewright {

struct Enumeration {
  // Limits: combinations of allowed devices, and of these times exec ops.
  static constexpr int64_t kMaxPlacements = 8192, kMaxWork = int64_t{1} << 18;

  int64_t placements = 0;      // all combinations of allowed devices
  Score best;                  // over those with a route for all that crosses
  GroupPlacement best_device;  // the first that is best; empty where none has one
  bool legal = false;          // some have one
};

// Nothing where the limits are exceeded. At most kMaxWork simulated ops: some tenths of a second.
std::optional<Enumeration> EnumeratePlacements(const Problem& problem, Evaluator& evaluator);

// kInfeasible where all placements can be enumerated and none of them is connected and fits, with
// the smallest change found that is enough; else Ok.
Status CheckNotProvenInfeasibleByEnumeration(const Problem& problem, Evaluator& evaluator,
                                             const PlanSource& plans);

// LowerBound, or the optimum ("enumeration") where all placements can be enumerated and one fits.
// Holds for the problem's device order only.
Bound TightestBound(const Problem& problem, Evaluator& evaluator);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_ENUMERATION_H_
