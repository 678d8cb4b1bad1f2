#include "search/connectivity.h"

#include <algorithm>
#include <numeric>

namespace placewright {
namespace {

using DeviceSets = std::vector<std::vector<int32_t>>;

// Sets whose members reach each other both ways, grown from every device by rank; largest first.
DeviceSets MutualSets(const Cluster& cluster, const std::vector<int64_t>& work) {
  std::vector<int32_t> ranked(cluster.device_count());
  std::iota(ranked.begin(), ranked.end(), 0);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](int32_t a, int32_t b) { return work[a] < work[b]; });
  DeviceSets sets;
  for (int32_t start : ranked) {
    std::vector<int32_t> members{start};
    for (int32_t device : ranked) {
      const bool joins = std::all_of(members.begin(), members.end(), [&](int32_t member) {
        return member != device && cluster.Connected(DeviceId(device), DeviceId(member)) &&
               cluster.Connected(DeviceId(member), DeviceId(device));
      });
      if (joins) members.push_back(device);
    }
    std::sort(members.begin(), members.end());
    sets.push_back(std::move(members));
  }
  std::stable_sort(sets.begin(), sets.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return sets;
}

std::vector<int32_t> Intersection(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// Who communicates with whom, one way: (from, to).
struct Edge {
  int32_t from, to;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

class Connector {
 public:
  Connector(const Problem& problem, const OpGraph& graph, const std::vector<int64_t>& work,
            std::vector<std::vector<int32_t>>& candidates)
      : cluster_(*problem.cluster),
        sets_(MutualSets(cluster_, work)),
        candidates_(candidates),
        touching_(problem.units.size()) {
    for (int32_t op = 0; op < graph.ops; ++op) {
      for (const OpInput& input : graph.Inputs(op)) {
        const int32_t from = input.producer >= 0 ? graph.unit_of[input.producer] : input.home_unit;
        if (from >= 0 && from != graph.unit_of[op]) edges_.push_back({from, graph.unit_of[op]});
      }
    }
    std::sort(edges_.begin(), edges_.end());
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    for (size_t e = 0; e < edges_.size(); ++e) {
      touching_[edges_[e].from].push_back(static_cast<int32_t>(e));
      touching_[edges_[e].to].push_back(static_cast<int32_t>(e));
    }
  }

  void Run() {
    std::vector<char> seen(candidates_.size(), 0);
    for (size_t u = 0; u < candidates_.size(); ++u) {
      if (seen[u]) continue;
      const std::vector<int32_t> component = Component(static_cast<int32_t>(u), seen);
      if (component.size() > 1 && !UseOneSet(component)) Assign(component);
    }
  }

 private:
  // In breadth-first order.
  std::vector<int32_t> Component(int32_t start, std::vector<char>& seen) const {
    std::vector<int32_t> members{start};
    seen[start] = 1;
    for (size_t i = 0; i < members.size(); ++i) {
      for (int32_t e : touching_[members[i]]) {
        for (int32_t next : {edges_[e].from, edges_[e].to}) {
          if (!seen[next]) members.push_back(next);
          seen[next] = 1;
        }
      }
    }
    return members;
  }

  bool UseOneSet(const std::vector<int32_t>& component) {
    for (const std::vector<int32_t>& set : sets_) {
      const bool covers = std::all_of(component.begin(), component.end(), [&](int32_t unit) {
        return !Intersection(candidates_[unit], set).empty();
      });
      if (!covers) continue;
      for (int32_t unit : component) candidates_[unit] = Intersection(candidates_[unit], set);
      return true;
    }
    return false;
  }

  // Drops devices of one end that reach none of the other's; true if any was dropped. Never drops
  // the last.
  bool Revise(const Edge& edge) {
    const auto drop = [&](int32_t unit, auto reaches) {
      std::vector<int32_t> kept;
      for (int32_t device : candidates_[unit]) {
        if (reaches(device)) kept.push_back(device);
      }
      if (kept.empty() || kept.size() == candidates_[unit].size()) return false;
      candidates_[unit] = std::move(kept);
      return true;
    };
    const auto any_of = [&](int32_t unit, auto test) {
      return std::any_of(candidates_[unit].begin(), candidates_[unit].end(), test);
    };
    const bool from = drop(edge.from, [&](int32_t a) {
      return any_of(edge.to,
                    [&](int32_t b) { return cluster_.Connected(DeviceId(a), DeviceId(b)); });
    });
    const bool to = drop(edge.to, [&](int32_t b) {
      return any_of(edge.from,
                    [&](int32_t a) { return cluster_.Connected(DeviceId(a), DeviceId(b)); });
    });
    return from || to;
  }

  void Propagate(std::vector<int32_t> queue) {
    while (!queue.empty()) {
      const int32_t unit = queue.back();
      queue.pop_back();
      for (int32_t e : touching_[unit]) {
        if (!Revise(edges_[e])) continue;
        queue.push_back(edges_[e].from);
        queue.push_back(edges_[e].to);
      }
    }
  }

  void Assign(const std::vector<int32_t>& component) {
    Propagate(component);
    for (int32_t unit : component) {
      candidates_[unit].resize(1);
      Propagate({unit});
    }
  }

  const Cluster& cluster_;
  const DeviceSets sets_;
  std::vector<std::vector<int32_t>>& candidates_;
  std::vector<Edge> edges_;
  std::vector<std::vector<int32_t>> touching_;  // [unit] edges
};

}  // namespace

bool FullyConnected(const Cluster& cluster) {
  for (DeviceId a : cluster.devices()) {
    for (DeviceId b : cluster.devices()) {
      if (!cluster.Connected(a, b)) return false;
    }
  }
  return true;
}

void KeepConnected(const Problem& problem, const OpGraph& graph, const std::vector<int64_t>& work,
                   std::vector<std::vector<int32_t>>& candidates) {
  if (FullyConnected(*problem.cluster)) return;
  Connector(problem, graph, work, candidates).Run();
}

}  // namespace placewright
