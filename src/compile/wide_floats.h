// A step that computes in float64 what another computes in float32: the rounding by which two ways to compute the
// same differ is then too small to be taken for an error (cli/request/executed_check.h).
#ifndef PLACEWRIGHT_COMPILE_WIDE_FLOATS_H_
#define PLACEWRIGHT_COMPILE_WIDE_FLOATS_H_

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// The graph with every tensor of float32, and every argument that says "torch.float32", widened; other types
// stay. Ops, tensors and collectives keep their ids and names. How sizes follow the batch is left out. Errors:
// those of GraphBuilder.
Result<Graph> WithWideFloats(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_COMPILE_WIDE_FLOATS_H_
