// layered: contiguous runs of modules, one run per accelerator, as people split models by hand.
//
//   layers = modules, in order of the time-weighted mean position of their forward ops;
//   cut the list into m consecutive runs that minimise max over runs of the run's time on its
//   device, each run's bytes within that device's capacity
//
// A layer's time is that of all its ops, backward and optimizer included (they follow their
// module); its bytes are persistent bytes and those alive at the peak of a one-device run.
// Complexity: O(60 m l) for l layers, by bisection over the largest time with greedy filling.
//
// Our own definition (Mars and EAGLE call such placements "human expert" without a rule). A graph
// with fewer than two modules a device is cut between leader groups instead. If no cut respects the
// capacities, the cut with the smallest overflow in proportion is taken; if the simulated plan
// overflows, the cut is repeated with a smaller share of every capacity.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_LAYERED_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_LAYERED_H_

#include "search/constructive/placer.h"

namespace placewright {

GroupPlacement PlaceLayered(const PlacerInput& input);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_LAYERED_H_
