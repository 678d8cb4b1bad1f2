// The shape of a graph in a few numbers, over ops (views included) and data edges. Definitions live
// here and nowhere else.
//
//   depth     ops on the longest directed path
//   width     ops on the widest level; the level of an op is the length of the longest path to it
//   degree    edges / ops (traversal-order study, Table I)
//   diameter  the greatest distance, in edges and regardless of their direction, between two ops of
//             one connected component
//
//   directed diameter  the greatest distance, in edges along their direction, of an op from one that
//             leads to it
//
// The study gives diameters (Table I) without a definition; NetworkX, which it uses, has none for
// directed graphs that are not strongly connected. Those that it prints (216 to 450 of 501 nodes with
// 2.56 edges each) can only be the directed ones.
#ifndef PLACEWRIGHT_GRAPH_ANALYSIS_STATISTICS_H_
#define PLACEWRIGHT_GRAPH_ANALYSIS_STATISTICS_H_

#include <cstdint>

#include "graph/graph.h"

namespace placewright {

struct GraphStatistics {
  int64_t ops = 0, edges = 0;
  int64_t depth = 0, width = 0;
  double degree = 0;  // 0 without ops
  int64_t sources = 0, sinks = 0, components = 0;
  int64_t diameter = 0;
  bool diameter_exact = true;  // false: `diameter` is a lower bound, the search was cut short
  int64_t directed_diameter = 0;
  bool directed_diameter_exact = true;
};

// The diameter by bounding eccentricities (Takes and Kosters, 2011): breadth-first searches from
// ops whose bounds are widest until the greatest lower bound meets the greatest upper one, or after
// `max_searches` of them. The directed one by searches from ops that begin the longest paths, until no
// path is left that is longer than the greatest distance found, or after as many, or as many as look
// at 10^8 edges. Complexity: O(ops + edges) per search.
GraphStatistics ComputeStatistics(const Graph& graph, int max_searches = 200);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_ANALYSIS_STATISTICS_H_
