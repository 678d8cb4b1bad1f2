// m-ETF: memory-constrained earliest task first (Baechi, Jeon et al., SoCC 2020, sec. 3; ETF is
// Hwang, Chow, Anger and Lee, SIAM J. Computing 1989).
//
//   repeat: of all pairs (ready op i, device d) with memory for i on d, take the one of minimum
//     EST(i, d) = max(available(d), max over inputs j of end(j) + transfer(j, d))
//
// Complexity: O(n m log n) for n ops and m devices: each device keeps its pairs in two heaps, those
// whose inputs have arrived (by op) and those whose have not (by arrival).
//
// As in Baechi (sec. 4), only forward ops are scheduled; parameters, backward and optimizer ops are
// co-placed with them (GroupInfo::leader), and memory is the sum of what groups keep: persistent
// bytes, and bytes alive at the peak of a one-device run.
//
// Deviations: a pair that lacks memory is dropped, and an op that has lost all its devices goes
// where the largest amount is free; ties go to the op of smallest id, then to the device on which
// it ends first, then to the device of smallest id; slow devices (CPUs beside GPUs) are left to ops
// that need them, because EST prefers an idle slow device; if the simulated plan overflows, the
// construction is repeated with a larger share of memory kept free.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_ETF_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_ETF_H_

#include "search/constructive/placer.h"

namespace placewright {

GroupPlacement PlaceMEtf(const PlacerInput& input);

// What m-sct adds: when the last op of group u has been placed on a device, that device waits for
// u's favourite child until wait[u] later, and only the child and urgent ops (whose inputs have
// arrived on every device they may take) start there meanwhile. Empty: plain m-etf.
struct Favourites {
  IdVector<ColocationGroupId, ColocationGroupId> child;  // or none
  IdVector<ColocationGroupId, int64_t> wait;             // ns
};
GroupPlacement PlaceEarliestTaskFirst(const PlacerInput& input, const Favourites& favourites);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_ETF_H_
