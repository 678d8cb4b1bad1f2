#include "report/strategy/strategy_averages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/table.h"

namespace placewright {

StrategyAverages AverageStrategy(const Graph& original, const StepStrategy& strategy,
                                 const Cluster& cluster) {
  std::map<std::string, double> instances;
  int64_t ops = 0;
  for (const OpId op : original.ops()) {
    const bool of_model = original.op(op).phase != Phase::kOptimizer;
    if (!of_model || strategy.times[op] <= Nanos(0)) continue;
    ++ops;
    for (const DeviceId device : strategy.ops[op].devices) ++instances[cluster.kind(device).name];
  }
  StrategyAverages averages;
  for (const DeviceId device : cluster.devices()) {
    const auto count = instances.find(cluster.kind(device).name);
    if (count == instances.end()) continue;
    averages.devices.emplace_back(count->first, count->second / static_cast<double>(ops));
    instances.erase(count);
  }
  std::map<SyncKind, double> gradients;
  double parameters = 0;
  for (const ParameterStrategy& parameter : strategy.parameters) {
    if (parameter.devices.empty()) continue;
    ++gradients[parameter.sync];
    ++parameters;
  }
  for (const auto& [kind, count] : gradients)
    averages.gradients.emplace_back(kind, count / parameters);
  std::stable_sort(averages.gradients.begin(), averages.gradients.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return averages;
}

std::string DescribeAverages(const StrategyAverages& averages) {
  std::string text;
  for (const auto& [kind, count] : averages.devices) {
    text += fmt::format("{}{} {}", text.empty() ? "on average an op runs on " : ", ",
                        count < 0.05 ? "<0.1" : fmt::format("{:.1f}", count), Printable(kind, 80));
  }
  std::string gradients;
  for (const auto& [kind, share] : averages.gradients) {
    gradients += fmt::format("{}{} {}", gradients.empty() ? "gradients: " : ", ", ToString(kind),
                             FormatShare(share));
  }
  if (!text.empty() && !gradients.empty()) text += "; ";
  return text + gradients;
}

}  // namespace placewright
