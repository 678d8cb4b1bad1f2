// Where a placement does not fit: whether its devices would need less memory if they ran their ops in another
// order.
#ifndef PLACEWRIGHT_SIM_ORDER_ADVICE_H_
#define PLACEWRIGHT_SIM_ORDER_ADVICE_H_

#include <optional>
#include <string>

#include "base/units.h"
#include "cluster/cluster.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

struct CheaperOrder {
  SchedulingPolicy policy;
  bool fits = false;
  DeviceId device;  // that lacks most, or is fullest
  Bytes peak;       // there
};

// The order among the others with which the placement exceeds capacities by the smallest amount; none where it is not less than
// with `policy`. Simulates the step once for each.
std::optional<CheaperOrder> FindCheaperOrder(const SimGraph& sim_graph, const Placement& placement,
                                             SchedulingPolicy policy);

// "--order critical-path: this plan then needs 2 GiB on d0, and fits"
std::string Describe(const CheaperOrder& advice, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ORDER_ADVICE_H_
