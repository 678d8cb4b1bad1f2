// Colocation groups as the weighted graph that partitioners cut.
#ifndef PLACEWRIGHT_SEARCH_PARTITION_GROUP_GRAPH_H_
#define PLACEWRIGHT_SEARCH_PARTITION_GROUP_GRAPH_H_

#include "graph/partition/partition.h"
#include "search/problem/group_info.h"

namespace placewright {

// Nodes: the groups, by id; weights: time (minimum over the devices, summed) and memory (persistent
// bytes and what is alive at the peak). Edges, undirected: bytes that would cross between two groups
// (graph/contraction.h).
WeightedGraph MakeGroupGraph(const Problem& problem, const GroupInfos& groups);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PARTITION_GROUP_GRAPH_H_
