// What the routes of a cluster alone rule out.
#ifndef PLACEWRIGHT_SEARCH_PROOF_ROUTES_H_
#define PLACEWRIGHT_SEARCH_PROOF_ROUTES_H_

#include "base/result.h"
#include "search/problem/problem.h"

namespace placewright {

// Proven infeasible by routes alone (kInfeasible), else Ok, which is no proof of the contrary. The
// message names the two ops, or the op and the given home, between which no allowed pair of devices
// has a route.
//
// Arc consistency (Mackworth 1977, AC-3): a device is dropped from a group's devices where it
// reaches none, or is reached by none, of those left to a group that it exchanges data with. A
// group without devices is the proof. O(edges * devices^2) at most.
Status CheckNotProvenDisconnected(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_ROUTES_H_
