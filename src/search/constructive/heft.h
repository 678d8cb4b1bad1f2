// HEFT: heterogeneous earliest finish time (Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002).
//
//   rank_u(i) = w_i + max over successors j of (c_ij + rank_u(j))
//     w_i: mean time of op i over its devices; c_ij: mean transfer time of what j reads from i
//   in descending rank_u: place i on the device of minimum EFT(i, d) = EST(i, d) + w_i,d, where EST
//   is the first idle slot of the device, after all inputs have arrived, that is long enough
//
// Complexity: O(n m g) with g idle slots looked at (at most kSlots per op and device).
//
// Deviations: colocation groups stay together (the first placed op decides); memory: a device
// without room (ListState) is passed over, and where none has room the one with the most room is
// taken; slow devices are left to ops that need them; if the simulated plan overflows, the
// construction is repeated with a larger share of memory kept free; at most kSlots idle slots are
// tried.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_HEFT_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_HEFT_H_

#include "search/constructive/placer.h"

namespace placewright {

GroupPlacement PlaceHeft(const PlacerInput& input);

// rank_u of every op.
IdVector<ExecOpId, int64_t> UpwardRanks(const Problem& problem, const OpGraph& graph,
                                        const CandidateDevices& candidates);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_HEFT_H_
