#include "learn/units/plan_features.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace placewright {
namespace {

struct PlanCosts {
  double busiest = 0, path = 0, moved = 0, busiest_mover = 0, fullest = 0, windows = 0;
};

double TimeOn(const SimGraph& sim_graph, ExecOpId op, DeviceId device) {
  const int64_t there = sim_graph.Time(op, device);
  return static_cast<double>(std::max<int64_t>(0, there < 0 ? sim_graph.min_time[op] : there));
}

double SumOfWindows(const SimGraph& sim_graph, const OpGraph& graph, const GroupPlacement& plan,
                    const IdVector<ExecOpId, double>& end, double path) {
  if (path == 0) return 0;
  IdVector<DeviceId, std::array<double, kWindows>> busy(static_cast<size_t>(graph.devices));
  for (auto& of_device : busy) of_device.fill(0);
  for (const ExecOpId op : graph.order) {
    const DeviceId device = plan[graph.group_of[op]];
    const double time = TimeOn(sim_graph, op, device), middle = end[op] - time / 2;
    const auto window = static_cast<size_t>(middle / path * static_cast<double>(kWindows));
    busy[device][std::min(window, static_cast<size_t>(kWindows - 1))] += time;
  }
  double sum = 0;
  for (size_t window = 0; window < kWindows; ++window) {
    double lasts = path / static_cast<double>(kWindows);
    for (const auto& of_device : busy) lasts = std::max(lasts, of_device[window]);
    sum += lasts;
  }
  return sum;
}

PlanCosts CostsOf(const Problem& problem, const OpGraph& graph, const CandidateDevices& candidates,
                  const GroupInfos& groups, const GroupPlacement& plan) {
  const SimGraph& sim_graph = problem.sim_graph;
  const auto devices = static_cast<size_t>(graph.devices);
  PlanCosts costs;
  IdVector<DeviceId, double> busy(devices, 0), sent(devices, 0), received(devices, 0),
      bytes(devices, 0);
  IdVector<ExecOpId, double> end(graph.group_of.size(), 0);
  // By slice and device: when it has come, or that it has not been asked for.
  constexpr double kNotAsked = -1;
  std::vector<double> arrival(static_cast<size_t>(sim_graph.slices) * devices, kNotAsked);
  for (const ExecOpId op : graph.order) {
    const DeviceId device = plan[graph.group_of[op]];
    double ready = 0;
    for (const ExecOpId first : graph.Before(op)) ready = std::max(ready, end[first]);
    for (const OpInput& input : graph.Inputs(op)) {
      const ColocationGroupId group = graph.SourceOf(input);
      const DeviceId from = group.valid() ? plan[group] : input.home_device;
      const double made = input.producer.valid() ? end[input.producer] : 0;
      if (!from.valid() || from == device || !problem.cluster->Connected(from, device)) {
        ready = std::max(ready, made);
        continue;
      }
      double& at = arrival[input.crossing.index() * devices + device.index()];
      if (at == kNotAsked) {
        const auto time = static_cast<double>(
            problem.cluster->TransferDuration(from, device, Bytes(input.length)).count);
        at = made + time;
        costs.moved += time;
        sent[from] += time;
        received[device] += time;
      }
      ready = std::max(ready, at);
    }
    const double time = TimeOn(sim_graph, op, device);
    busy[device] += time;
    end[op] = ready + time;
    costs.path = std::max(costs.path, end[op]);
  }
  costs.windows = SumOfWindows(sim_graph, graph, plan, end, costs.path);
  for (const ColocationGroupId group : problem.group_ids()) {
    bytes[plan[group]] += static_cast<double>(groups[group].persistent) +
                          static_cast<double>(groups[group].live_at_peak);
  }
  for (const DeviceId device : graph.device_ids()) {
    costs.busiest = std::max(costs.busiest, busy[device]);
    costs.busiest_mover = std::max({costs.busiest_mover, sent[device], received[device]});
    const auto capacity = static_cast<double>(std::max<int64_t>(1, candidates.capacity[device]));
    costs.fullest = std::max(costs.fullest, bytes[device] / capacity);
  }
  return costs;
}

}  // namespace

at::Tensor PlanFeatures(const Problem& problem, const OpGraph& graph,
                        const CandidateDevices& candidates, const GroupInfos& groups,
                        const FollowablePlans& plans) {
  double work = 0;
  for (const GroupInfo& group : groups) work += static_cast<double>(group.time);
  work = std::max(work, 1.0);
  // Of graphs without work, or whose plans do not run, something finite.
  const auto beside = [&](double time) { return std::log(std::max(time / work, 1e-6)); };
  const at::Tensor features =
      at::zeros({kConstructivePlans, kPlanFeatures}, at::TensorOptions().dtype(at::kFloat));
  auto* row = features.data_ptr<float>();
  for (const GroupPlacement& plan : plans) {
    const PlanCosts costs = CostsOf(problem, graph, candidates, groups, plan);
    const std::array<double, kPlanFeatures> of_plan = {
        beside(costs.busiest),          beside(costs.path),
        std::log1p(costs.moved / work), std::log1p(costs.busiest_mover / work),
        beside(costs.windows),          std::log(std::max(1.0, costs.fullest))};
    for (const double value : of_plan) *row++ = static_cast<float>(value);
  }
  return features;
}

}  // namespace placewright
