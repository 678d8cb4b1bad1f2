#include "sim/order_advice.h"

#include <fmt/format.h>

#include "base/text.h"
#include "sim/engine/program_order.h"
#include "sim/simulator.h"

namespace placewright {

std::optional<CheaperOrder> FindCheaperOrder(const SimGraph& sim_graph, const Placement& placement,
                                             SchedulingPolicy policy) {
  Simulator simulator(sim_graph);
  Bytes min_over = simulator.Run(placement, {.policy = policy}).TotalOver();
  std::optional<CheaperOrder> best;
  for (const SchedulingPolicy other : kSchedulingPolicies) {
    if (other == policy) continue;
    if (other == SchedulingPolicy::kProgram && FirstOutOfProgram(sim_graph).valid()) continue;
    const SimResult& result = simulator.Run(placement, {.policy = other});
    if (result.TotalOver() >= min_over) continue;
    min_over = result.TotalOver();
    best = CheaperOrder{other, result.feasible, DeviceId(0), Bytes()};
    Bytes over;
    for (const DeviceId id : sim_graph.device_ids()) {
      const DeviceResult& device = result.devices[id.index()];
      const bool worse = device.over > over || (device.over == over && device.peak > best->peak);
      if (!worse) continue;
      over = device.over;
      best->device = id;
      best->peak = device.peak;
    }
  }
  return best;
}

std::string Describe(const CheaperOrder& advice, const Cluster& cluster) {
  return fmt::format("--order {}: this plan then needs {} on {}{}", ToString(advice.policy),
                     FormatBytes(advice.peak), cluster.device(advice.device).name,
                     advice.fits ? ", and fits" : "");
}

}  // namespace placewright
