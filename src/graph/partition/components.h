// Strongly connected components, and the acyclic graph that remains when each becomes one node.
#ifndef PLACEWRIGHT_GRAPH_PARTITION_COMPONENTS_H_
#define PLACEWRIGHT_GRAPH_PARTITION_COMPONENTS_H_

#include <cstdint>
#include <vector>

#include "graph/partition/partition.h"

namespace placewright {

// The component of every node; components are numbered in a topological order of their graph.
// Tarjan 1972, without recursion. Complexity: O(nodes + edges).
std::vector<int32_t> StronglyConnectedComponents(const WeightedGraph& graph);

// Components as nodes: node weights add up, parallel edges become one of summed weight (both
// saturating), edges within a component go.
WeightedGraph ContractComponents(const WeightedGraph& graph,
                                 const std::vector<int32_t>& component_of);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_PARTITION_COMPONENTS_H_
