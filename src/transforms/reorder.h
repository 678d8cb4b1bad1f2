// A graph with its ops in another order (internal to the module).
#ifndef PLACEWRIGHT_TRANSFORMS_REORDER_H_
#define PLACEWRIGHT_TRANSFORMS_REORDER_H_

#include <span>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// `order`: every op once, behind its producers and behind what order edges want before it. Ops, tensors, groups, outputs
// and laws stay as they are, but for their ids. Errors: those of GraphBuilder.
Result<Graph> WithOrder(const Graph& graph, std::span<const OpId> order);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_REORDER_H_
