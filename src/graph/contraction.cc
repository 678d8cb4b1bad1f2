#include "graph/contraction.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace placewright {
namespace {

// One unit on its way from the group that holds it to a group that reads it.
struct Crossing {
  GroupId from, to;
  StorageId storage;
  int32_t version;
  int64_t offset, length;
  auto Key() const { return std::tie(from, to, storage, version, offset, length); }
};

// The op at whose device the content of this version is found; invalid if it lies everywhere.
OpId HolderOf(const Graph& graph, const Storage& storage, StorageId id, int32_t version) {
  const OpId writer = storage.versions[static_cast<size_t>(version)].writer;
  if (writer.valid()) return writer;
  return storage.kind == TensorKind::kInput ? OpId() : graph.home_op(id);
}

std::vector<Crossing> Crossings(const Graph& graph, const IdVector<OpId, GroupId>& grouping) {
  std::vector<Crossing> crossings;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const GroupId to = grouping[id];
    for (size_t i = 0; i < op.inputs.size() && !op.is_view; ++i) {
      const Tensor& tensor = graph.tensor(op.inputs[i]);
      const OpId holder =
          HolderOf(graph, graph.storage(tensor.storage), tensor.storage, op.input_versions[i]);
      if (!holder.valid() || grouping[holder] == to) continue;
      crossings.push_back({grouping[holder], to, tensor.storage, op.input_versions[i],
                           tensor.offset.count, tensor.length.count});
    }
    for (OpId before : op.after) {  // no storage, no bytes
      if (grouping[before] != to) crossings.push_back({grouping[before], to, {}, 0, 0, 0});
    }
  }
  std::sort(crossings.begin(), crossings.end(),
            [](const Crossing& a, const Crossing& b) { return a.Key() < b.Key(); });
  crossings.erase(
      std::unique(crossings.begin(), crossings.end(),
                  [](const Crossing& a, const Crossing& b) { return a.Key() == b.Key(); }),
      crossings.end());
  return crossings;
}

struct Edge {
  GroupId from, to;
  Bytes bytes;
};

Csr<GroupId, GroupEdge> RowsOf(const std::vector<Edge>& edges, size_t groups) {
  Csr<GroupId, GroupEdge> rows;
  rows.offsets.assign(groups + 1, 0);
  for (const Edge& edge : edges) {
    ++rows.offsets[edge.from.index() + 1];
    rows.items.push_back({edge.to, edge.bytes});
  }
  for (size_t g = 0; g < groups; ++g) rows.offsets[g + 1] += rows.offsets[g];
  return rows;
}

}  // namespace

ContractedGraph Contract(const Graph& graph, const IdVector<OpId, GroupId>& grouping,
                         size_t groups) {
  PW_CHECK_EQ(grouping.size(), graph.op_count());
  ContractedGraph contracted;
  contracted.group_of = grouping;
  contracted.members = RowsByGroup(grouping, groups);
  std::vector<Edge> edges;
  for (const Crossing& crossing : Crossings(graph, grouping)) {
    if (edges.empty() || edges.back().from != crossing.from || edges.back().to != crossing.to) {
      edges.push_back({crossing.from, crossing.to, Bytes(0)});
    }
    edges.back().bytes = Bytes(SaturatingAdd(edges.back().bytes.count, crossing.length));
  }
  contracted.successors = RowsOf(edges, groups);
  for (Edge& edge : edges) std::swap(edge.from, edge.to);
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.from, a.to) < std::tie(b.from, b.to);
  });
  contracted.predecessors = RowsOf(edges, groups);
  return contracted;
}

}  // namespace placewright
