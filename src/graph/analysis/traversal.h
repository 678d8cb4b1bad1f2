// The six orders in which the traversal-order study visits the ops of a graph (Wang et al., "Accelerate
// Model Parallel Training by Using Efficient Graph Traversal Order in Device Placement", sec. II-C), over data edges.
//
// The paper takes the orders from NetworkX and leaves ties to it. Here every tie is fixed by op
// id, sources are the ops without producers, and consumers are met by ascending id:
//   topo           Kahn's algorithm with a first-in first-out queue: generation by generation
//   reversed-topo  topo backwards
//   dfs-preorder   depth first from each source in turn; an op when it is first met
//   dfs-postorder  the same walk; an op when all below it is done
//   bfs            breadth first from each source in turn, in the order of their names
//   lexico         by name, byte by byte
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

// The first five over any graph of `rows.offsets.size() - 1` nodes; `rows` holds the successors of
// each. Nodes on a cycle come last in topo, by index. bfs takes the nodes without predecessors as
// they come in `by_name`, which has every node once, or is empty: by index. kLexico is not allowed.
std::vector<int32_t> TraverseRows(const Csr<OpId, OpId>& rows, TraversalOrder order,
                                  std::span<const int32_t> by_name = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_ANALYSIS_TRAVERSAL_H_
