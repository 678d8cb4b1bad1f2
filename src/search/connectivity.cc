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

class Connector {
 public:
  Connector(const Connections& connections, std::vector<std::vector<int32_t>>& candidates)
      : connections_(connections), candidates_(candidates) {}

  // Every component into one of the sets, or, where none covers it, each unit to one device.
  void Confine(const DeviceSets& sets) {
    std::vector<char> seen(candidates_.size(), 0);
    for (size_t u = 0; u < candidates_.size(); ++u) {
      if (seen[u]) continue;
      const std::vector<int32_t> component = Component(static_cast<int32_t>(u), seen);
      if (component.size() <= 1 || UseOneSet(component, sets)) continue;
      Propagate(component);
      for (int32_t unit : component) Fix(unit, candidates_[unit].front());
    }
  }

  // Each unit to one device, in the order given: to that it wants, else to a neighbour of it.
  void Approach(const std::vector<int32_t>& wanted, const std::vector<int32_t>& order) {
    Propagate(order);
    for (int32_t unit : order) {
      const std::vector<int32_t>& left = candidates_[unit];
      const auto distance = [&](int32_t device) {
        if (device == wanted[unit]) return 0;
        return 3 - connections_.Connected(device, wanted[unit]) -
               connections_.Connected(wanted[unit], device);
      };
      Fix(unit, *std::min_element(left.begin(), left.end(),
                                  [&](int32_t a, int32_t b) { return distance(a) < distance(b); }));
    }
  }

 private:
  // In breadth-first order.
  std::vector<int32_t> Component(int32_t start, std::vector<char>& seen) const {
    std::vector<int32_t> members{start};
    seen[start] = 1;
    for (size_t i = 0; i < members.size(); ++i) {
      for (int32_t e : connections_.Touching(members[i])) {
        const Connections::Edge& edge = connections_.edges()[e];
        for (int32_t next : {edge.from, edge.to}) {
          if (!seen[next]) members.push_back(next);
          seen[next] = 1;
        }
      }
    }
    return members;
  }

  bool UseOneSet(const std::vector<int32_t>& component, const DeviceSets& sets) {
    for (const std::vector<int32_t>& set : sets) {
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
  bool Revise(const Connections::Edge& edge) {
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
      return any_of(edge.to, [&](int32_t b) { return connections_.Connected(a, b); });
    });
    const bool to = drop(edge.to, [&](int32_t b) {
      return any_of(edge.from, [&](int32_t a) { return connections_.Connected(a, b); });
    });
    return from || to;
  }

  void Propagate(std::vector<int32_t> queue) {
    while (!queue.empty()) {
      const int32_t unit = queue.back();
      queue.pop_back();
      for (int32_t e : connections_.Touching(unit)) {
        const Connections::Edge& edge = connections_.edges()[e];
        if (!Revise(edge)) continue;
        queue.push_back(edge.from);
        queue.push_back(edge.to);
      }
    }
  }

  void Fix(int32_t unit, int32_t device) {
    if (candidates_[unit].size() == 1) return;
    candidates_[unit] = {device};
    Propagate({unit});
  }

  const Connections& connections_;
  std::vector<std::vector<int32_t>>& candidates_;
};

}  // namespace

void KeepConnected(const Cluster& cluster, const Connections& connections,
                   const std::vector<int64_t>& work,
                   std::vector<std::vector<int32_t>>& candidates) {
  Connector(connections, candidates).Confine(MutualSets(cluster, work));
}

std::vector<int32_t> ConnectedNear(const Connections& connections,
                                   std::vector<std::vector<int32_t>> candidates,
                                   const std::vector<int32_t>& wanted,
                                   const std::vector<int32_t>& order) {
  Connector(connections, candidates).Approach(wanted, order);
  std::vector<int32_t> device_of;
  for (const std::vector<int32_t>& left : candidates) device_of.push_back(left.front());
  return device_of;
}

}  // namespace placewright
