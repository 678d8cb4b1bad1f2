#include "graph/partition/op_grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "graph/partition/components.h"
#include "graph/partition/partition.h"
#include "graph/partition/tag_groups.h"

namespace placewright {
namespace {

// Repeated edges are left as they are: components and MakeUndirected add them up.
WeightedGraph FlowOf(const Graph& graph, const IdVector<OpId, Nanos>& time) {
  struct Edge {
    int32_t from, to;
    int64_t bytes;
  };
  std::vector<Edge> edges;
  for (OpId op : graph.ops()) {
    std::vector<TensorId> read = graph.op(op).inputs;
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (TensorId id : read) {
      const Tensor& tensor = graph.tensor(id);
      if (!tensor.producer.valid() || tensor.producer == op) continue;
      edges.push_back({tensor.producer.value(), op.value(), tensor.length.count});
    }
    for (OpId before : graph.op(op).after) edges.push_back({before.value(), op.value(), 0});
  }
  for (const OrderEdge& order : graph.order_edges()) {
    edges.push_back({order.from.value(), order.to.value(), 0});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.from, a.to, a.bytes) < std::tie(b.from, b.to, b.bytes);
  });
  WeightedGraph flow;
  flow.weights.emplace_back();
  size_t next = 0;
  for (OpId op : graph.ops()) {
    flow.weights[0].push_back(time[op].count);
    for (; next < edges.size() && edges[next].from == op.value(); ++next) {
      flow.edges.push_back({edges[next].to, edges[next].bytes});
    }
    flow.offsets.push_back(static_cast<int32_t>(flow.edges.size()));
  }
  return flow;
}

Result<std::vector<int32_t>> TagPartsOf(const Graph& graph, const IdVector<OpId, Nanos>& time,
                                        int parts) {
  PW_ASSIGN(const TagGrouping groups, TagGroups(graph, time, parts));
  std::vector<int32_t> part_of;
  for (OpId op : graph.ops()) part_of.push_back(groups.part_of[graph.group(op)]);
  return part_of;
}

Result<std::vector<int32_t>> PartsOf(const WeightedGraph& flow, GroupingMethod method, int parts) {
  PartitionOptions options;
  options.parts = parts;
  switch (method) {
    case GroupingMethod::kAcyclic: return PartitionAcyclic(flow, options);
    case GroupingMethod::kMetis: return PartitionMetis(MakeUndirected(flow), options);
    default: break;
  }
  return PartitionScotch(MakeUndirected(flow), options);
}

// Whether no part lies on a cycle through another.
bool IsAcyclic(const WeightedGraph& flow, const std::vector<int32_t>& part_of, size_t parts) {
  std::vector<std::vector<WeightedEdge>> rows(parts);
  for (int32_t i = 0; i < flow.nodes(); ++i) {
    for (int32_t k = flow.offsets[i]; k < flow.offsets[i + 1]; ++k) {
      const int32_t to = part_of[flow.edges[k].to];
      if (to != part_of[i]) rows[part_of[i]].push_back({to, 0});
    }
  }
  WeightedGraph quotient;
  quotient.weights.emplace_back(parts, 0);
  for (const std::vector<WeightedEdge>& row : rows) {
    quotient.edges.insert(quotient.edges.end(), row.begin(), row.end());
    quotient.offsets.push_back(static_cast<int32_t>(quotient.edges.size()));
  }
  std::vector<int32_t> component_of = StronglyConnectedComponents(quotient);
  std::sort(component_of.begin(), component_of.end());
  return std::adjacent_find(component_of.begin(), component_of.end()) == component_of.end();
}

}  // namespace

std::string_view ToString(GroupingMethod method) {
  switch (method) {
    case GroupingMethod::kAcyclic: return "acyclic";
    case GroupingMethod::kMetis: return "metis";
    case GroupingMethod::kScotch: return "scotch";
    case GroupingMethod::kTag: break;
  }
  return "tag";
}

Result<OpGrouping> GroupOps(const Graph& graph, const IdVector<OpId, Nanos>& time,
                            GroupingMethod method, int parts) {
  constexpr size_t kMax = size_t{1} << 25;
  if (graph.op_count() > kMax / static_cast<size_t>(parts)) {
    return MakeError(ErrorCode::kUsage,
                     fmt::format("{} groups of {} ops are more than {} combinations", parts,
                                 graph.op_count(), kMax),
                     "", "Ask for fewer groups.");
  }
  const WeightedGraph flow = FlowOf(graph, time);
  PW_ASSIGN(const std::vector<int32_t> part_of, method == GroupingMethod::kTag
                                                    ? TagPartsOf(graph, time, parts)
                                                    : PartsOf(flow, method, parts));
  if (method == GroupingMethod::kTag) {
    parts = part_of.empty() ? 0 : 1 + *std::max_element(part_of.begin(), part_of.end());
  }
  OpGrouping grouping;
  grouping.parts.resize(static_cast<size_t>(parts));
  grouping.part_of = IdVector<OpId, int32_t>(graph.op_count());
  for (OpId op : graph.ops()) {
    grouping.part_of[op] = part_of[op.index()];
    OpGrouping::Part& part = grouping.parts[part_of[op.index()]];
    ++part.ops;
    part.time = Nanos(SaturatingAdd(part.time.count, time[op].count));
  }
  grouping.cut = Bytes(CutWeight(flow, part_of));
  grouping.acyclic = IsAcyclic(flow, part_of, grouping.parts.size());
  return grouping;
}

}  // namespace placewright
