#include "search/problem/connectivity.h"

#include <algorithm>
#include <numeric>
#include <span>

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
      : connections_(connections),
        candidates_(candidates),
        queued_(candidates.size(), 0),
        bits_(connections.words()) {}

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
    // Each device reaches itself.
    if (candidates_[edge.from] == candidates_[edge.to]) return false;
    const bool from = Drop(edge.from, candidates_[edge.to], &Connections::Reaching);
    const bool to = Drop(edge.to, candidates_[edge.from], &Connections::Reached);
    return from || to;
  }

  // Keeps the unit's devices that one of `others` reaches, or that reach one of them.
  bool Drop(int32_t unit, const std::vector<int32_t>& others,
            std::span<const uint64_t> (Connections::*row_of)(int32_t) const) {
    std::fill(bits_.begin(), bits_.end(), 0);
    for (int32_t other : others) {
      const std::span<const uint64_t> row = (connections_.*row_of)(other);
      for (size_t w = 0; w < row.size(); ++w) bits_[w] |= row[w];
    }
    std::vector<int32_t>& devices = candidates_[unit];
    const auto stays = [&](int32_t device) {
      return (bits_[device / 64] >> (device % 64) & 1) != 0;
    };
    const auto staying = std::count_if(devices.begin(), devices.end(), stays);
    if (staying == 0 || staying == static_cast<std::ptrdiff_t>(devices.size())) return false;
    std::erase_if(devices, [&](int32_t device) { return !stays(device); });
    return true;
  }

  void Propagate(std::span<const int32_t> units) {
    queue_.assign(units.begin(), units.end());
    for (int32_t unit : units) queued_[unit] = 1;
    while (!queue_.empty()) {
      const int32_t unit = queue_.back();
      queue_.pop_back();
      queued_[unit] = 0;
      for (int32_t e : connections_.Touching(unit)) {
        const Connections::Edge& edge = connections_.edges()[e];
        if (!Revise(edge)) continue;
        for (int32_t end : {edge.from, edge.to}) {
          if (!queued_[end]) queue_.push_back(end);
          queued_[end] = 1;
        }
      }
    }
  }

  void Fix(int32_t unit, int32_t device) {
    if (candidates_[unit].size() == 1) return;
    candidates_[unit].assign(1, device);
    Propagate({&unit, 1});
  }

  const Connections& connections_;
  std::vector<std::vector<int32_t>>& candidates_;
  std::vector<int32_t> queue_;  // units whose devices have become fewer
  std::vector<char> queued_;    // [unit]
  std::vector<uint64_t> bits_;  // of devices, while revising
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
