#include "search/problem/connectivity.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

namespace placewright {
namespace {

using DeviceLists = std::vector<std::vector<int32_t>>;

// Sets of devices, 64 a word, one for each group.
class GroupSets {
 public:
  GroupSets(size_t groups, size_t words) : words_(words), bits_(groups * words, 0) {}
  std::span<uint64_t> operator[](int32_t group) {
    return {bits_.data() + static_cast<size_t>(group) * words_, words_};
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

void Insert(std::span<uint64_t> set, int32_t device) {
  set[device / 64] |= uint64_t{1} << (device % 64);
}

bool Contains(std::span<const uint64_t> set, int32_t device) {
  return (set[device / 64] >> (device % 64) & 1) != 0;
}

std::vector<int32_t> Members(std::span<const uint64_t> set) {
  std::vector<int32_t> devices;
  for (size_t w = 0; w < set.size(); ++w) {
    for (uint64_t left = set[w]; left != 0; left &= left - 1) {
      devices.push_back(static_cast<int32_t>(w * 64) + std::countr_zero(left));
    }
  }
  return devices;
}

bool Meet(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  for (size_t w = 0; w < a.size(); ++w) {
    if ((a[w] & b[w]) != 0) return true;
  }
  return false;
}

// Sets whose members reach each other both ways, grown from every device by rank; largest first.
DeviceLists MutualSets(const Connections& connections, const std::vector<int64_t>& work) {
  std::vector<int32_t> ranked(work.size());
  std::iota(ranked.begin(), ranked.end(), 0);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](int32_t a, int32_t b) { return work[a] < work[b]; });
  DeviceLists sets;
  std::vector<uint64_t> may_join(connections.words());
  for (int32_t start : ranked) {
    std::fill(may_join.begin(), may_join.end(), ~uint64_t{0});
    std::vector<int32_t> members;
    const auto join = [&](int32_t device) {
      members.push_back(device);
      const auto reached = connections.Reached(device), reaching = connections.Reaching(device);
      for (size_t w = 0; w < may_join.size(); ++w) may_join[w] &= reached[w] & reaching[w];
    };
    join(start);
    for (int32_t device : ranked) {
      if (device != start && Contains(may_join, device)) join(device);
    }
    std::sort(members.begin(), members.end());
    sets.push_back(std::move(members));
  }
  std::stable_sort(sets.begin(), sets.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return sets;
}

class Connector {
 public:
  Connector(const Connections& connections, const DeviceLists& candidates)
      : connections_(connections),
        sets_(candidates.size(), connections.words()),
        reached_{GroupSets(candidates.size(), connections.words()),
                 std::vector<char>(candidates.size(), 0)},
        reaching_(reached_),
        queued_(candidates.size(), 0) {
    for (size_t u = 0; u < candidates.size(); ++u) {
      for (int32_t device : candidates[u]) Insert(sets_[static_cast<int32_t>(u)], device);
    }
  }

  // What is left of the candidates.
  DeviceLists Take() {
    DeviceLists left(queued_.size());
    for (size_t u = 0; u < left.size(); ++u) left[u] = Members(sets_[static_cast<int32_t>(u)]);
    return left;
  }

  // Every component into one of the sets, or, where none covers it, each group to one device.
  void Confine(const DeviceLists& lists) {
    GroupSets sets(lists.size(), connections_.words());
    for (size_t i = 0; i < lists.size(); ++i) {
      for (int32_t device : lists[i]) Insert(sets[static_cast<int32_t>(i)], device);
    }
    std::vector<char> seen(queued_.size(), 0);
    for (size_t u = 0; u < seen.size(); ++u) {
      if (seen[u]) continue;
      const std::vector<int32_t> component = Component(static_cast<int32_t>(u), seen);
      if (component.size() <= 1 || UseOneSet(component, sets, lists.size())) continue;
      Propagate(component);
      for (int32_t group : component) Fix(group, Members(sets_[group]).front());
    }
  }

  // Each group to one device, in the order given: to that it wants, else to a neighbour of it.
  void Approach(const std::vector<int32_t>& wanted, const std::vector<int32_t>& order) {
    Propagate(order);
    for (int32_t group : order) {
      const std::vector<int32_t> left = Members(sets_[group]);
      const auto distance = [&](int32_t device) {
        if (device == wanted[group]) return 0;
        return 3 - connections_.Connected(device, wanted[group]) -
               connections_.Connected(wanted[group], device);
      };
      Fix(group, *std::min_element(left.begin(), left.end(), [&](int32_t a, int32_t b) {
            return distance(a) < distance(b);
          }));
    }
  }

