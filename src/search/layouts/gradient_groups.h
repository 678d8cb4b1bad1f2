// What stands between gradients and the update: ops that unscale and clip gradients, and that add up their squares. Engines
// run these on the shards that a device updates, so that no gradient is gathered for them.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_GRADIENT_GROUPS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_GRADIENT_GROUPS_H_

#include "base/ids.h"
#include "graph/graph.h"

namespace placewright {

// Of each colocation group of such ops that of the parameter whose gradient they are of; of all others none. Groups
// of the update phase alone, of ops that are of a gradient's shape or make a number of it. O(ops + edges).
IdVector<GroupId, GroupId> GroupsOfGradients(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_GRADIENT_GROUPS_H_
