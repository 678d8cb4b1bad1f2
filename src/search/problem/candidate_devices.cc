#include "search/problem/candidate_devices.h"

#include <algorithm>
#include <iterator>

#include "search/problem/connectivity.h"

namespace placewright {
namespace {

IdVector<DeviceId, int64_t> WorkPerDevice(const SimGraph& sim_graph) {
  IdVector<DeviceId, int64_t> work(sim_graph.devices, 0);
  for (ExecOpId op : sim_graph.exec_ops()) {
    for (DeviceId d : sim_graph.device_ids()) {
      const int64_t time = sim_graph.Time(op, d);
      work[d] = SaturatingAdd(work[d], time < 0 ? sim_graph.min_time[op] : time);
    }
  }
  return work;
}

std::vector<DeviceId> Accelerators(const IdVector<DeviceId, int64_t>& work,
                                   const IdVector<DeviceId, char>& usable) {
  const IdRange<DeviceId> devices(work.size());
  int64_t min = kMaxQuantity;
  for (DeviceId d : devices) {
    if (usable[d]) min = std::min(min, work[d]);
  }
  std::vector<DeviceId> accelerators;
  for (DeviceId d : devices) {
    if (usable[d] && work[d] / CandidateDevices::kSlowest <= min) accelerators.push_back(d);
  }
  return accelerators;
}

}  // namespace

IdVector<DeviceId, int64_t> TensorCapacity(const SimGraph& sim_graph) {
  IdVector<DeviceId, int64_t> capacity;
  for (DeviceId d : sim_graph.device_ids()) {
    capacity.push_back(std::max<int64_t>(0, sim_graph.capacity[d] - sim_graph.runtime_context[d]));
  }
  return capacity;
}

CandidateDevices FindCandidateDevices(const Problem& problem, const OpGraph& graph,
                                      CandidateScope scope) {
  const SimGraph& sim_graph = problem.sim_graph;
  CandidateDevices candidates;
  candidates.work = WorkPerDevice(sim_graph);
  candidates.capacity = TensorCapacity(sim_graph);
  for (const ColocationGroup& group : problem.groups) candidates.any.push_back(group.allowed);
  if (!FullyConnected(*problem.cluster)) {
    DropUnreachedByFixedHomes(problem, graph, candidates.any);
    Connections connections(problem, graph);
    if (scope == CandidateScope::kMutuallyReachable) {
      KeepConnected(connections, candidates.work, candidates.any);
    } else {
      candidates.connections = std::move(connections);
    }
  }
  // A device that no group may use is no accelerator.
  IdVector<DeviceId, char> usable(sim_graph.devices, problem.groups.empty() ? 1 : 0);
  for (const auto& devices : candidates.any) {
    for (DeviceId device : devices) usable[device] = 1;
  }
  candidates.accelerators = Accelerators(candidates.work, usable);
  candidates.chain = candidates.connections ? DeviceChain(*problem.cluster, candidates.accelerators)
                                            : candidates.accelerators;
  for (const auto& devices : candidates.any) {
    std::vector<DeviceId> fast;
    std::set_intersection(devices.begin(), devices.end(), candidates.accelerators.begin(),
                          candidates.accelerators.end(), std::back_inserter(fast));
    candidates.preferred.push_back(fast.empty() ? devices : std::move(fast));
  }
  return candidates;
}

}  // namespace placewright
