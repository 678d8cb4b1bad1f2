#include "plan/plan.h"

namespace placewright {

std::vector<std::string> DevicesInUse(const Placement& placement, const Graph& graph,
                                      const Cluster& cluster) {
  IdVector<DeviceId, char> used(cluster.device_count());
  for (OpId op : graph.ops()) {
    if (!graph.op(op).is_view) used[placement[op]] = 1;
  }
  std::vector<std::string> names;
  for (DeviceId device : cluster.devices()) {
    if (used[device] != 0) names.push_back(cluster.device(device).name);
  }
  return names;
}

double Plan::Gap() const {
  if (step_time.count <= 0 || !lower_bound) return 0;
  return static_cast<double>((step_time - *lower_bound).count) /
         static_cast<double>(step_time.count);
}

double Plan::SamplesPerSecond() const {
  if (step_time.count <= 0) return 0;
  const int64_t of_step = distribution ? distribution->samples : samples;
  return static_cast<double>(of_step) * 1e9 / static_cast<double>(step_time.count);
}

}  // namespace placewright
