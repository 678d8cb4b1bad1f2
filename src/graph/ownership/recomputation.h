// Forward ops that the backward pass runs again (checkpointing). A part of DifferentiatedOps.
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_RECOMPUTATION_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_RECOMPUTATION_H_

#include "graph/graph.h"

namespace placewright {

struct Recomputation {
  IdVector<OpId, OpId> repeats;         // the forward op that an op runs again, or invalid
  IdVector<TensorId, TensorId> behind;  // what a tensor shows again, or itself
};

// An op of the backward pass runs a forward op again if it is the same operator with the same
// arguments on the same tensors, or on what repeated ops made of them; the nth of several that run
// the same the nth of these. A view counts only where it is one of what a repeated op made.
// `behind` looks through views that backward ops make, to the forward tensor of which a tensor is a
// view or a second computation. Complexity: linear in the graph, but for many forward ops with
// equal operators and tensors, of which the first 64 are looked at.
Recomputation FindRecomputation(const GraphData& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_RECOMPUTATION_H_
