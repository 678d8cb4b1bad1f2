// A graph as Placeto's network sees it: nodes to be placed, data between them, and for every pair
// whether one is an ancestor of the other.
#ifndef PLACEWRIGHT_PLACETO_NETWORK_GRAPH_H_
#define PLACEWRIGHT_PLACETO_NETWORK_GRAPH_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace placewright {

enum class PlacetoRelation : uint8_t { kSelf, kAncestor, kDescendant, kPeer };

// Nodes 0 .. N-1 by level, that of a node being the length of the longest path to it: those of a
// level depend on none of each other.
class PlacetoGraph {
 public:
  // `edges` of nodes numbered as `cost` and `bytes` are, without cycles; they may repeat.
  // Complexity: O(N edges / 64), memory O(N^2) bytes.
  PlacetoGraph(std::span<const double> cost, std::span<const double> bytes,
               std::span<const std::pair<int32_t, int32_t>> edges);

  int32_t size() const { return static_cast<int32_t>(origin_.size()); }
  int32_t levels() const { return static_cast<int32_t>(level_offsets_.size()) - 1; }
  // Nodes [first, last) of a level.
  std::pair<int32_t, int32_t> Level(int32_t level) const {
    return {level_offsets_[level], level_offsets_[level + 1]};
  }
  std::span<const int32_t> Parents(int32_t node) const { return Row(parents_, node); }
  std::span<const int32_t> Children(int32_t node) const { return Row(children_, node); }
  // Of `other` to `node`: kAncestor where it is one of `node`.
  PlacetoRelation Relation(int32_t node, int32_t other) const {
    return relations_[static_cast<size_t>(node) * origin_.size() + static_cast<size_t>(other)];
  }
  // In the numbers of the constructor's arguments.
  int32_t Origin(int32_t node) const { return origin_[node]; }
  int32_t NodeOf(int32_t origin) const { return node_of_[origin]; }

  // By node, divided by the greatest of all (0 where all are 0).
  std::span<const double> relative_cost() const { return cost_; }
  std::span<const double> relative_bytes() const { return bytes_; }

 private:
  struct Rows {
    std::vector<int32_t> offsets, items;
  };
  static std::span<const int32_t> Row(const Rows& rows, int32_t node) {
    return {rows.items.data() + rows.offsets[node],
            static_cast<size_t>(rows.offsets[node + 1] - rows.offsets[node])};
  }
  void FindRelations();

  std::vector<int32_t> level_offsets_, origin_, node_of_;
  Rows parents_, children_;
  std::vector<PlacetoRelation> relations_;
  std::vector<double> cost_, bytes_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_NETWORK_GRAPH_H_
