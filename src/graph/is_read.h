#ifndef PLACEWRIGHT_GRAPH_IS_READ_H_
#define PLACEWRIGHT_GRAPH_IS_READ_H_

#include <algorithm>

#include "graph/graph.h"

namespace placewright {

// Whether an op reads the tensor, or the step gives it. O(readers of what its op makes, and outputs).
inline bool IsRead(const Graph& graph, TensorId tensor) {
  const auto outputs = graph.outputs();
  if (std::find(outputs.begin(), outputs.end(), tensor) != outputs.end()) return true;
  const auto consumers = graph.consumers(graph.tensor(tensor).producer);
  return std::any_of(consumers.begin(), consumers.end(), [&](OpId reader) {
    const std::vector<TensorId>& inputs = graph.op(reader).inputs;
    return std::find(inputs.begin(), inputs.end(), tensor) != inputs.end();
  });
}

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_IS_READ_H_
