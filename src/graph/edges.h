// Data edges, topological orders and questions about paths.
#ifndef PLACEWRIGHT_GRAPH_EDGES_H_
#define PLACEWRIGHT_GRAPH_EDGES_H_

#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// Fills in consumers and producers: every distinct pair (producer of an input, op) and (after, op).
// An op that reads its own output is an edge to itself, which TopologicalOrder reports as a cycle.
void DeriveDataEdges(GraphData& graph);

// A topological order over data edges and the order edges derived so far, by smallest op id among
// the ready; the members of a collective are one node, which has the smallest of their ids, and follow
// one another as it lists them. Errors: kGraphCycle, naming at most eight ops on one cycle.
// Complexity: O((ops + edges) log ops).
Result<std::vector<OpId>> TopologicalOrder(const GraphData& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_EDGES_H_
