#include "search/tag/strategy_feedback.h"

#include <algorithm>

namespace placewright {
namespace {

// Of the narrowest link of a route, the first of equals; none: 0.
double NarrowestBusy(const Cluster& cluster, const Feedback& feedback, DeviceId from, DeviceId to) {
  const std::vector<LinkId>& links = cluster.route(from, to).links;
  if (links.empty()) return 0;
  const LinkId narrowest = *std::min_element(links.begin(), links.end(), [&](LinkId a, LinkId b) {
    return cluster.link(a).bandwidth < cluster.link(b).bandwidth;
  });
  return static_cast<double>(feedback.links[narrowest.index()].busy.count);
}

}  // namespace

StrategyFeedback FeedbackOf(const LayoutProblem& problem, const Strategies& strategies,
                            const Evaluation& evaluation) {
  const Feedback& feedback = *evaluation.feedback;
  const Cluster& cluster = problem.cluster;
  StrategyFeedback by;
  by.step = std::max(1.0, static_cast<double>(evaluation.step_time.count));
  by.units.resize(strategies.units().size());
  std::vector<bool> seen(by.units.size(), false);
  for (const Feedback::Instance& instance : feedback.instances) {
    if (!instance.origin.valid()) continue;
    const int32_t number = strategies.unit_of()[problem.graph.group(instance.origin)];
    if (number < 0) continue;
    const auto unit = static_cast<size_t>(number);
    StrategyFeedback::Unit& times = by.units[unit];
    times.first_start =
        seen[unit] ? std::min(times.first_start, instance.start.count) : instance.start.count;
    times.last_end = std::max(times.last_end, instance.end.count);
    seen[unit] = true;
  }
  const std::vector<std::vector<DeviceId>>& groups = strategies.device_groups();
  for (const std::vector<DeviceId>& group : groups) {
    double busy = 0, peak = 0;
    for (const DeviceId device : group) {
      busy += static_cast<double>(feedback.devices[device.index()].busy.count);
      const auto capacity = static_cast<double>(cluster.device(device).capacity.count);
      peak = std::max(peak, static_cast<double>(evaluation.devices[device.index()].peak.count) /
                                std::max(1.0, capacity));
    }
    by.busy.push_back(busy / static_cast<double>(group.size()) / by.step);
    by.peak.push_back(peak);
  }
  for (const std::vector<DeviceId>& from : groups) {
    for (const std::vector<DeviceId>& to : groups) {
      const bool within = &from == &to;
      const DeviceId other = within ? (from.size() > 1 ? from[1] : from[0]) : to.front();
      by.links_busy.push_back(
          from.front() == other ? 0
                                : NarrowestBusy(cluster, feedback, from.front(), other) / by.step);
    }
  }
  return by;
}

}  // namespace placewright
