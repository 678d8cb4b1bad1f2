// Gradients of embeddings that are sparse: of a table only the rows that the batch asked for cross, not the table, as
// TensorFlow (IndexedSlices) and PyTorch (nn.Embedding with sparse=True) synchronise them.
//
// The gradient of an embedding is made of the rows of its output's gradient and of the indices. Where these are fewer
// bytes than the table and the samples are split, the gradient is made where the table is updated: by every device, by
// the parameter's server, or in parts of the table, each from all rows. Where not every device has the whole table, it
// is looked up there as well. All this is a matter of layouts; the compiler gathers the rows.
//
// A gradient is one of embeddings where nothing else is added to it: that of a table that the scores of an output layer
// use, too, is dense and stays as it was.
#ifndef PLACEWRIGHT_SEARCH_SFB_EMBEDDING_ROWS_H_
#define PLACEWRIGHT_SEARCH_SFB_EMBEDDING_ROWS_H_

#include <vector>

#include "graph/graph.h"
#include "plan/layout.h"
#include "sharding/named_axes.h"

namespace placewright {

struct EmbeddingRows {
  Layouts layouts;             // as given, where there is no such gradient
  int64_t gradients = 0;       // that are made of gathered rows
  std::vector<GroupId> moved;  // groups whose layouts are others now
};

// Of layouts of the graph that `axes` are of. Complexity: O(ops).
EmbeddingRows GatherEmbeddingRows(const Graph& graph, const NamedAxes& axes, Layouts layouts);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_SFB_EMBEDDING_ROWS_H_
