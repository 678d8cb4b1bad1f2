#include "search/problem/connectivity.h"

#include <algorithm>
#include <bit>
#include <span>

namespace placewright {
namespace {

// Sets of devices, 64 a word, one for each group or other id.
template <class IdType>
class DeviceSets {
 public:
  DeviceSets(size_t sets, size_t words) : words_(words), bits_(sets * words, 0) {}
  std::span<uint64_t> operator[](IdType id) { return {bits_.data() + id.index() * words_, words_}; }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

using GroupSets = DeviceSets<ColocationGroupId>;
using MutualSetId = Id<struct MutualSetTag>;  // in a list of sets, the largest first
using MutualSetList = IdVector<MutualSetId, std::vector<DeviceId>>;

void Insert(std::span<uint64_t> set, DeviceId device) {
  set[device.index() / 64] |= uint64_t{1} << (device.index() % 64);
}

bool Contains(std::span<const uint64_t> set, DeviceId device) {
  return (set[device.index() / 64] >> (device.index() % 64) & 1) != 0;
}

// The smallest device in a word that is not 0.
DeviceId FirstOf(size_t word, uint64_t bits) {
  return DeviceId(static_cast<int32_t>(word * 64) + std::countr_zero(bits));
}

std::vector<DeviceId> Members(std::span<const uint64_t> set) {
  std::vector<DeviceId> devices;
  for (size_t w = 0; w < set.size(); ++w) {
    for (uint64_t left = set[w]; left != 0; left &= left - 1) {
      devices.push_back(FirstOf(w, left));
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
MutualSetList MutualSets(const Connections& connections, const IdVector<DeviceId, int64_t>& work) {
  std::vector<DeviceId> ranked;
  for (DeviceId device : IdRange<DeviceId>(work.size())) ranked.push_back(device);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](DeviceId a, DeviceId b) { return work[a] < work[b]; });
  MutualSetList sets;
  std::vector<uint64_t> may_join(connections.words());
  for (DeviceId start : ranked) {
    std::fill(may_join.begin(), may_join.end(), ~uint64_t{0});
    std::vector<DeviceId> members;
    const auto join = [&](DeviceId device) {
      members.push_back(device);
      const auto reached = connections.Reached(device), reaching = connections.Reaching(device);
      for (size_t w = 0; w < may_join.size(); ++w) may_join[w] &= reached[w] & reaching[w];
    };
    join(start);
    for (DeviceId device : ranked) {
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
  Connector(const Connections& connections, const GroupDevices& candidates)
      : connections_(connections),
        sets_(candidates.size(), connections.words()),
        reached_{GroupSets(candidates.size(), connections.words()),
                 IdVector<ColocationGroupId, char>(candidates.size(), 0)},
        reaching_(reached_),
        queued_(candidates.size(), 0) {
    for (ColocationGroupId u : IdsOf(candidates)) {
      for (DeviceId device : candidates[u]) Insert(sets_[u], device);
    }
  }

  // What is left of the candidates.
  GroupDevices Take() {
    GroupDevices left(queued_.size());
    for (ColocationGroupId u : IdsOf(left)) left[u] = Members(sets_[u]);
    return left;
  }

  // Every component into one of the sets, or, where none covers it, each group to one device.
  void Confine(const MutualSetList& lists) {
    DeviceSets<MutualSetId> sets(lists.size(), connections_.words());
    for (MutualSetId i : IdRange<MutualSetId>(lists.size())) {
      for (DeviceId device : lists[i]) Insert(sets[i], device);
    }
    IdVector<ColocationGroupId, char> seen(queued_.size(), 0);
    for (ColocationGroupId u : IdsOf(seen)) {
      if (seen[u]) continue;
      const std::vector<ColocationGroupId> component = Component(u, seen);
      if (component.size() <= 1 || UseOneSet(component, sets, lists.size())) continue;
      Propagate(component);
      for (ColocationGroupId group : component) Fix(group, Members(sets_[group]).front());
    }
  }

  // Each group to one device, in the order given: to that it wants, else to a neighbour of it.
  void Approach(const GroupPlacement& wanted, const std::vector<ColocationGroupId>& order) {
    Propagate(order);
    for (ColocationGroupId group : order) {
      const std::vector<DeviceId> left = Members(sets_[group]);
      const auto distance = [&](DeviceId device) {
        if (device == wanted[group]) return 0;
        return 3 - connections_.Connected(device, wanted[group]) -
               connections_.Connected(wanted[group], device);
      };
      Fix(group, *std::min_element(left.begin(), left.end(), [&](DeviceId a, DeviceId b) {
            return distance(a) < distance(b);
          }));
    }
  }

 private:
  // By group, the union of the rows of its devices, worked out anew only where these have changed.
  struct Unions {
    GroupSets sets;
    IdVector<ColocationGroupId, char> fresh;
  };

  // In breadth-first order.
  std::vector<ColocationGroupId> Component(ColocationGroupId start,
                                           IdVector<ColocationGroupId, char>& seen) const {
    std::vector<ColocationGroupId> members{start};
    seen[start] = 1;
    for (size_t i = 0; i < members.size(); ++i) {
      for (Connections::EdgeId e : connections_.Touching(members[i])) {
        const Connections::Edge& edge = connections_.edges()[e];
        for (ColocationGroupId next : {edge.from, edge.to}) {
          if (!seen[next]) members.push_back(next);
          seen[next] = 1;
        }
      }
    }
    return members;
  }

  bool UseOneSet(const std::vector<ColocationGroupId>& component, DeviceSets<MutualSetId>& sets,
                 size_t count) {
    for (MutualSetId i : IdRange<MutualSetId>(count)) {
      const std::span<const uint64_t> set = sets[i];
      const bool covers =
          std::all_of(component.begin(), component.end(),
                      [&](ColocationGroupId group) { return Meet(sets_[group], set); });
      if (!covers) continue;
      for (ColocationGroupId group : component) Keep(group, set);
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

  using RowOf = std::span<const uint64_t> (Connections::*)(DeviceId) const;
  std::span<const uint64_t> Union(Unions& unions, ColocationGroupId group, RowOf row_of) {
    const std::span<uint64_t> all = unions.sets[group];
    if (unions.fresh[group]) return all;
    unions.fresh[group] = 1;
    std::fill(all.begin(), all.end(), 0);
    const std::span<const uint64_t> devices = sets_[group];
    for (size_t w = 0; w < devices.size(); ++w) {
      for (uint64_t left = devices[w]; left != 0; left &= left - 1) {
        const auto row = (connections_.*row_of)(FirstOf(w, left));
        for (size_t v = 0; v < row.size(); ++v) all[v] |= row[v];
      }
    }
    return all;
  }

  // Keeps the group's devices that are in the set, unless none is; true if any was dropped.
  bool Keep(ColocationGroupId group, std::span<const uint64_t> set) {
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

  void Propagate(std::span<const ColocationGroupId> groups) {
    queue_.assign(groups.begin(), groups.end());
    for (ColocationGroupId group : groups) queued_[group] = 1;
    while (!queue_.empty()) {
      const ColocationGroupId group = queue_.back();
      queue_.pop_back();
      queued_[group] = 0;
      for (Connections::EdgeId e : connections_.Touching(group)) {
        const Connections::Edge& edge = connections_.edges()[e];
        if (!Revise(edge)) continue;
        for (ColocationGroupId end : {edge.from, edge.to}) {
          if (!queued_[end]) queue_.push_back(end);
          queued_[end] = 1;
        }
      }
    }
  }

  void Fix(ColocationGroupId group, DeviceId device) {
    std::vector<uint64_t> only(connections_.words(), 0);
    Insert(only, device);
    if (Keep(group, only)) Propagate({&group, 1});
  }

  const Connections& connections_;
  GroupSets sets_;
  Unions reached_, reaching_;
  std::vector<ColocationGroupId> queue_;  // groups whose devices have become fewer
  IdVector<ColocationGroupId, char> queued_;
};

}  // namespace

void KeepConnected(const Connections& connections, const IdVector<DeviceId, int64_t>& work,
                   GroupDevices& candidates) {
  Connector connector(connections, candidates);
  connector.Confine(MutualSets(connections, work));
  candidates = connector.Take();
}

GroupPlacement ConnectedNear(const Connections& connections, const GroupDevices& candidates,
                             const GroupPlacement& wanted,
                             const std::vector<ColocationGroupId>& order) {
  Connector connector(connections, candidates);
  connector.Approach(wanted, order);
  GroupPlacement device_of;
  for (const std::vector<DeviceId>& left : connector.Take()) device_of.push_back(left.front());
  return device_of;
}

}  // namespace placewright
