// Which colocation groups exchange data, and what that asks of their devices in a cluster where
// some devices do not reach each other.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIONS_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIONS_H_

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

bool FullyConnected(const Cluster& cluster);

class Connections {
 public:
  // Data goes one way, from group to group.
  struct Edge {
    int32_t from, to;
    friend auto operator<=>(const Edge&, const Edge&) = default;
  };

  // O(edges log edges).
  Connections(const Problem& problem, const OpGraph& graph);

  const std::vector<Edge>& edges() const { return edges_; }
  // Indices of the edges that a group is an end of.
  std::span<const int32_t> Touching(int32_t group) const {
    return {touching_.data() + offset_[group],
            static_cast<size_t>(offset_[group + 1] - offset_[group])};
  }
  bool Connected(int32_t from_device, int32_t to_device) const {
    return cluster_->Connected(DeviceId(from_device), DeviceId(to_device));
  }
  // Sets of devices, 64 a word: those that a device reaches, and those that reach it.
  std::span<const uint64_t> Reached(int32_t from) const { return Row(reached_, from); }
  std::span<const uint64_t> Reaching(int32_t to) const { return Row(reaching_, to); }
  size_t words() const { return words_; }
  // Whether there is a route for all that the group exchanges with others; `device_of` [group].
  bool Legal(int32_t group, const std::vector<int32_t>& device_of) const;

 private:
  std::span<const uint64_t> Row(const std::vector<uint64_t>& rows, int32_t device) const {
    return {rows.data() + static_cast<size_t>(device) * words_, words_};
  }

  const Cluster* cluster_;
  size_t words_;
  std::vector<uint64_t> reached_, reaching_;  // [device][word]
  std::vector<Edge> edges_;                   // ascending, distinct
  std::vector<int32_t> offset_, touching_;    // group -> edges
};

// Drops from `candidates` ([group] ascending devices) those that a home given by the file, which
// the group reads, does not reach; keeps all of a group where none would be left.
void DropUnreachedByFixedHomes(const Problem& problem, const OpGraph& graph,
                               std::vector<std::vector<int32_t>>& candidates);

// A path through as many of the devices as a greedy walk finds, each reaching the next, for methods
// that fill one device after the other: from every device (of the first 64) on to the one that
// reaches fewest others left, the longest walk of all, of equals the first.
std::vector<int32_t> DeviceChain(const Cluster& cluster, const std::vector<int32_t>& devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_CONNECTIONS_H_
