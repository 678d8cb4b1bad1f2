// How layouts share out samples over devices, and parameters over servers.
#ifndef PLACEWRIGHT_PLAN_SHARING_OUT_H_
#define PLACEWRIGHT_PLAN_SHARING_OUT_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace placewright {

// `total` in as many intervals as there are weights, in proportion to them: every weight above 0 gets 1 at
// first, the rest goes by largest remainder, ties to the first. `total` >= the number of weights above 0.
std::vector<int64_t> SharesInProportion(int64_t total, const std::vector<double>& weights);

// The groups that hold parameters, in the order of these: parameter servers have them in turn.
std::vector<GroupId> ParameterGroups(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_SHARING_OUT_H_
