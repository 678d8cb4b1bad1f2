// Whether two graphs are one and the same, number for number.
#ifndef PLACEWRIGHT_GRAPH_SAME_GRAPH_H_
#define PLACEWRIGHT_GRAPH_SAME_GRAPH_H_

#include "graph/graph.h"

namespace placewright {

// True if both hold the same ops, tensors, storages, edges, groups and outputs under the same ids,
// arguments, module paths and laws of the batch included; only their formats may differ. Numbers
// are the same if their bits are, or if both are no number. Complexity: linear in the graph.
bool SameGraph(const Graph& a, const Graph& b);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_SAME_GRAPH_H_
