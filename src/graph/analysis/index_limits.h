// What values of integer and boolean tensors may be, from the ops that read them.
#ifndef PLACEWRIGHT_GRAPH_ANALYSIS_INDEX_LIMITS_H_
#define PLACEWRIGHT_GRAPH_ANALYSIS_INDEX_LIMITS_H_

#include <cstdint>

#include "graph/graph.h"

namespace placewright {

// By tensor of an ATen graph: below which number its values must lie, because ops use them as indices:
// rows of a table, classes, positions along a dimension. The smallest limit, also of what is made of the
// tensor without changing its values (views, copies, slices, clamps); 0: none known.
// O(ops + edges).
IdVector<TensorId, int64_t> IndexLimits(const Graph& graph);

// The graph with Tensor::below of inputs of integers, where `below` has one.
Graph WithInputLimits(Graph graph, const IdVector<TensorId, int64_t>& below);

// By tensor of an ATen graph: whether it is a mask of what masked_fill overwrites, so that attention has
// nothing left to look at where all of it is true. O(ops + edges).
IdVector<TensorId, bool> HidingMasks(const Graph& graph);

// What values of integer tensors stand for: classes that a loss wants, rows of a table (tokens).
struct IntegerUse {
  bool target = false, token = false;
};
// By tensor of an ATen graph, also through what keeps values. O(ops + edges).
IdVector<TensorId, IntegerUse> IntegerUses(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_ANALYSIS_INDEX_LIMITS_H_
