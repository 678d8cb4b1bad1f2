// Where proofs get plans from, to measure by them what is missing: the caller of a proof says.
#ifndef PLACEWRIGHT_SEARCH_PROOF_PLAN_SOURCE_H_
#define PLACEWRIGHT_SEARCH_PROOF_PLAN_SOURCE_H_

#include <functional>
#include <string_view>

#include "plan/placement.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"

namespace placewright {

// One plan: the planner that made it, its placement, and whether it fits. True: no more are wanted.
using PlanVisitor =
    std::function<bool(std::string_view planner, const Placement& placement, bool feasible)>;

// Makes plans of a problem (which may be a variant of the one in question: more memory, say) one
// after the other and shows them to the visitor. Deterministic. None: there are none to try.
using PlanSource =
    std::function<void(const Problem& problem, Evaluator& evaluator, const PlanVisitor& visit)>;

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_PLAN_SOURCE_H_
