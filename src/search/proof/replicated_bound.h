// A lower bound on the step time of every plan that may place, split or copy ops.
//
// Of all layouts on all sets of devices, by every named axis, in any shares, and of whatever the compiler makes
// of them: collectives, transfers and the ops that put pieces together count nothing.
// docs/algorithms/bound-replicated.md has the argument in full.
//
// Work.  With the floors of floors/part_floors.h as times of whole colocation groups, as in the placed space: a
// group's ops are on each of its devices, or parts of them that add up to the whole.
//
// Critical path.  head(o) = the earliest time at which any instance of o can end: behind some instance of every
// op that makes what o reads, each as fast as its smallest part on its fastest device. Not over results that
// are written in place and may be sums of parts: of these a device may have nothing but zeros. To the start of
// one op is added what its largest part takes at least, where it is shared out as well as can be:
// 1 / sum_d (1 / floor(o, d)); not of ops of which a part may be several.
#ifndef PLACEWRIGHT_SEARCH_PROOF_REPLICATED_BOUND_H_
#define PLACEWRIGHT_SEARCH_PROOF_REPLICATED_BOUND_H_

#include <optional>

#include "search/proof/bound.h"

namespace placewright {

// Of the space `replicated`; with --pin, --forbid and --colocate, of the plans that keep to them. None where ops
// may not be split (`problem.layouts` is not set).
// Complexity: O(ops * devices), and that of WorkBound.
std::optional<Bound> ReplicatedLowerBound(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_REPLICATED_BOUND_H_
