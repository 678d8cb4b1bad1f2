// Bags of an embedding that all have the same length.
//
// `_embedding_bag(weight, indices, offsets)` sums rows of a table for each bag, whose indices lie behind one another;
// where a bag begins says `offsets`, by value, so that its rule leaves the bags whole. Where a step makes them itself
// as 0, k, 2 k, ... of all bags (nn.EmbeddingBag on a matrix of indices, k a row), the bags of some samples are their
// indices with offsets of their own, which begin at 0 again. Found are regions of such offsets and all that reads
// them, as of rows that are sorted (routing.h): each has a rule in which the batch can be split.
#ifndef PLACEWRIGHT_SHARDING_BAGS_H_
#define PLACEWRIGHT_SHARDING_BAGS_H_

#include "graph/graph.h"
#include "sharding/routing.h"

namespace placewright {

// Adds rules, regions and tensors (offsets, and of each index its bag) of such bags. The graph must prove how it
// follows its batch; `found.tensors` has an entry for each of its tensors. Complexity: O(ops + edges).
void AddRegularBags(const Graph& graph, RoutedRows& found);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_BAGS_H_
