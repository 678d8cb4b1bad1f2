// m-TOPO: topological fill under a balanced memory cap (Baechi, Jeon et al., SoCC 2020, sec. 3).
//
//   cap = sum_i d_i / m + max_i d_i     d_i: memory of op i, m devices
//   fill the devices one after another in topological order, each up to min(cap, its capacity)
//
// Complexity: O(n log n). As in Baechi only forward ops are dealt; the rest is co-placed with them
// and counts in their d_i (persistent bytes, and bytes alive at the peak of a one-device run).
//
// Deviations: groups (colocation groups) in place of ops; slow devices are left out; the last
// device takes what is left over; if the simulated plan overflows, it is repeated with a smaller
// share of every capacity.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_TOPO_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_TOPO_H_

#include "search/constructive/placer.h"

namespace placewright {

GroupPlacement PlaceMTopo(const PlacerInput& input);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_M_TOPO_H_
