#include "search/problem/candidate_devices.h"

#include <algorithm>
#include <iterator>

#include "search/problem/connectivity.h"

namespace placewright {
namespace {

std::vector<int64_t> WorkPerDevice(const SimGraph& sim_graph) {
  std::vector<int64_t> work(sim_graph.devices, 0);
  for (int32_t op = 0; op < sim_graph.ops; ++op) {
    for (int32_t d = 0; d < sim_graph.devices; ++d) {
      const int64_t time = sim_graph.time[static_cast<size_t>(op) * sim_graph.devices + d];
      work[d] = SaturatingAdd(work[d], time < 0 ? sim_graph.min_time[op] : time);
    }
  }
  return work;
}

std::vector<int32_t> Accelerators(const std::vector<int64_t>& work,
                                  const std::vector<char>& usable) {
  int64_t min = kMaxQuantity;
  for (size_t d = 0; d < work.size(); ++d) {
    if (usable[d]) min = std::min(min, work[d]);
  }
  std::vector<int32_t> accelerators;
  for (size_t d = 0; d < work.size(); ++d) {
    if (usable[d] && work[d] / CandidateDevices::kSlowest <= min) {
      accelerators.push_back(static_cast<int32_t>(d));
    }
  }
  return accelerators;
}

}  // namespace

std::vector<int64_t> TensorCapacity(const SimGraph& sim_graph) {
  std::vector<int64_t> capacity;
  for (int32_t d = 0; d < sim_graph.devices; ++d) {
    capacity.push_back(std::max<int64_t>(0, sim_graph.capacity[d] - sim_graph.runtime_context[d]));
  }
  return capacity;
}

CandidateDevices FindCandidateDevices(const Problem& problem, const OpGraph& graph,
                                      CandidateScope reach) {
  const SimGraph& sim_graph = problem.sim_graph;
  CandidateDevices candidates;
  candidates.work = WorkPerDevice(sim_graph);
  candidates.capacity = TensorCapacity(sim_graph);
  for (const ColocationGroup& group : problem.groups) {
    candidates.any.emplace_back();
    for (DeviceId device : group.allowed) candidates.any.back().push_back(device.value());
  }
  if (!FullyConnected(*problem.cluster)) {
    DropUnreachedByFixedHomes(problem, graph, candidates.any);
    Connections connections(problem, graph);
    if (reach == CandidateScope::kMutuallyReachable) {
      KeepConnected(connections, candidates.work, candidates.any);
    } else {
      candidates.connections = std::move(connections);
    }
  }
  // A device that no group may use is no accelerator.
  std::vector<char> usable(sim_graph.devices, problem.groups.empty() ? 1 : 0);
  for (const auto& devices : candidates.any) {
    for (int32_t device : devices) usable[device] = 1;
  }
  candidates.accelerators = Accelerators(candidates.work, usable);
  candidates.chain = candidates.connections ? DeviceChain(*problem.cluster, candidates.accelerators)
                                            : candidates.accelerators;
  for (const auto& devices : candidates.any) {
    std::vector<int32_t> fast;
    std::set_intersection(devices.begin(), devices.end(), candidates.accelerators.begin(),
                          candidates.accelerators.end(), std::back_inserter(fast));
    candidates.preferred.push_back(fast.empty() ? devices : std::move(fast));
  }
  return candidates;
}

}  // namespace placewright
