#include "search/tag/slices.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "plan/sharing_out.h"

namespace placewright {
namespace {

class SetFinder {
 public:
  SetFinder(const Cluster& cluster, const std::vector<std::vector<DeviceId>>& groups,
            const DeviceTimes& times, const SliceOptions& options)
      : cluster_(cluster), groups_(groups), times_(times), options_(options) {}

  std::vector<std::vector<int32_t>> Find() {
    std::vector<int32_t> all(groups_.size());
    std::iota(all.begin(), all.end(), 0);
    Add(all);
    if (groups_.size() <= options_.all_subsets) {
      for (uint32_t bits = 1; bits < 1U << groups_.size(); ++bits) AddBits(bits);
      return std::move(sets_);
    }
    for (const int32_t group : all) Add({group});
    AddByKind();
    AddByMachine();
    AddFastest(all);
    // One group more from every seed in turn, so that the limit cuts all alike.
    std::vector<std::vector<int32_t>> grown;
    for (const int32_t group : all) grown.push_back({group});
    for (size_t size = 2; size < groups_.size() && !Full(); ++size) {
      for (std::vector<int32_t>& set : grown) {
        set.push_back(Nearest(set));
        Add(set);
      }
    }
    return std::move(sets_);
  }

 private:
  bool Full() const { return sets_.size() >= options_.most_subsets; }

  void Add(std::vector<int32_t> set) {
    std::sort(set.begin(), set.end());
    const bool added = !Full() && seen_.insert(set).second;
    if (added) sets_.push_back(std::move(set));
  }

  void AddBits(uint32_t bits) {
    std::vector<int32_t> set;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if ((bits >> g & 1U) != 0) set.push_back(static_cast<int32_t>(g));
    }
    Add(std::move(set));
  }

  // Every union of the groups of some kinds, of a few kinds.
  void AddByKind() {
    constexpr size_t kFewKinds = 5;
    std::map<int32_t, std::vector<int32_t>> of_kind;
    for (size_t g = 0; g < groups_.size(); ++g) {
      of_kind[cluster_.device(groups_[g].front()).kind].push_back(static_cast<int32_t>(g));
    }
    std::vector<std::vector<int32_t>> kinds;
    for (auto& [kind, of] : of_kind) kinds.push_back(std::move(of));
    for (const std::vector<int32_t>& of : kinds) Add(of);
    for (uint32_t bits = 1; kinds.size() <= kFewKinds && bits < 1U << kinds.size(); ++bits) {
      std::vector<int32_t> set;
      for (size_t k = 0; k < kinds.size(); ++k) {
        if ((bits >> k & 1U) != 0) set.insert(set.end(), kinds[k].begin(), kinds[k].end());
      }
      Add(std::move(set));
    }
  }

  void AddByMachine() {
    std::map<int32_t, std::vector<int32_t>> of_host;
    for (size_t g = 0; g < groups_.size(); ++g) {
      of_host[cluster_.device(groups_[g].front()).host].push_back(static_cast<int32_t>(g));
    }
    for (auto& [host, of] : of_host) Add(std::move(of));
  }

  double TimeOf(int32_t group) const {
    return times_.Total(groups_[static_cast<size_t>(group)].front());
  }

  void AddFastest(std::vector<int32_t> order) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return TimeOf(a) < TimeOf(b); });
    for (size_t size = 1; size < order.size(); ++size) {
      Add({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size)});
    }
  }

  int64_t BandwidthBetween(int32_t a, int32_t b) const {
    const DeviceId from = groups_[static_cast<size_t>(a)].front();
    const DeviceId to = groups_[static_cast<size_t>(b)].front();
    if (!cluster_.Connected(from, to) || !cluster_.Connected(to, from)) return 0;
    return std::min(cluster_.route(from, to).bandwidth.count,
                    cluster_.route(to, from).bandwidth.count);
  }

  // That with the most bandwidth to any of the set; of equals the fastest, and the first.
  int32_t Nearest(const std::vector<int32_t>& set) const {
    int32_t nearest = -1;
    std::pair<int64_t, double> best;
    for (int32_t group = 0; group < static_cast<int32_t>(groups_.size()); ++group) {
      if (std::find(set.begin(), set.end(), group) != set.end()) continue;
      std::pair<int64_t, double> is = {0, -TimeOf(group)};
      for (const int32_t member : set) {
        is.first = std::max(is.first, BandwidthBetween(member, group));
      }
      if (nearest < 0 || is > best) {
        nearest = group;
        best = is;
      }
    }
    return nearest;
  }

  const Cluster& cluster_;
  const std::vector<std::vector<DeviceId>>& groups_;
  const DeviceTimes& times_;
  const SliceOptions& options_;
  std::vector<std::vector<int32_t>> sets_;
  std::set<std::vector<int32_t>> seen_;
};

}  // namespace

