// An exact minimum s-t cut of a small directed graph, used again and again: hundreds of problems of some
// hundred nodes each, with no allocation once the largest has been seen.
//
//   minimise  sum of capacity(u, v) over arcs with u on the source's side and v on the sink's
//
// Dinic's algorithm (Dinitz, Soviet Math. Doklady 11, 1970): levels by breadth-first search from the sink, then
// a blocking flow by depth-first search with current arcs. Terminals are no nodes: what the source gives a node
// and what it gives the sink are two numbers of the node, of which the common part flows at once (as in Boykov
// and Kolmogorov, PAMI 26, 2004). Complexity: O(nodes^2 arcs); with few arcs to cut near linear.
//
// Of several minimum cuts it is the one with the smallest source's side: what can still be reached from the
// source in the residual graph. It is contained in every other and does not depend on the order of the arcs.
#ifndef PLACEWRIGHT_SEARCH_SFB_MINIMUM_CUT_H_
#define PLACEWRIGHT_SEARCH_SFB_MINIMUM_CUT_H_

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace placewright {

class MinimumCut {
 public:
  // An arc that no minimum cut has, as long as there is a cut without it.
  static constexpr int64_t kUncuttable = kMaxQuantity;

  // Nodes 0 .. nodes-1, no arcs. Memory is kept.
  void Clear(int32_t nodes);
  // Capacities: 0 .. kUncuttable. Arcs between the same nodes add up. What the source gives all nodes together
  // saturates at kMaxQuantity, which no flow can exceed.
  void AddArc(int32_t from, int32_t to, int64_t capacity);
  void AddSource(int32_t node, int64_t capacity);  // source -> node
  void AddSink(int32_t node, int64_t capacity);    // node -> sink, saturating at kMaxQuantity

  // The value of the minimum cut. Once for each Clear.
  int64_t Solve();
  // Behind Solve.
  bool OnSourceSide(int32_t node) const { return reached_[static_cast<size_t>(node)]; }

 private:
  struct NewArc {
    int32_t from, to;
    int64_t capacity;
  };
  // What is left of it, and where its reverse is.
  struct Arc {
    int32_t to, reverse;
    int64_t left;
  };

  void LayOutArcs();
  bool FindLevels();
  void SendFrom(int32_t start);
  int64_t PushAlong(int32_t start, int32_t end);
  void FindReached();
  int32_t first(int32_t node) const { return first_[static_cast<size_t>(node)]; }
  int32_t last(int32_t node) const { return first_[static_cast<size_t>(node) + 1]; }
  Arc& arc(int32_t i) { return arcs_[static_cast<size_t>(i)]; }

  int32_t nodes_ = 0;
  int64_t given_ = 0;  // by the source, all nodes together
  int64_t value_ = 0;
  std::vector<NewArc> added_;
  std::vector<int64_t> source_, sink_;  // [node] what is left
  std::vector<int32_t> first_;          // [node + 1] in arcs_
  std::vector<Arc> arcs_;               // by the node that they leave
  std::vector<int32_t> level_;          // [node] arcs to the sink; -1: no way
  std::vector<int32_t> current_;        // [node] the next arc to look at
  std::vector<int32_t> queue_, path_;
  std::vector<bool> reached_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_SFB_MINIMUM_CUT_H_
