// Which colocation groups exchange data, and what that asks of their devices in a cluster where
// some devices do not reach each other.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIONS_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIONS_H_

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/csr.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

bool FullyConnected(const Cluster& cluster);

class Connections {
 public:
  // Data goes one way, from group to group.
  using EdgeId = Id<struct ConnectionTag>;
  struct Edge {
    ColocationGroupId from, to;
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };

  // O(edges log edges).
  Connections(const Problem& problem, const OpGraph& graph);

  const IdVector<EdgeId, Edge>& edges() const { return edges_; }
  // The edges that a group is an end of.
  std::span<const EdgeId> Touching(ColocationGroupId group) const { return touching_[group]; }
  bool Connected(DeviceId from, DeviceId to) const { return cluster_->Connected(from, to); }
  // Sets of devices, 64 a word: those that a device reaches, and those that reach it.
  std::span<const uint64_t> Reached(DeviceId from) const { return Row(reached_, from); }
  std::span<const uint64_t> Reaching(DeviceId to) const { return Row(reaching_, to); }
  size_t words() const { return words_; }
  // Whether there is a route for all that the group exchanges with others.
  bool Legal(ColocationGroupId group, const GroupPlacement& device_of) const;

 private:
  std::span<const uint64_t> Row(const std::vector<uint64_t>& rows, DeviceId device) const {
    return {rows.data() + device.index() * words_, words_};
  }

  const Cluster* cluster_;
  size_t words_;
  std::vector<uint64_t> reached_, reaching_;  // [device][word]
  IdVector<EdgeId, Edge> edges_;              // ascending, distinct
  Csr<ColocationGroupId, EdgeId> touching_;
};

// Drops from `candidates` those that a home given by the file, which
// the group reads, does not reach; keeps all of a group where none would be left.
void DropUnreachedByFixedHomes(const Problem& problem, const OpGraph& graph,
                               GroupDevices& candidates);

// A path through as many of the devices as a greedy walk finds, each reaching the next, for methods
// that fill one device after the other: from every device (of the first 64) on to the one that
// reaches fewest others left, the longest walk of all, of equals the first.
std::vector<DeviceId> DeviceChain(const Cluster& cluster, const std::vector<DeviceId>& devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIONS_H_
