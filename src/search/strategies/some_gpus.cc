#include "search/strategies/some_gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "plan/sharing_out.h"
#include "search/layouts/pipelines.h"

namespace placewright {

SomeGpus::SomeGpus(const LayoutProblem& problem, const DeviceTimes& times, std::string setting,
                   const Devices& devices)
    : problem_(problem),
      times_(times),
      setting_(std::move(setting)),
      hosts_(UsableGroups(problem.cluster.host_groups(), devices)),
      of_host_(static_cast<int64_t>(hosts_.front().size())) {
  std::set<std::pair<size_t, int64_t>> sorts;
  for (const Devices& host : hosts_) {
    devices_.insert(devices_.end(), host.begin(), host.end());
    if (static_cast<int64_t>(host.size()) != of_host_) of_host_ = 0;
    for (const DeviceId device : host) {
      if (Kind(device) != Kind(devices_.front())) of_one_kind_ = false;
      if (sorts.emplace(Kind(device), Capacity(device).count).second) each_sort_.push_back(device);
    }
  }
  if (hosts_.size() < 2) return;
  std::map<LinkId, double> users;
  for (size_t i = 0; i < std::min(hosts_[0].size(), hosts_[1].size()); ++i) {
    for (const LinkId link : problem.cluster.route(hosts_[0][i], hosts_[1][i]).links) {
      sharing_ = std::max(sharing_, ++users[link]);
    }
  }
}

SomeGpus::Devices SomeGpus::Across() const {
  Devices across;
  for (const Devices& host : hosts_) across.push_back(host.front());
  return across;
}

SomeGpus::Devices SomeGpus::Group(int64_t parts) const {
  return {devices_.begin(), devices_.begin() + parts};
}

SomeGpus::Devices SomeGpus::FirstOf(int64_t parts) const {
  Devices firsts;
  for (int64_t i = 0; i < count(); i += parts) firsts.push_back(devices_[static_cast<size_t>(i)]);
  return firsts;
}

SomeGpus::Devices SomeGpus::OfStage(int64_t stage, int64_t stages) const {
  const auto [from, to] = RunOfStage(hosts_, stage, stages);
  return {devices_.begin() + from, devices_.begin() + to};
}

int64_t SomeGpus::LargestStage(int64_t stages) const {
  int64_t largest = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    const auto [from, to] = RunOfStage(hosts_, stage, stages);
    largest = std::max(largest, to - from);
  }
  return largest;
}

std::vector<int64_t> SomeGpus::Shares(int64_t samples, bool by_speed) const {
  std::vector<double> weights;
  for (const DeviceId device : devices_) {
    weights.push_back(by_speed ? 1 / std::max(1.0, times_.split[device]) : 1);
  }
  return SharesInProportion(samples, weights);
}

double SomeGpus::Launch(DeviceId device) const {
  return static_cast<double>(problem_.cluster.kind(device).launch_overhead.count);
}

double SomeGpus::Slower(DeviceId device, const Devices& among) const {
  if (problem_.cluster.kind(device).device_class != DeviceClass::kGpu) return 1;
  return slowest_.Of(static_cast<size_t>(std::count_if(
      among.begin(), among.end(), [&](DeviceId other) { return Kind(other) == Kind(device); })));
}

double SomeGpus::Divided(const StepTable::Work& work, DeviceId device, double samples,
                         double widths) const {
  const double by_width = work.by_width[Kind(device)];
  return (work.nanos[Kind(device)] - by_width) * samples + by_width * widths;
}

double SomeGpus::LastTokens(const StepTable::Work& work, DeviceId device, double share,
                            double parts) const {
  return Slower(device) * work.causal[Kind(device)] * share * (1 - 1 / parts);
}

double SomeGpus::Pass(const StepTable::Work& work, DeviceId device, double samples,
                      double widths) const {
  return Slower(device) * (work.launches * Launch(device) + work.fill[Kind(device)] +
                           Divided(work, device, samples, widths));
}

double SomeGpus::Whole(const StepTable::Work& work, DeviceId device, double share) const {
  return Pass(work, device, share, share);
}

double SomeGpus::NanosToMove(double bytes, DeviceId device) const {
  const auto bandwidth = static_cast<double>(problem_.cluster.kind(device).memory_bandwidth.count);
  return 1e9 * bytes / std::max(1.0, bandwidth);
}

double SomeGpus::Copies(double bytes, int64_t tensors, DeviceId device) const {
  return static_cast<double>(tensors) * Launch(device) + NanosToMove(2 * bytes, device);
}

double SomeGpus::Additions(double gradients, int64_t tensors, double micro_batches,
                           DeviceId device) const {
  if (micro_batches < 2) return 0;
  return (micro_batches - 1) *
         (static_cast<double>(tensors) * Launch(device) + NanosToMove(3 * gradients, device));
}

double SomeGpus::Collective(CollectiveKind kind, double bytes, const Devices& over) const {
  if (over.size() < 2 || bytes <= 0) return 0;
  const Bytes whole(static_cast<int64_t>(bytes));
  const auto [at, is_new] =
      collectives_.try_emplace({kind, whole.count, over[0], over[1], over.size()}, 0);
  if (!is_new) return at->second;
  const auto members = static_cast<int64_t>(over.size());
  const Bytes piece((whole.count + members - 1) / members);
  const auto estimate = problem_.communication.Estimate({kind, whole, piece}, over);
  at->second = static_cast<double>(estimate.ok() ? estimate.value().time.count : kMaxQuantity);
  return at->second;
}

