// Data edges and topological orders.
#ifndef PLACEWRIGHT_GRAPH_EDGES_H_
#define PLACEWRIGHT_GRAPH_EDGES_H_

#include <cstddef>
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

// What the op reads at this input, behind views: who made it, or none for content from before the step.
inline OpId WriterOf(const Graph& graph, const Op& op, size_t input) {
  const Storage& storage = graph.storage(graph.tensor(op.inputs[input]).storage);
  return storage.versions[static_cast<size_t>(op.input_versions[input])].writer;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_EDGES_H_
