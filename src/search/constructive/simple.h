// The planners without a model of time: one device, chance, and dealing in turn.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_SIMPLE_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_SIMPLE_H_

#include "search/constructive/placer.h"

namespace placewright {

// Everything on one device: attempt k takes the k-th device in order of total work (smallest first,
// then smallest id; equals of an earlier device are passed over; attempts beyond the last repeat
// it). A group that may not run there goes to its fastest other device.
GroupPlacement PlaceSingle(const PlacerInput& input);

// Every group on one of its preferred devices, drawn uniformly from the seed.
GroupPlacement PlaceRandom(const PlacerInput& input);

// Groups in topological order, dealt to the accelerators in turn; a group that may not run on the
// device whose turn it is takes the next it may use, and the turn goes on from there.
GroupPlacement PlaceRoundRobin(const PlacerInput& input);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_SIMPLE_H_
