// A graph's groups as the traversal-order study counts them: Table I.
#ifndef PLACEWRIGHT_STUDY_TRAVERSAL_GROUP_GRAPH_H_
#define PLACEWRIGHT_STUDY_TRAVERSAL_GROUP_GRAPH_H_

#include <cstdint>

#include "graph/graph.h"

namespace placewright {

struct GroupGraphStatistics {
  int64_t nodes = 0, edges = 0;
  double degree = 0;           // edges / nodes; 0 without nodes
  int64_t diameter = 0;        // the greatest distance along edges
  bool diameter_exact = true;  // false: `diameter` is a lower bound
};

// Of a graph's colocation groups, in the order of their first ops; edges are data between two of them
// that goes with that order. Complexity: O(groups * edges), at most 2 * 10^8 edges looked at.
GroupGraphStatistics CountGroupGraph(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_STUDY_TRAVERSAL_GROUP_GRAPH_H_
