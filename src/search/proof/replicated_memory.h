// What memory alone rules out where ops may be split or copied.
#ifndef PLACEWRIGHT_SEARCH_PROOF_REPLICATED_MEMORY_H_
#define PLACEWRIGHT_SEARCH_PROOF_REPLICATED_MEMORY_H_

#include "base/result.h"
#include "search/problem/problem.h"

namespace placewright {

// kInfeasible if it is proven that no plan that may split or copy ops fits in memory; Ok means only that nothing
// is proven. The message says what is needed, what there is, and how much more is needed at least.
//
// * Parameters, state, buffers and constants lie on some device, each once at least, whole or in parts: all of
//   them fit on all devices together, and those of groups that --pin and --forbid confine on these groups'.
// * An op that no axis splits is on some device whole, with all that it reads and makes, and its workspace; what
//   it reads of the step's inputs is left out.
//
// Precondition: `problem.layouts` is set. O(groups^2 * devices + edges).
Status CheckNotProvenInfeasibleInParts(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_REPLICATED_MEMORY_H_
