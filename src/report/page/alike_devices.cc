#include "report/page/alike_devices.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "report/table.h"

namespace placewright {
namespace {

// What a device runs: ops by number, with their time, ascending.
using DeviceWork = std::vector<std::pair<int32_t, int64_t>>;

std::vector<DeviceWork> WorkOfDevices(const Graph& step, const Cluster& cluster,
                                      const Placement& placement, const Schedule& schedule) {
  std::vector<DeviceWork> work(cluster.device_count());
  std::unordered_map<std::string, int32_t> numbers;  // looked up alone
  for (const OpId id : step.ops()) {
    const Op& op = step.op(id);
    if (op.is_view || step.collective_of(id).valid()) continue;
    const DeviceId device = placement[id];
    const auto next = static_cast<int32_t>(numbers.size());
    const bool update = op.phase == Phase::kOptimizer;
    std::string what =
        update ? std::string(op.type) : NameWithoutDevice(op, cluster.device(device));
    const int32_t number = numbers.emplace((update ? "u" : "n") + what, next).first->second;
    work[device.index()].emplace_back(number,
                                      (schedule.ops[id].end - schedule.ops[id].start).count);
  }
  for (DeviceWork& one : work) std::sort(one.begin(), one.end());
  return work;
}

bool WithinAlike(double difference, double whole) { return difference <= kAlike * whole; }

bool SameWork(const DeviceWork& a, const DeviceWork& b) {
  double time = 0, difference = 0;
  size_t alone = 0;
  for (size_t i = 0, k = 0; i < a.size() || k < b.size();) {
    const bool of_a = k == b.size() || (i < a.size() && a[i].first <= b[k].first);
    const bool of_b = i == a.size() || (k < b.size() && b[k].first <= a[i].first);
    const int64_t x = of_a ? a[i].second : 0, y = of_b ? b[k].second : 0;
    time += static_cast<double>(std::max(x, y));
    difference += std::fabs(static_cast<double>(x - y));
    if (of_a != of_b) ++alone;
    i += of_a ? 1 : 0;
    k += of_b ? 1 : 0;
  }
  return WithinAlike(difference, time) &&
         WithinAlike(static_cast<double>(alone), static_cast<double>(std::max(a.size(), b.size())));
}

}  // namespace

std::string NameWithoutDevice(const Op& op, const Device& device) {
  std::string name = op.name;
  const size_t at = name.find("@" + device.name);
  if (at != std::string::npos) name.erase(at, 1 + device.name.size());
  return name;
}

std::string NamesOfDevices(std::span<const DeviceId> devices, const Cluster& cluster) {
  std::vector<std::string> names;
  for (const DeviceId device : devices) names.push_back(cluster.device(device).name);
  return FoldNames(names);
}

std::vector<std::vector<DeviceId>> FindAlikeDevices(const Graph& step, const Cluster& cluster,
                                                    const Placement& placement,
                                                    const Schedule& schedule,
                                                    std::span<const DeviceResult> results) {
  const std::vector<DeviceWork> work = WorkOfDevices(step, cluster, placement, schedule);
  const auto alike = [&](DeviceId a, DeviceId b) {
    const Device &x = cluster.device(a), &y = cluster.device(b);
    const double peaks =
        std::fabs(static_cast<double>((results[a.index()].peak - results[b.index()].peak).count));
    return x.kind == y.kind && x.capacity == y.capacity && x.reserve == y.reserve &&
           WithinAlike(peaks, static_cast<double>(x.capacity.count)) &&
           work[a.index()].empty() == work[b.index()].empty() &&
           SameWork(work[a.index()], work[b.index()]);
  };
  std::vector<std::vector<DeviceId>> classes;
  for (const DeviceId device : cluster.devices()) {
    const auto of = std::find_if(classes.begin(), classes.end(),
                                 [&](const auto& one) { return alike(one.front(), device); });
    if (of == classes.end()) {
      classes.push_back({device});
    } else {
      of->push_back(device);
    }
  }
  return classes;
}

}  // namespace placewright