 private:
  // By group, the union of the rows of its devices, worked out anew only where these have changed.
  struct Unions {
    GroupSets sets;
    std::vector<char> fresh;
  };

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

  bool UseOneSet(const std::vector<int32_t>& component, GroupSets& sets, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const std::span<const uint64_t> set = sets[static_cast<int32_t>(i)];
      const bool covers = std::all_of(component.begin(), component.end(),
                                      [&](int32_t group) { return Meet(sets_[group], set); });
      if (!covers) continue;
      for (int32_t group : component) Keep(group, set);
      return true;
    }
    return false;
  }

  // Drops devices of one end that reach none of the other's; true if any was dropped. Never drops
  // the last.
  bool Revise(const Connections::Edge& edge) {
    // Each device reaches itself.
    const std::span<const uint64_t> a = sets_[edge.from], b = sets_[edge.to];
    if (std::equal(a.begin(), a.end(), b.begin())) return false;
    const bool from = Keep(edge.from, Union(reaching_, edge.to, &Connections::Reaching));
    const bool to = Keep(edge.to, Union(reached_, edge.from, &Connections::Reached));
    return from || to;
  }

  std::span<const uint64_t> Union(Unions& unions, int32_t group,
                                  std::span<const uint64_t> (Connections::*row_of)(int32_t) const) {
    const std::span<uint64_t> all = unions.sets[group];
    if (unions.fresh[group]) return all;
    unions.fresh[group] = 1;
    std::fill(all.begin(), all.end(), 0);
    const std::span<const uint64_t> devices = sets_[group];
    for (size_t w = 0; w < devices.size(); ++w) {
      for (uint64_t left = devices[w]; left != 0; left &= left - 1) {
        const auto row =
            (connections_.*row_of)(static_cast<int32_t>(w * 64) + std::countr_zero(left));
        for (size_t v = 0; v < row.size(); ++v) all[v] |= row[v];
      }
    }
    return all;
  }

  // Keeps the group's devices that are in the set, unless none is; true if any was dropped.
  bool Keep(int32_t group, std::span<const uint64_t> set) {
    const std::span<uint64_t> devices = sets_[group];
    if (!Meet(devices, set)) return false;
    bool dropped = false;
    for (size_t w = 0; w < set.size(); ++w) {
      dropped |= (devices[w] & ~set[w]) != 0;
      devices[w] &= set[w];
    }
    if (dropped) reached_.fresh[group] = reaching_.fresh[group] = 0;
    return dropped;
  }

  void Propagate(std::span<const int32_t> groups) {
    queue_.assign(groups.begin(), groups.end());
    for (int32_t group : groups) queued_[group] = 1;
    while (!queue_.empty()) {
      const int32_t group = queue_.back();
      queue_.pop_back();
      queued_[group] = 0;
      for (int32_t e : connections_.Touching(group)) {
        const Connections::Edge& edge = connections_.edges()[e];
        if (!Revise(edge)) continue;
        for (int32_t end : {edge.from, edge.to}) {
          if (!queued_[end]) queue_.push_back(end);
          queued_[end] = 1;
        }
      }
    }
  }

  void Fix(int32_t group, int32_t device) {
    std::vector<uint64_t> only(connections_.words(), 0);
    Insert(only, device);
    if (Keep(group, only)) Propagate({&group, 1});
  }

  const Connections& connections_;
  GroupSets sets_;
  Unions reached_, reaching_;
  std::vector<int32_t> queue_;  // groups whose devices have become fewer
  std::vector<char> queued_;    // [group]
};

}  // namespace

void KeepConnected(const Connections& connections, const std::vector<int64_t>& work,
                   std::vector<std::vector<int32_t>>& candidates) {
  Connector connector(connections, candidates);
  connector.Confine(MutualSets(connections, work));
  candidates = connector.Take();
}

std::vector<int32_t> ConnectedNear(const Connections& connections,
                                   const std::vector<std::vector<int32_t>>& candidates,
                                   const std::vector<int32_t>& wanted,
                                   const std::vector<int32_t>& order) {
  Connector connector(connections, candidates);
  connector.Approach(wanted, order);
  std::vector<int32_t> device_of;
  for (const std::vector<int32_t>& left : connector.Take()) device_of.push_back(left.front());
  return device_of;
}

}  // namespace placewright
