#include "search/problem/connections.h"

#include <algorithm>

namespace placewright {

bool FullyConnected(const Cluster& cluster) {
  for (DeviceId a : cluster.devices()) {
    for (DeviceId b : cluster.devices()) {
      if (!cluster.Connected(a, b)) return false;
    }
  }
  return true;
}

Connections::Connections(const Problem& problem, const OpGraph& graph)
    : cluster_(problem.cluster),
      words_((problem.cluster->device_count() + 63) / 64),
      reached_(problem.cluster->device_count() * words_, 0),
      reaching_(reached_) {
  for (DeviceId a : cluster_->devices()) {
    for (DeviceId b : cluster_->devices()) {
      if (!cluster_->Connected(a, b)) continue;
      reached_[a.index() * words_ + b.index() / 64] |= uint64_t{1} << (b.index() % 64);
      reaching_[b.index() * words_ + a.index() / 64] |= uint64_t{1} << (a.index() % 64);
    }
  }
  for (ExecOpId op : graph.exec_ops()) {
    for (const OpInput& input : graph.Inputs(op)) {
      const ColocationGroupId from = graph.SourceOf(input);
      if (from.valid() && from != graph.group_of[op]) edges_.push_back({from, graph.group_of[op]});
    }
  }
  std::sort(edges_.begin(), edges_.end());
  edges_.resize(static_cast<size_t>(std::unique(edges_.begin(), edges_.end()) - edges_.begin()));
  std::vector<int32_t>& offsets = touching_.offsets;
  offsets.assign(problem.groups.size() + 1, 0);
  for (const Edge& edge : edges_) {
    ++offsets[edge.from.index() + 1];
    ++offsets[edge.to.index() + 1];
  }
  for (size_t u = 1; u < offsets.size(); ++u) offsets[u] += offsets[u - 1];
  touching_.items.resize(2 * edges_.size());
  std::vector<int32_t> next(offsets.begin(), offsets.end() - 1);
  for (EdgeId e : IdRange<EdgeId>(edges_.size())) {
    touching_.items[next[edges_[e].from.index()]++] = e;
    touching_.items[next[edges_[e].to.index()]++] = e;
  }
}

bool Connections::Legal(ColocationGroupId group, const GroupPlacement& device_of) const {
  const auto edges = Touching(group);
  return std::all_of(edges.begin(), edges.end(), [&](EdgeId e) {
    return Connected(device_of[edges_[e].from], device_of[edges_[e].to]);
  });
}

void DropUnreachedByFixedHomes(const Problem& problem, const OpGraph& graph,
                               GroupDevices& candidates) {
  for (ExecOpId op : graph.exec_ops()) {
    for (const OpInput& input : graph.Inputs(op)) {
      if (!input.home_device.valid()) continue;
      std::vector<DeviceId> reached = candidates[graph.group_of[op]];
      std::erase_if(reached, [&](DeviceId device) {
        return !problem.cluster->Connected(input.home_device, device);
      });
      if (!reached.empty()) candidates[graph.group_of[op]] = std::move(reached);
    }
  }
}

std::vector<DeviceId> DeviceChain(const Cluster& cluster, const std::vector<DeviceId>& devices) {
  constexpr size_t kStarts = 64;
  const auto reaches = [&](DeviceId from, DeviceId to) {
    return from != to && cluster.Connected(from, to);
  };
  IdVector<DeviceId, int32_t> reached(cluster.device_count(), 0);  // how many others
  for (DeviceId from : devices) {
    for (DeviceId to : devices) reached[from] += reaches(from, to);
  }
  std::vector<DeviceId> longest;
  for (size_t start = 0; start < std::min(kStarts, devices.size()); ++start) {
    std::vector<DeviceId> left = devices, walk;
    IdVector<DeviceId, int32_t> onward = reached;
    for (DeviceId at = devices[start]; at.valid();) {
      walk.push_back(at);
      std::erase(left, at);
      DeviceId next;
      for (DeviceId device : left) {
        onward[device] -= reaches(device, at);
        const bool fewer = !next.valid() || onward[device] < onward[next];
        if (reaches(at, device) && fewer) next = device;
      }
      at = next;
    }
    if (walk.size() > longest.size()) longest = std::move(walk);
  }
  return longest;
}

}  // namespace placewright
