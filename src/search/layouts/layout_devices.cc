#include "search/layouts/layout_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "cost/work.h"

namespace placewright {

DeviceTimes TimesOf(const LayoutProblem& problem) {
  const size_t devices = problem.cluster.device_count();
  DeviceTimes times;
  times.split = times.whole = times.whole_forward_backward = IdVector<DeviceId, double>(devices, 0);
  times.usable = IdVector<DeviceId, bool>(devices, true);
  // Once for all devices of one column of costs.
  std::vector<DeviceId> firsts(problem.costs.column_count());
  if (problem.costs.only().empty()) {
    for (const DeviceId device : problem.cluster.devices()) {
      DeviceId& first = firsts[problem.costs.column(device)];
      if (!first.valid()) first = device;
    }
  } else {
    firsts.clear();
    for (const DeviceId device : problem.cluster.devices()) firsts.push_back(device);
  }
  for (const OpId op : problem.graph.ops()) {
    const bool splits =
        problem.axes.batch().valid() && problem.axes.SplitBy(op, problem.axes.batch()).valid();
    const bool update = problem.graph.op(op).phase == Phase::kOptimizer;
    for (const DeviceId device : firsts) {
      if (!device.valid()) continue;
      if (!problem.costs.Supports(op, device)) {
        times.usable[device] = false;
        continue;
      }
      const auto time = static_cast<double>(problem.costs.time(op, device).count);
      // Draws that do not count are made by one device for all.
      const OpRule* const rule = problem.axes.rule(op);
      if (!splits && rule != nullptr && rule->draws_random) continue;
      (splits ? times.split : times.whole)[device] += time;
      if (!splits && !update) times.whole_forward_backward[device] += time;
    }
  }
  if (!problem.costs.only().empty()) return times;
  for (const DeviceId device : problem.cluster.devices()) {
    const DeviceId first = firsts[problem.costs.column(device)];
    times.usable[device] = times.usable[first];
    for (IdVector<DeviceId, double>* const of :
         {&times.split, &times.whole, &times.whole_forward_backward}) {
      (*of)[device] = (*of)[first];
    }
  }
  return times;
}

std::string WhyNoGpuServes(const Graph& graph, const Cluster& cluster, const CostTable& costs) {
  std::map<int32_t, std::string> reasons;  // by kind
  for (const DeviceId device : cluster.devices()) {
    const int32_t kind = cluster.device(device).kind;
    if (cluster.kind(device).device_class == DeviceClass::kCpu || reasons.contains(kind)) continue;
    OpId refused;
    for (const OpId op : graph.ops()) {
      if (graph.op(op).is_view || costs.Supports(op, device)) continue;
      refused = op;
      break;
    }
    if (!refused.valid()) return "";
    reasons[kind] =
        fmt::format("{} does not run {} in {} (op {})", cluster.kind(device).name,
                    Printable(graph.op(refused).type, 60), ToString(ComputeDType(graph, refused)),
                    Printable(graph.op(refused).name, 60));
  }
  std::string all;
  for (const auto& [kind, reason] : reasons) all += (all.empty() ? "" : "; ") + reason;
  return all;
}

Status CheckMaySplit(const Problem& problem, std::string_view planner, std::string_view where) {
  if (problem.layouts == nullptr) {
    return MakeError(ErrorCode::kUsage, fmt::format("{} splits ops, which is not allowed", planner),
                     "", "Give --space replicated.");
  }
  if (problem.constraints.Empty()) return Ok();
  return MakeError(
      ErrorCode::kUsage,
      fmt::format("{} {}: --pin, --forbid and --colocate cannot be used with it", planner, where),
      "", "Leave them out, or write layouts by hand (--layouts).");
}

std::string ClusterPlace(const Cluster& cluster) {
  return fmt::format("cluster {}", Printable(cluster.name(), 80));
}

AgentSetting GpusSetting() {
  return TextSetting("gpus", {std::string(kEveryGpu), "KIND+HOST+..."},
                     "GPUs of these kinds and hosts alone");
}

namespace {

// Of every name in `of` the devices of that kind, or on that host.
Result<std::vector<DeviceId>> DevicesNamed(const Cluster& cluster,
                                           const std::vector<DeviceId>& devices,
                                           std::string_view of) {
  IdVector<DeviceId, bool> named(cluster.device_count(), false);
  for (size_t from = 0; from <= of.size();) {
    const size_t to = std::min(of.find('+', from), of.size());
    const std::string_view name = of.substr(from, to - from);
    from = to + 1;
    std::set<std::string_view> names;
    bool found = false;
    for (const DeviceId device : devices) {
      const std::string_view whole = cluster.device(device).name, kind = cluster.kind(device).name;
      const std::string_view host = whole.substr(0, whole.find('/'));
      names.insert(kind);
      names.insert(host);
      if (name != kind && name != host) continue;
      named[device] = found = true;
    }
    if (found) continue;
    return MakeError(ErrorCode::kUsage,
                     fmt::format("gpus={}: no device that may be used is of the kind, or on the "
                                 "host, \"{}\"",
                                 Printable(of, 80), Printable(name, 80)),
                     "", fmt::format("Take some of {}.", fmt::join(names, ", ")));
  }
  std::vector<DeviceId> chosen;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(chosen),
               [&](DeviceId device) { return named[device]; });
  return chosen;
}

}  // namespace

Result<std::vector<DeviceId>> DevicesToSplitOver(const LayoutProblem& problem,
                                                 const DeviceTimes& times, std::string_view of) {
  std::vector<DeviceId> gpus, all;
  for (const DeviceId device : problem.cluster.devices()) {
    if (!times.usable[device]) continue;
    all.push_back(device);
    if (problem.cluster.kind(device).device_class != DeviceClass::kCpu) gpus.push_back(device);
  }
  if (!gpus.empty()) all = std::move(gpus);
  if (!all.empty() && of != kEveryGpu) return DevicesNamed(problem.cluster, all, of);
  if (!all.empty()) return all;
  return MakeError(ErrorCode::kInfeasible, "no device supports every op of the step", "",
                   "Use another algorithm, which places ops one by one.");
}

IdVector<GroupId, double> GradientBytes(const Graph& graph) {
  IdVector<GroupId, double> bytes(graph.group_count(), 0);
  for (const TensorId id : graph.tensors()) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.kind != TensorKind::kParameter || tensor.producer.valid()) continue;
    const OpId home = graph.home_op(tensor.storage);
    const bool updated = graph.storage(tensor.storage).versions.size() > 1;
    if (home.valid() && updated)
      bytes[graph.group(home)] += static_cast<double>(tensor.bytes.count);
  }
  return bytes;
}

std::vector<std::vector<DeviceId>> UsableGroups(const std::vector<DeviceGroup>& groups,
                                                const std::vector<DeviceId>& devices) {
  std::vector<std::vector<DeviceId>> usable;
  for (const DeviceGroup& group : groups) {
    std::vector<DeviceId> of;
    for (const DeviceId device : group.devices) {
      const bool is = std::find(devices.begin(), devices.end(), device) != devices.end();
      if (is) of.push_back(device);
    }
    std::sort(of.begin(), of.end());
    if (!of.empty()) usable.push_back(std::move(of));
  }
  return usable;
}

void SortFastestFirst(const DeviceTimes& times, std::vector<DeviceId>& devices) {
  std::stable_sort(devices.begin(), devices.end(),
                   [&](DeviceId a, DeviceId b) { return times.Total(a) < times.Total(b); });
}

}  // namespace placewright