std::string_view ToString(SliceOption option) {
  switch (option) {
    case SliceOption::kPlace: return "place";
    case SliceOption::kEven: return "even";
    case SliceOption::kBySpeed: return "by speed";
    case SliceOption::kEvenServers: return "servers, even";
    case SliceOption::kServersBySpeed: return "servers, by speed";
    case SliceOption::kCopies: return "copies";
    case SliceOption::kModelParallel: return "model-parallel";
  }
  return "";
}

std::vector<std::vector<int32_t>> SetsOfGroups(const Cluster& cluster,
                                               const std::vector<std::vector<DeviceId>>& groups,
                                               const DeviceTimes& times,
                                               const SliceOptions& options) {
  return SetFinder(cluster, groups, times, options).Find();
}

std::vector<Slice> MakeSlices(const Cluster& cluster,
                              const std::vector<std::vector<DeviceId>>& groups,
                              const DeviceTimes& times, int64_t samples,
                              const SliceOptions& options) {
  std::vector<Slice> slices;
  std::set<std::pair<SliceOption, std::vector<DeviceId>>> shared_out;
  for (const std::vector<int32_t>& set : SetsOfGroups(cluster, groups, times, options)) {
    std::vector<DeviceId> devices;
    for (const int32_t group : set) {
      const std::vector<DeviceId>& of = groups[static_cast<size_t>(group)];
      devices.insert(devices.end(), of.begin(), of.end());
    }
    std::sort(devices.begin(), devices.end());
    if (devices.size() == 1) {
      slices.push_back({set, devices, SliceOption::kPlace, {}});
      continue;
    }
    if (samples > 1) {
      std::vector<DeviceId> some = devices;
      if (samples < static_cast<int64_t>(some.size())) {
        SortFastestFirst(times, some);
        some.resize(static_cast<size_t>(samples));
        std::sort(some.begin(), some.end());
      }
      std::vector<double> speeds;
      for (const DeviceId device : some) speeds.push_back(1 / std::max(1.0, times.Total(device)));
      const std::vector<int64_t> even =
          SharesInProportion(samples, std::vector<double>(some.size(), 1));
      const std::vector<int64_t> by_speed = SharesInProportion(samples, speeds);
      std::vector<int32_t> of_some;
      for (const int32_t group : set) {
        const std::vector<DeviceId>& of = groups[static_cast<size_t>(group)];
        const bool has = std::any_of(of.begin(), of.end(), [&](DeviceId device) {
          return std::find(some.begin(), some.end(), device) != some.end();
        });
        if (has) of_some.push_back(group);
      }
      const auto add = [&](SliceOption option, const std::vector<int64_t>& shares) {
        if (!shared_out.emplace(option, some).second) return;  // of a larger set, too
        slices.push_back({of_some, some, option, shares});
      };
      const bool differ = options.by_speed && by_speed != even;
      add(SliceOption::kEven, even);
      if (differ) add(SliceOption::kBySpeed, by_speed);
      add(SliceOption::kEvenServers, even);
      if (differ) add(SliceOption::kServersBySpeed, by_speed);
    }
    if (options.copies) slices.push_back({set, devices, SliceOption::kCopies, {}});
    slices.push_back({set, devices, SliceOption::kModelParallel, {}});
    // One of a group's devices: they are alike.
    if (set.size() == 1) slices.push_back({set, {devices.front()}, SliceOption::kPlace, {}});
  }
  return slices;
}

}  // namespace placewright
