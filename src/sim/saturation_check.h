// Whether a result is one: beyond kMaxQuantity nothing is counted.
#ifndef PLACEWRIGHT_SIM_SATURATION_CHECK_H_
#define PLACEWRIGHT_SIM_SATURATION_CHECK_H_

#include "base/result.h"
#include "sim/simulator.h"

namespace placewright {

// kTooLarge where the clock or a device's memory reached kMaxQuantity, beyond which nothing is
// counted: the figures would be limits, not results. Names the longest op or transfer, or the
// device. The result has a schedule.
Status CheckNotSaturated(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                         const Placement& placement, const SimResult& result);

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_SATURATION_CHECK_H_
