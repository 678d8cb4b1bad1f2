// The transform `split-backward`: ops that make the gradients of an input and of weights become two, so that a pipeline's
// late weight gradients (zb-h1, pipeline.h) are ops of their own, as those of products are from the beginning.
//
//   X, a convolution's backward op    X makes the input's gradient, X.weights those of weight and bias; tensors keep names
//
// Both are the same operator with another mask, and read what X read (sharding/separable_results.h, which says why norms
// are not among them).
#ifndef PLACEWRIGHT_TRANSFORMS_SPLIT_BACKWARD_H_
#define PLACEWRIGHT_TRANSFORMS_SPLIT_BACKWARD_H_

#include <memory>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

// nullptr: no op makes both. O(ops + edges).
Result<std::unique_ptr<Graph>> WithSplitBackward(const Graph& step);

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_SPLIT_BACKWARD_H_
