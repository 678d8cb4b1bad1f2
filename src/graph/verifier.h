// Checks that a graph does not contradict itself: every promise of graph.h.
#ifndef PLACEWRIGHT_GRAPH_VERIFIER_H_
#define PLACEWRIGHT_GRAPH_VERIFIER_H_

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// Errors: kGraphInconsistent, or kGraphCycle if no topological order exists; the place names the
// op, tensor or storage ("op add_1"), and the message the broken rule. Complexity: O((ops + edges)
// log ops).
Status CheckGraphConsistent(const GraphData& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_VERIFIER_H_
