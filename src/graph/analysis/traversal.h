// The six orders in which the traversal-order study visits the ops of a graph (Wang et al., "Accelerate
// Model Parallel Training by Using Efficient Graph Traversal Order in Device Placement", sec. II-C), over data edges.
//
// The orders are those of NetworkX 2.4, which the study took them from. Ops are inserted by ascending id, consumers
// are met by ascending id, and sources are the ops without producers:
//   topo           Kahn's algorithm with a stack: of the ops that are ready the last one comes first, so that an op
//                  often stands behind one that it reads. (From NetworkX 2.6 on it is generation by generation.)
//   reversed-topo  topo backwards
//   dfs-preorder   depth first from each op in turn that was not met; an op when it is first met
//   dfs-postorder  the same walk; an op when all below it is done
//   bfs            breadth first from each source in turn, in the order of their names
//   lexico         by name, byte by byte
// Where ids are a topological order, reversed-topo and dfs-postorder are the same.
#ifndef PLACEWRIGHT_GRAPH_ANALYSIS_TRAVERSAL_H_
#define PLACEWRIGHT_GRAPH_ANALYSIS_TRAVERSAL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace placewright {

enum class TraversalOrder : uint8_t {
  kTopo,
  kReversedTopo,
  kDfsPreorder,
  kDfsPostorder,
  kBfs,
  kLexico
};

std::span<const TraversalOrder> AllTraversalOrders();  // in the order above
std::string_view ToString(TraversalOrder order);       // "topo", "reversed-topo", ...
std::optional<TraversalOrder> ParseTraversalOrder(std::string_view name);

// Every op once. Complexity: O(ops + edges), lexico and bfs O(ops log ops).
std::vector<OpId> Traverse(const Graph& graph, TraversalOrder order);

// None of the study's orders: Kahn's algorithm with a first-in first-out queue, generation by generation.
std::vector<OpId> Generations(const Graph& graph);

// The first five over any graph of `rows.offsets.size() - 1` nodes; `rows` holds the successors of
// each. Nodes on a cycle come last in topo, by index. bfs takes the nodes without predecessors as
// they come in `by_name`, which has every node once, or is empty: by index. kLexico is not allowed.
std::vector<int32_t> TraverseRows(const Csr<OpId, OpId>& rows, TraversalOrder order,
                                  std::span<const int32_t> by_name = {});
std::vector<int32_t> GenerationsOfRows(const Csr<OpId, OpId>& rows);  // cycles as in topo

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_ANALYSIS_TRAVERSAL_H_
