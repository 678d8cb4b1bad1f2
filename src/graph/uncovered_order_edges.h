// For tests: what the order edges of a graph add to its data edges.
#ifndef PLACEWRIGHT_GRAPH_UNCOVERED_ORDER_EDGES_H_
#define PLACEWRIGHT_GRAPH_UNCOVERED_ORDER_EDGES_H_

#include <algorithm>
#include <vector>

#include "graph/graph.h"

namespace placewright {

// The order edges of one kind that no path of data edges implies. Complexity:
// O((ops + edges) * count / 64).
inline std::vector<OrderEdge> OrderEdgesWithoutDataPath(const Graph& graph, OrderKind kind) {
  std::vector<OrderEdge> candidates, result;
  for (const OrderEdge& edge : graph.order_edges()) {
    if (edge.kind == kind) candidates.push_back(edge);
  }
  // 64 sources at a time: one bit each, handed down the data edges in topological order.
  IdVector<OpId, uint64_t> reached(graph.op_count());
  for (size_t begin = 0; begin < candidates.size();) {
    std::fill(reached.begin(), reached.end(), 0);
    IdVector<OpId, uint64_t>& bits = reached;
    size_t end = begin;
    int sources = 0;
    OpId last;
    std::vector<uint64_t> bit_of;
    for (; end < candidates.size(); ++end) {
      if (candidates[end].from != last) {
        if (sources == 64) break;
        last = candidates[end].from;
        bits[last] |= uint64_t{1} << sources++;
      }
      bit_of.push_back(uint64_t{1} << (sources - 1));
    }
    for (OpId op : graph.topological_order()) {
      for (OpId to : graph.consumers(op)) bits[to] |= bits[op];
    }
    for (size_t i = begin; i < end; ++i) {
      if ((bits[candidates[i].to] & bit_of[i - begin]) == 0) result.push_back(candidates[i]);
    }
    begin = end;
  }
  return result;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_UNCOVERED_ORDER_EDGES_H_
