// What devices of one machine cost one another: they share its memory's bandwidth, so that an op takes
// longer while others compute. Costs that were measured alone and with the others at work are mixed by
// how much of a device's work truly meets others'. And what crosses between processes is sent and received
// by cores that compute, too, which share their time between both: ops and exchanges take longer.
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

// For how long a device sends or receives something, and for how much of that it is in an op, too.
struct ExchangeTime {
  Nanos all, beside_ops;
};
// By device. It exchanges from the begin to the end of a transfer, and of a collective of which it has a member,
// where devices of two ranks take part. `rank_of` [device]. Members are no ops.
std::vector<ExchangeTime> ExchangeTimesOf(const Graph& graph, const Placement& placement,
                                          const Schedule& schedule,
                                          const IdVector<DeviceId, int32_t>& rank_of);

// All ops of device d take `more[d]` longer together, each in proportion to its time, rounded up; members of
// collectives take what they took.
CostTable LongerCosts(const CostTable& costs, const Graph& graph, const Placement& placement,
                      const std::vector<Nanos>& more);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_CONTENTION_H_
