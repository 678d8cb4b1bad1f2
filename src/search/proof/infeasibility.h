// What memory alone rules out.
#ifndef PLACEWRIGHT_SEARCH_PROOF_INFEASIBILITY_H_
#define PLACEWRIGHT_SEARCH_PROOF_INFEASIBILITY_H_

#include "base/result.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"
#include "search/proof/plan_source.h"

namespace placewright {

// kInfeasible if it is proven that no placed plan fits in memory; Ok means only that nothing is
// proven. The message says what is needed, what there is, the largest indivisible group, how much
// more is needed at least (proven), and the smallest change found that is enough (evaluated), for
// which it tries the placements of `plans`. Where every group has one device, evaluating the only
// placement decides; where there are few placements, evaluating all of them (enumeration.h).
Status CheckNotProvenInfeasible(const Problem& problem, Evaluator& evaluator,
                                const PlanSource& plans);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_INFEASIBILITY_H_
