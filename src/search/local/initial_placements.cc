#include "search/local/initial_placements.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <set>

#include "base/thread_pool.h"
#include "search/constructive/heft.h"
#include "search/constructive/layered.h"
#include "search/constructive/m_etf.h"
#include "search/constructive/m_topo.h"

namespace placewright {

std::vector<std::vector<DeviceId>> MachineParts(const Cluster& cluster,
                                                const CandidateDevices& candidates) {
  const std::vector<DeviceId>& fast = candidates.accelerators;
  std::set<std::vector<DeviceId>> parts;
  std::set<std::pair<int32_t, size_t>> seen;  // (kind, size) of groups
  for (const DeviceGroup& group : cluster.host_groups()) {
    std::vector<DeviceId> members;
    for (DeviceId device : group.devices) {
      if (std::binary_search(fast.begin(), fast.end(), device)) members.push_back(device);
    }
    if (members.size() < 2) continue;
    std::sort(members.begin(), members.end());
    if (!seen.emplace(cluster.device(group.devices.front()).kind, members.size()).second) continue;
    for (size_t size = 2; size < members.size(); size *= 2) {
      parts.emplace(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(size));
    }
    parts.insert(members);
  }
  std::map<int32_t, std::vector<DeviceId>> hosts;
  for (DeviceId device : fast) hosts[cluster.device(device).host].push_back(device);
  for (const auto& [host, members] : hosts) {
    const int32_t kind = cluster.device(members[0]).kind;
    const bool mixed = std::any_of(members.begin(), members.end(), [&](DeviceId device) {
      return cluster.device(device).kind != kind;
    });
    if (mixed) parts.insert(members);
  }
  std::vector<std::vector<DeviceId>> result;
  for (const std::vector<DeviceId>& part : parts) {
    if (part != fast) result.push_back(part);
  }
  constexpr size_t kMax = 8;
  if (result.size() > kMax) result.resize(kMax);
  return result;
}

CandidateDevices Confine(const CandidateDevices& candidates, const std::vector<DeviceId>& part) {
  CandidateDevices confined = candidates;
  confined.accelerators = part;
  std::erase_if(confined.chain, [&](DeviceId device) {
    return !std::binary_search(part.begin(), part.end(), device);
  });
  if (confined.chain.empty()) confined.chain = part;
  for (ColocationGroupId u : IdsOf(candidates.any)) {
    std::vector<DeviceId> within;
    std::set_intersection(candidates.any[u].begin(), candidates.any[u].end(), part.begin(),
                          part.end(), std::back_inserter(within));
    if (!within.empty()) confined.preferred[u] = std::move(within);
  }
  return confined;
}

std::vector<GroupPlacement> PlansOnParts(const PlacerInput& input, const Budget& budget,
                                         int threads) {
  struct Method {
    GroupPlacement (*place)(const PlacerInput&);
    int64_t transfer_factor;
  };
  constexpr Method kMethods[] = {{&PlaceLayered, 1}, {&PlaceMTopo, 1}, {&PlaceMEtf, 1},
                                 {&PlaceHeft, 1},    {&PlaceHeft, 3},  {&PlaceHeft, 10},
                                 {&PlaceHeft, 30}};
  std::vector<std::vector<DeviceId>> parts = MachineParts(*input.problem.cluster, input.candidates);
  parts.push_back(input.candidates.accelerators);
  std::vector<CandidateDevices> confined;
  for (const std::vector<DeviceId>& part : parts) {
    confined.push_back(Confine(input.candidates, part));
  }
  std::vector<GroupPlacement> plans(parts.size() * std::size(kMethods));
  std::atomic<bool> expired = false;
  ThreadPool pool(std::clamp(threads, 1, static_cast<int>(plans.size())));
  pool.ParallelFor(static_cast<int>(plans.size()), [&](int i) {
    if (expired || budget.Expired()) {
      expired = true;
      return;
    }
    const Method& method = kMethods[static_cast<size_t>(i) % std::size(kMethods)];
    plans[i] = PlaceConnected(
        method.place, {input.problem, input.graph, confined[i / std::size(kMethods)], input.groups,
                       input.seed, input.attempt, method.transfer_factor});
  });
  if (expired) plans.clear();
  return plans;
}

GroupPlacement AllOnFastest(const CandidateDevices& candidates) {
  const DeviceId fastest = *std::min_element(
      candidates.accelerators.begin(), candidates.accelerators.end(),
      [&](DeviceId a, DeviceId b) { return candidates.work[a] < candidates.work[b]; });
  GroupPlacement devices;
  for (ColocationGroupId u : IdsOf(candidates.any)) {
    const bool runs =
        std::binary_search(candidates.any[u].begin(), candidates.any[u].end(), fastest);
    devices.push_back(runs ? fastest : candidates.preferred[u].front());
  }
  return devices;
}

}  // namespace placewright
