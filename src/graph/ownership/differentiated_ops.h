// The forward op that each backward op differentiates. A part of AttributeModules.
//
// Autograd makes a node for every forward op, saves inputs and outputs of the op in it, and runs
// the nodes in the reverse order in which they were made: in the order of the file, the forward ops
// that backward ops differentiate never come later. So:
//   1. A backward op that reads a saved tensor (a parameter, an activation; views that backward ops
//      make of them are looked through), or that leads to the gradient of a parameter, has as
//      candidates the forward ops that read or made the one, or read the other. A tensor that many
//      ops read (a mask, rotary tables, a tied weight) leaves many candidates. Each weighs 4 for
//      every such tensor, 2 where the names agree (gelu_backward, gelu), and 1 for its role: the
//      maker of the tensor for a `*_backward` op, a reader for any other.
//   2. Of all choices among the candidates in which the forward ops never come later, the one with
//      the greatest weight counts (alignment.h).
//   3. Other ops without candidates, between two that are fixed, go by shapes and names to the
//      forward ops between those two: 3 where a gradient that it reads has the shape of the forward
//      op's output, 2 where it makes the shape of an input, 4 where MayDifferentiate (2 for a copy
//      and a view); at least 4 in all, and then 1 where an op that it reads a gradient of has read
//      the forward op's output.
//   4. What is left: the best candidate, the nearest of equals; else as the last op that made what
//      it reads; else as the first op that reads what it makes.
// Apart from these: an op that runs a forward op again (recomputation.h) belongs to that op, and
// the sum of two gradients of one tensor (`add` of two gradients of its shape) to the forward op
// that made the tensor, which is found from the op that takes the sum: behind its output along
// additions, which hand their gradient on as it is, to the first tensor that several forward ops
// read. Where only other sums take it, the tensor is one that an op reads from whose backward op a
// gradient in the sum comes: theirs, or one that an addition has made of theirs.
#ifndef PLACEWRIGHT_GRAPH_OWNERSHIP_DIFFERENTIATED_OPS_H_
#define PLACEWRIGHT_GRAPH_OWNERSHIP_DIFFERENTIATED_OPS_H_

#include "graph/graph.h"

namespace placewright {

struct Differentiated {
  IdVector<OpId, OpId> op;              // of each backward op, where one was found
  IdVector<OpId, TensorId> summed;      // of sums of gradients: the tensor, which that op made
  IdVector<OpId, StorageId> parameter;  // of sums of gradients of a parameter: that parameter
};

// `served` as ServedParameters gives it. Needs storages, edges and a topological order.
// Complexity: O(c log n) for c candidates (at most 2^23, 64 for each tensor read), and 2^16 for
// every gap between fixed ops.
Differentiated DifferentiatedOps(const GraphData& graph, const IdVector<OpId, StorageId>& served);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_OWNERSHIP_DIFFERENTIATED_OPS_H_
