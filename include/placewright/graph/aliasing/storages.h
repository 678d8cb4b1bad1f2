// Derives storages, versions and byte ranges of a graph under construction, and the order edges
// that follow from them. A part of GraphBuilder::Build.
#ifndef PLACEWRIGHT_GRAPH_ALIASING_STORAGES_H_
#define PLACEWRIGHT_GRAPH_ALIASING_STORAGES_H_

#include <placewright/graph/graph.h>

#include <span>
#include <vector>

namespace placewright {

// kViewIfPossible: a view if strides allow one (`reshape`), else fresh; decided by Build.
enum class AliasKind : uint8_t { kFresh, kView, kViewIfPossible, kInPlace };

struct TensorAlias {
  AliasKind kind = AliasKind::kFresh;
  TensorId base;
};

// Walks the ops in `order` (file order; a topological order for files that list ops in any order)
// and fills in: of every tensor the storage, version, offset, length and strides; of every op
// `input_versions` and `is_view`; all storages. A storage's id follows the id of its first tensor.
void DeriveStorages(GraphData& graph, const IdVector<TensorId, TensorAlias>& aliases,
                    std::span<const OpId> order);

// The order edges (Graph::order_edges) that follow from storages' versions and the data edges.
//   read after write:  writer of version v -> every op that reads v (views of it included)
//   write after read:  every op that reads v, views excepted -> writer of v + 1
//   write after write: writer of v -> writer of v + 1
// Complexity: O(inputs log inputs).
std::vector<OrderEdge> RequiredOrderEdges(const GraphData& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_ALIASING_STORAGES_H_
