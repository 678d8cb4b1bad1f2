#include "sim/step_in_lanes.h"

#include <array>

namespace placewright {

void SetCommunicators(const StepLanes& lanes, SimGraph& sim_graph) {
  sim_graph.communicator = lanes.communicator;
  sim_graph.of_many.raw().clear();
  for (const int32_t over : lanes.communicator) {
    sim_graph.of_many.push_back(lanes.sets[static_cast<size_t>(over)].front().size() > 2 ? 1 : 0);
  }
}

void ExpandLanes(const StepLanes& lanes, SimResult& result) {
  result.feasible = !result.abandoned && !result.stuck.valid();
  for (const DeviceId device : IdRange<DeviceId>(lanes.first.size())) {
    result.devices[device.index()] = result.devices[lanes.first[device].index()];
    result.feasible = result.feasible && result.devices[device.index()].over.count == 0;
  }
  if (result.links.empty()) return;
  const std::vector<LinkResult> used = result.links;
  for (const LinkId link : IdRange<LinkId>(lanes.held.size())) {
    const LinkResult& held = used[lanes.held[link].index()];
    LinkResult& whole = result.links[link.index()] = used[lanes.taken[link].index()];
    whole.busy = whole.busy - whole.collecting + held.collecting;
    whole.collecting = held.collecting;
    whole.collectives = held.collectives;
  }
}

CostShares SharesOf(const CostTable& costs, const Placement& placement, const StepLanes* lanes) {
  if (lanes == nullptr) return SharesOf(costs, placement);
  std::array<double, 3> times{}, counts{};
  for (const OpId op : IdRange<OpId>(placement.size())) {
    const DeviceId device = placement[op];
    if (!device.valid() || !costs.Supports(op, device)) continue;
    const auto source = static_cast<size_t>(costs.source(op, device));
    const auto devices = static_cast<double>(DevicesLike(lanes, device));
    times[source] += devices * static_cast<double>(costs.time(op, device).count);
    counts[source] += devices;
  }
  const auto total = [](const std::array<double, 3>& of) { return of[0] + of[1] + of[2]; };
  const std::array<double, 3>& sums = total(times) > 0 ? times : counts;
  if (total(sums) == 0) return {};
  const auto share = [&](CostSource source) {
    return sums[static_cast<size_t>(source)] / total(sums);
  };
  return {share(CostSource::kGiven), share(CostSource::kMeasured), share(CostSource::kModelled)};
}

}  // namespace placewright
