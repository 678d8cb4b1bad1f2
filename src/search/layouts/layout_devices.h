// What planners of layouts share: when they may plan, and which devices they take.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_DEVICES_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_DEVICES_H_

#include <string>
#include <string_view>
#include <vector>

#include "search/agent_settings.h"
#include "search/problem/layout_problem.h"
#include "search/problem/problem.h"

namespace placewright {

// What the step takes on every device, as far as it follows from its ops alone.
struct DeviceTimes {
  IdVector<DeviceId, double> split, whole;  // ns of ops that the batch splits, and of the others
  IdVector<DeviceId, double> whole_forward_backward;
  IdVector<DeviceId, bool> usable;  // supports every op

  double Total(DeviceId device) const { return split[device] + whole[device]; }
};
DeviceTimes TimesOf(const LayoutProblem& problem);

// What is in the way on each kind of GPU, where none runs every op of the step ("T4 does not run aten.mul.Tensor in bf16 (op
// ...)"); "" where one does, or there is none.
std::string WhyNoGpuServes(const Graph& graph, const Cluster& cluster, const CostTable& costs);

// `where`: what the planner does that leaves no room for constraints, as in "expert-hybrid chooses ...".
// Errors: kUsage (the problem has no layouts; constraints).
Status CheckMaySplit(const Problem& problem, std::string_view planner, std::string_view where);

// Where an error is that these machines are the reason of.
std::string ClusterPlace(const Cluster& cluster);

// GPUs that support every op, or all such devices where there are no GPUs; ascending. `of`: kEveryGpu, or names of kinds
// and of hosts with "+" between them: those of these alone. Errors: kInfeasible, kUsage (a name without such devices).
inline constexpr std::string_view kEveryGpu = "all";
Result<std::vector<DeviceId>> DevicesToSplitOver(const LayoutProblem& problem,
                                                 const DeviceTimes& times,
                                                 std::string_view of = kEveryGpu);
AgentSetting GpusSetting();  // --set gpus=A100+host2

// Of every parameter that the step updates one gradient of its size, by the group that updates it.
IdVector<GroupId, double> GradientBytes(const Graph& graph);

// What is among `devices` of each group that has some; ascending.
std::vector<std::vector<DeviceId>> UsableGroups(const std::vector<DeviceGroup>& groups,
                                                const std::vector<DeviceId>& devices);

// The fastest first; of equals the first.
void SortFastestFirst(const DeviceTimes& times, std::vector<DeviceId>& devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_DEVICES_H_
