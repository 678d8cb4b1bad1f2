#include "graph/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/text.h"

namespace placewright {
namespace {

using Pairs = std::vector<std::pair<OpId, OpId>>;  // sorted, distinct

Csr<OpId, OpId> RowsOf(const Pairs& pairs, size_t ops) {
  Csr<OpId, OpId> rows;
  rows.offsets.assign(ops + 1, 0);
  rows.items.reserve(pairs.size());
  for (const auto& [from, to] : pairs) {
    ++rows.offsets[from.index() + 1];
    rows.items.push_back(to);
  }
  for (size_t i = 0; i < ops; ++i) rows.offsets[i + 1] += rows.offsets[i];
  return rows;
}

// Successors over data and order edges.
Csr<OpId, OpId> AllSuccessors(const GraphData& graph) {
  Pairs pairs;
  pairs.reserve(graph.consumers.items.size() + graph.order_edges.size());
  for (OpId op : IdRange<OpId>(graph.ops.size())) {
    for (OpId to : graph.consumers[op]) pairs.emplace_back(op, to);
  }
  for (const OrderEdge& edge : graph.order_edges) pairs.emplace_back(edge.from, edge.to);
  std::sort(pairs.begin(), pairs.end());
  return RowsOf(pairs, graph.ops.size());
}

// Every op left has a predecessor left, so walking backwards must come round.
Error CycleError(const GraphData& graph, const Csr<OpId, OpId>& successors,
                 const std::vector<int32_t>& waiting) {
  IdVector<OpId, OpId> predecessor(graph.ops.size());
  OpId at;
  for (OpId op : IdRange<OpId>(graph.ops.size())) {
    if (waiting[op.index()] == 0) continue;
    at = op;
    for (OpId to : successors[op]) {
      if (!predecessor[to].valid()) predecessor[to] = op;
    }
  }
  std::vector<char> seen(graph.ops.size(), 0);
  while (!seen[at.index()]) {
    seen[at.index()] = 1;
    at = predecessor[at];
  }
  std::vector<OpId> cycle;
  const OpId start = at;
  do {
    cycle.push_back(at);
    at = predecessor[at];
  } while (at != start);
  std::reverse(cycle.begin(), cycle.end());
  std::string names;
  for (size_t i = 0; i < cycle.size() && i < 8; ++i) {
    names += (i ? " -> " : "") + Printable(graph.ops[cycle[i]].name, 80);
  }
  names += cycle.size() > 8 ? fmt::format(" -> ... ({} ops)", cycle.size())
                            : " -> " + Printable(graph.ops[cycle[0]].name, 80);
  return MakeError(ErrorCode::kGraphCycle, "the ops wait for each other: " + names);
}

}  // namespace

void DeriveDataEdges(GraphData& graph) {
  Pairs pairs;
  for (OpId id : IdRange<OpId>(graph.ops.size())) {
    const Op& op = graph.ops[id];
    for (TensorId input : op.inputs) {
      const OpId producer = graph.tensors[input].producer;
      if (producer.valid()) pairs.emplace_back(producer, id);
    }
    for (OpId before : op.after) pairs.emplace_back(before, id);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  graph.consumers = RowsOf(pairs, graph.ops.size());
  for (auto& [from, to] : pairs) std::swap(from, to);
  std::sort(pairs.begin(), pairs.end());
  graph.producers = RowsOf(pairs, graph.ops.size());
}

Result<std::vector<OpId>> TopologicalOrder(const GraphData& graph) {
  const size_t count = graph.ops.size();
  const Csr<OpId, OpId> successors = AllSuccessors(graph);
  std::vector<int32_t> waiting(count, 0);
  for (OpId to : successors.items) ++waiting[to.index()];
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (OpId op : IdRange<OpId>(count)) {
    if (waiting[op.index()] == 0) ready.push(op);
  }
  std::vector<OpId> order;
  order.reserve(count);
  while (!ready.empty()) {
    const OpId op = ready.top();
    ready.pop();
    order.push_back(op);
    for (OpId to : successors[op]) {
      if (--waiting[to.index()] == 0) ready.push(to);
    }
  }
  if (order.size() < count) return CycleError(graph, successors, waiting);
  return order;
}

std::vector<OrderEdge> OrderEdgesWithoutDataPath(const Graph& graph, OrderKind kind) {
  std::vector<OrderEdge> candidates, result;
  for (const OrderEdge& edge : graph.order_edges()) {
    if (edge.kind == kind) candidates.push_back(edge);
  }
  // 64 sources at a time: one bit each, handed down the data edges in topological order.
  IdVector<OpId, uint64_t> reached(graph.op_count());
  for (size_t begin = 0; begin < candidates.size();) {
    std::fill(reached.begin(), reached.end(), 0);
    IdVector<OpId, uint64_t>& bits = reached;
    size_t end = begin;
    int sources = 0;
    OpId last;
    std::vector<uint64_t> bit_of;
    for (; end < candidates.size(); ++end) {
      if (candidates[end].from != last) {
        if (sources == 64) break;
        last = candidates[end].from;
        bits[last] |= uint64_t{1} << sources++;
      }
      bit_of.push_back(uint64_t{1} << (sources - 1));
    }
    for (OpId op : graph.topological_order()) {
      for (OpId to : graph.consumers(op)) bits[to] |= bits[op];
    }
    for (size_t i = begin; i < end; ++i) {
      if ((bits[candidates[i].to] & bit_of[i - begin]) == 0) result.push_back(candidates[i]);
    }
    begin = end;
  }
  return result;
}

}  // namespace placewright
