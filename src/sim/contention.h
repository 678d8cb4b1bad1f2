// What devices of one machine cost one another: they share its memory's bandwidth, so that an op takes
// longer while others compute. Costs that were measured alone and with the others at work are mixed by
// how much of a device's work truly meets others'.
#ifndef PLACEWRIGHT_SIM_CONTENTION_H_
#define PLACEWRIGHT_SIM_CONTENTION_H_

#include <vector>

#include "cost/cost_table.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/schedule.h"

namespace placewright {

// By device: the share of its time in ops during which some other device is in an op, too; 0 where it
// has no ops.
std::vector<double> OverlapOf(const Graph& graph, const Placement& placement,
                              const Schedule& schedule, size_t devices);

// On device d: alone + overlap[d] (loaded - alone), rounded up. Pairs that either table does not
// support are not supported. Sources and workspaces are those of `loaded`.
CostTable MixCosts(const CostTable& alone, const CostTable& loaded,
                   const std::vector<double>& overlap);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_CONTENTION_H_
