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
      reaching_(reached_),
      offset_(problem.groups.size() + 1, 0) {
  for (DeviceId a : cluster_->devices()) {
    for (DeviceId b : cluster_->devices()) {
      if (!cluster_->Connected(a, b)) continue;
      reached_[a.index() * words_ + b.index() / 64] |= uint64_t{1} << (b.index() % 64);
      reaching_[b.index() * words_ + a.index() / 64] |= uint64_t{1} << (a.index() % 64);
    }
  }
  for (int32_t op = 0; op < graph.ops; ++op) {
    for (const OpInput& input : graph.Inputs(op)) {
      const int32_t from = input.producer >= 0 ? graph.group_of[input.producer] : input.home_group;
      if (from >= 0 && from != graph.group_of[op]) edges_.push_back({from, graph.group_of[op]});
    }
  }
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  for (const Edge& edge : edges_) ++offset_[edge.from + 1], ++offset_[edge.to + 1];
  for (size_t u = 1; u < offset_.size(); ++u) offset_[u] += offset_[u - 1];
  touching_.resize(2 * edges_.size());
  std::vector<int32_t> next(offset_.begin(), offset_.end() - 1);
  for (size_t e = 0; e < edges_.size(); ++e) {
    touching_[next[edges_[e].from]++] = static_cast<int32_t>(e);
    touching_[next[edges_[e].to]++] = static_cast<int32_t>(e);
  }
}

bool Connections::Legal(int32_t group, const std::vector<int32_t>& device_of) const {
  const auto edges = Touching(group);
  return std::all_of(edges.begin(), edges.end(), [&](int32_t e) {
    return Connected(device_of[edges_[e].from], device_of[edges_[e].to]);
  });
}

void DropUnreachedByFixedHomes(const Problem& problem, const OpGraph& graph,
                               std::vector<std::vector<int32_t>>& candidates) {
  for (int32_t op = 0; op < graph.ops; ++op) {
    for (const OpInput& input : graph.Inputs(op)) {
      if (input.home_device < 0) continue;
      std::vector<int32_t> reached = candidates[graph.group_of[op]];
      std::erase_if(reached, [&](int32_t device) {
        return !problem.cluster->Connected(DeviceId(input.home_device), DeviceId(device));
      });
      if (!reached.empty()) candidates[graph.group_of[op]] = std::move(reached);
    }
  }
}

std::vector<int32_t> DeviceChain(const Cluster& cluster, const std::vector<int32_t>& devices) {
  constexpr size_t kStarts = 64;
  const auto reaches = [&](int32_t from, int32_t to) {
    return from != to && cluster.Connected(DeviceId(from), DeviceId(to));
  };
  std::vector<int32_t> reached(cluster.device_count(), 0);
  for (int32_t from : devices) {
    for (int32_t to : devices) reached[from] += reaches(from, to);
  }
  std::vector<int32_t> longest;
  for (size_t start = 0; start < std::min(kStarts, devices.size()); ++start) {
    std::vector<int32_t> left = devices, onward = reached, walk;
    for (int32_t at = devices[start]; at >= 0;) {
      walk.push_back(at);
      std::erase(left, at);
      int32_t next = -1;
      for (int32_t device : left) {
        onward[device] -= reaches(device, at);
        if (reaches(at, device) && (next < 0 || onward[device] < onward[next])) next = device;
      }
      at = next;
    }
    if (walk.size() > longest.size()) longest = std::move(walk);
  }
  return longest;
}

}  // namespace placewright
