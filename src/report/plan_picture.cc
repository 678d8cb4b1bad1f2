#include <fmt/format.h>
#include <placewright/report/plan_picture.h>

#include <vector>

#include "plan/space_words.h"
#include "report/memory_curve.h"
#include "report/plan_report.h"
#include "report/table.h"
#include "report/timeline_svg.h"
#include "sim/engine/sim_graph.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

// What the plan says of its devices, as the simulation said it.
std::vector<DeviceResult> DevicesOf(const Plan& plan) {
  std::vector<DeviceResult> devices;
  for (const DeviceUse& use : plan.devices) {
    DeviceResult device;
    device.tensor_peak = use.tensor_peak;
    device.workspace = use.workspace;
    device.runtime_context = use.runtime_context;
    device.peak = use.peak_memory;
    if (use.peak_memory > use.capacity) device.over = use.peak_memory - use.capacity;
    device.ops = static_cast<int32_t>(use.ops);
    devices.push_back(device);
  }
  return devices;
}

}  // namespace

PictureTitle TitleOf(const Plan& plan) {
  std::string subtitle = fmt::format("{} a step", FormatNanos(plan.step_time));
  if (plan.lower_bound.value_or(Nanos()).count > 0) {
    subtitle += plan.feasible ? "; " + BoundVerdict(plan) : "; does not fit";
    subtitle += fmt::format(" (bound {})", FormatNanosLike(*plan.lower_bound, plan.step_time));
  }
  if (!plan.algorithm.empty()) subtitle += fmt::format("; found by {}", plan.algorithm);
  return {fmt::format("{} on {}", plan.graph_name, plan.cluster_name), std::move(subtitle)};
}

std::string DrawPlan(const Plan& plan, const Graph& step, const Cluster& cluster,
                     const CostTable& costs, const Placement& placement, const Schedule& schedule) {
  const SimGraph sim_graph = BuildSimGraph(step, cluster, costs);
  const std::vector<MemoryCurve> memory = MemoryCurves(sim_graph, placement, schedule);
  const std::vector<DeviceResult> devices = DevicesOf(plan);
  auto [title, subtitle] = TitleOf(plan);
  TimelineInput timeline{step,
                         cluster,
                         placement,
                         schedule,
                         memory,
                         devices,
                         plan.step_time,
                         plan.lower_bound.value_or(Nanos()),
                         std::move(title),
                         std::move(subtitle)};
  timeline.bound_of = WordsOf(plan.bound_space).plan;
  return RenderTimelineSvg(timeline);
}

}  // namespace placewright