namespace {

double BytesOf(const std::map<int64_t, int64_t>& sizes) {
  double all = 0;
  for (const auto& [bytes, number] : sizes) {
    all += static_cast<double>(bytes) * static_cast<double>(number);
  }
  return all;
}

}  // namespace

double SomeGpus::OfParameters(CollectiveKind kind, const StepTable& table, const Devices& over,
                              double share) const {
  double nanos = 0;
  for (const auto& [bytes, number] : table.sizes) {
    nanos +=
        static_cast<double>(number) * Collective(kind, share * static_cast<double>(bytes), over);
  }
  return nanos;
}

double SomeGpus::OfUnits(CollectiveKind kind, const StepTable& table, const Devices& over,
                         double share) const {
  const double all = share * BytesOf(table.sizes), layer = share * BytesOfLayer(table);
  const auto layers = static_cast<double>(table.layers);
  return layers * Collective(kind, layer, over) + Collective(kind, all - layers * layer, over);
}

double SomeGpus::BytesOfLayer(const StepTable& table) {
  if (table.layers < 1 || table.parameters <= 0) return 0;
  return BytesOf(table.sizes) * table.in_layers / table.parameters /
         static_cast<double>(table.layers);
}

double SomeGpus::Beside(double computing, double collectives) const {
  const DeviceKind& kind = problem_.cluster.kind(devices_.front());
  if (!problem_.cluster.collectives_share()) return std::max(computing, collectives);
  const double left =
      1 - static_cast<double>(kind.channels) / static_cast<double>(kind.multiprocessors);
  // While they are under way so much less is computed.
  return std::max(computing + (1 - left) * collectives, collectives);
}

double SomeGpus::Transfer(double bytes, DeviceId from, DeviceId to) const {
  if (bytes <= 0 || from == to) return 0;
  const Route& route = problem_.cluster.route(from, to);
  return static_cast<double>(route.latency.count) +
         1e9 * bytes / static_cast<double>(std::max<int64_t>(1, route.bandwidth.count));
}

// Found once: each rewriting and chunk of a pipeline asks for other bytes over the same ways.
const SomeGpus::Ways& SomeGpus::WaysBetween(const Devices& from, const Devices& to) const {
  const auto [at, fresh] = ways_.try_emplace({from, to});
  Ways& ways = at->second;
  if (!fresh) return ways;
  std::map<LinkId, double> sharing;
  for (size_t i = 0; i < from.size(); ++i) {
    const DeviceId other = to[i * to.size() / from.size()];
    if (from[i] == other) continue;
    const Route& route = problem_.cluster.route(from[i], other);
    for (const LinkId link : route.links) ++sharing[link];
    ways.routes.emplace_back(route.latency.count, std::max<int64_t>(1, route.bandwidth.count));
  }
  std::sort(ways.routes.begin(), ways.routes.end());
  ways.routes.erase(std::unique(ways.routes.begin(), ways.routes.end()), ways.routes.end());
  for (const auto& [link, users] : sharing) {
    const auto rate = static_cast<double>(problem_.cluster.link(link).bandwidth.count);
    ways.links.emplace_back(users, std::max(1.0, rate));
  }
  std::sort(ways.links.begin(), ways.links.end());
  ways.links.erase(std::unique(ways.links.begin(), ways.links.end()), ways.links.end());
  return ways;
}

double SomeGpus::Transfers(double bytes, const Devices& from, const Devices& to) const {
  if (bytes <= 0) return 0;
  const Ways& ways = WaysBetween(from, to);
  double longest = 0;
  for (const auto& [users, rate] : ways.links) {
    longest = std::max(longest, 1e9 * bytes * users / rate);
  }
  for (const auto& [latency, bandwidth] : ways.routes) {
    longest = std::max(longest,
                       static_cast<double>(latency) + 1e9 * bytes / static_cast<double>(bandwidth));
  }
  return longest;
}

std::vector<SomeGpus> SetsOfGpus(const LayoutProblem& problem, const DeviceTimes& times,
                                 const std::vector<DeviceId>& usable) {
  const Cluster& cluster = problem.cluster;
  std::vector<SomeGpus> sets;
  std::set<std::vector<DeviceId>> seen;
  const auto add = [&](std::string setting, std::vector<DeviceId> devices) {
    std::sort(devices.begin(), devices.end());
    if (!devices.empty() && seen.insert(devices).second) {
      sets.emplace_back(problem, times, std::move(setting), devices);
    }
  };
  add(std::string(kEveryGpu), usable);
  std::vector<DeviceId> fastest = usable, so_far;
  SortFastestFirst(times, fastest);
  std::vector<std::string_view> kinds;
  for (const DeviceId device : fastest) {
    const std::string_view kind = cluster.kind(device).name;
    if (std::count(kinds.begin(), kinds.end(), kind) > 0) continue;
    kinds.push_back(kind);
    for (const DeviceId other : usable) {
      if (cluster.kind(other).name == kind) so_far.push_back(other);
    }
    add(fmt::format("{}", fmt::join(kinds, "+")), so_far);
  }
  // Hosts are alike that have the same kinds.
  std::map<std::string, std::vector<DeviceId>> hosts;
  for (const DeviceId device : usable) {
    const std::string& name = cluster.device(device).name;
    hosts[name.substr(0, name.find('/'))].push_back(device);
  }
  std::set<std::multiset<int32_t>> sorts;
  for (const auto& [name, devices] : hosts) {
    std::multiset<int32_t> of;
    for (const DeviceId device : devices) of.insert(cluster.device(device).kind);
    if (sorts.insert(of).second) add(name, devices);
  }
  return sets;
}

}  // namespace placewright
