#include "plan/step_plan.h"

#include <algorithm>
#include <set>

namespace placewright {

bool StepPlan::IsPlaced() const {
  return std::all_of(layouts.of_group.begin(), layouts.of_group.end(),
                     [&](LayoutId id) { return layouts.layouts[id.index()].shares.size() == 1; });
}

bool operator==(const StepPlan& a, const StepPlan& b) {
  if (!(a.switches == b.switches) || a.transforms != b.transforms) return false;
  if (a.layouts.of_group.size() != b.layouts.of_group.size()) return false;
  for (const GroupId group : IdRange<GroupId>(a.layouts.of_group.size())) {
    if (!(a.layouts.Of(group) == b.layouts.Of(group))) return false;
  }
  return true;
}

std::vector<DeviceId> DevicesOf(const StepPlan& plan) {
  const IdVector<GroupId, LayoutId>& of_group = plan.layouts.of_group;
  std::set<DeviceId> devices;
  for (const LayoutId id : std::set<LayoutId>(of_group.begin(), of_group.end())) {
    for (const Share& share : plan.layouts.layouts[id.index()].shares) devices.insert(share.device);
  }
  return {devices.begin(), devices.end()};
}

StepPlan PlanOf(const Graph& graph, const Placement& placement) {
  StepPlan plan;
  plan.layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count());
  std::vector<LayoutId> of_device;
  for (const OpId op : graph.ops()) {
    const DeviceId device = placement[op];
    if (device.index() >= of_device.size()) of_device.resize(device.index() + 1);
    LayoutId& id = of_device[device.index()];
    if (!id.valid()) {
      id = LayoutId(plan.layouts.layouts.size());
      plan.layouts.layouts.push_back(PlacedOn(device));
    }
    plan.layouts.of_group[graph.group(op)] = id;
  }
  return plan;
}

std::optional<Placement> PlacementIfPlaced(const Graph& graph, const StepPlan& plan) {
  return plan.IsPlaced() ? std::optional(PlacementOf(graph, plan)) : std::nullopt;
}

Placement PlacementOf(const Graph& graph, const StepPlan& plan) {
  Placement placement;
  placement.reserve(graph.op_count());
  for (const OpId op : graph.ops()) {
    placement.push_back(plan.layouts.Of(graph.group(op)).shares.front().device);
  }
  return placement;
}

}  // namespace placewright
