#include "graph/edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/text.h"

namespace placewright {
namespace {

// Row b of the result holds every a in whose row b stands, ascending.
Csr<OpId, OpId> Transposed(const Csr<OpId, OpId>& rows, size_t ops) {
  Csr<OpId, OpId> result;
  result.offsets.assign(ops + 1, 0);
  result.items.resize(rows.items.size());
  for (OpId to : rows.items) ++result.offsets[to.index() + 1];
  for (size_t i = 0; i < ops; ++i) result.offsets[i + 1] += result.offsets[i];
  std::vector<int32_t> next = result.offsets;
  for (OpId from : IdRange<OpId>(ops)) {
    for (OpId to : rows[from]) result.items[static_cast<size_t>(next[to.index()]++)] = from;
  }
  return result;
}

// Successors over data and order edges, ascending.
Csr<OpId, OpId> AllSuccessors(const GraphData& graph) {
  Csr<OpId, OpId> rows;
  rows.offsets.reserve(graph.ops.size() + 1);
  rows.items.reserve(graph.consumers.items.size() + graph.order_edges.size());
  auto order = graph.order_edges.begin();  // sorted by the op that comes first
  for (OpId op : IdRange<OpId>(graph.ops.size())) {
    const auto begin =
        rows.items.insert(rows.items.end(), graph.consumers[op].begin(), graph.consumers[op].end());
    const auto place = begin - rows.items.begin();
    const auto middle = static_cast<std::ptrdiff_t>(rows.items.size());
    for (; order != graph.order_edges.end() && order->from == op; ++order) {
      rows.items.push_back(order->to);
    }
    std::inplace_merge(rows.items.begin() + place, rows.items.begin() + middle, rows.items.end());
    rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
  }
  return rows;
}

// The members of each collective as one node, which stands where the first of them in id order does;
// the rows of the others are empty. An edge between members is one from the node to itself.
Csr<OpId, OpId> Contracted(const GraphData& graph, const Csr<OpId, OpId>& rows) {
  IdVector<OpId, OpId> node(graph.ops.size());
  for (OpId op : IdRange<OpId>(graph.ops.size())) node[op] = op;
  for (const Collective& collective : graph.collectives) {
    const OpId first = *std::min_element(collective.members.begin(), collective.members.end());
    for (OpId member : collective.members) node[member] = first;
  }
  IdVector<OpId, std::vector<OpId>> successors(graph.ops.size());
  for (OpId from : IdRange<OpId>(graph.ops.size())) {
    for (OpId to : rows[from]) successors[node[from]].push_back(node[to]);
  }
  Csr<OpId, OpId> contracted;
  for (std::vector<OpId>& row : successors) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    contracted.items.insert(contracted.items.end(), row.begin(), row.end());
    contracted.offsets.push_back(static_cast<int32_t>(contracted.items.size()));
  }
  return contracted;
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
  // A collective stands for its members.
  const auto name_of = [&](OpId op) {
    const bool member = !graph.collectives.empty() && graph.collective_of[op].valid();
    return member ? "collective " + Printable(graph.collectives[graph.collective_of[op]].name, 80)
                  : Printable(graph.ops[op].name, 80);
  };
  std::string names;
  for (size_t i = 0; i < cycle.size() && i < 8; ++i) {
    names += (i ? " -> " : "") + name_of(cycle[i]);
  }
  names +=
      cycle.size() > 8 ? fmt::format(" -> ... ({} ops)", cycle.size()) : " -> " + name_of(cycle[0]);
  return MakeError(ErrorCode::kGraphCycle, "the ops wait for each other: " + names);
}

}  // namespace

void DeriveDataEdges(GraphData& graph) {
  Csr<OpId, OpId>& rows = graph.producers;
  rows = {};
  rows.offsets.reserve(graph.ops.size() + 1);
  for (const Op& op : graph.ops) {
    const auto begin = static_cast<std::ptrdiff_t>(rows.items.size());
    for (TensorId input : op.inputs) {
      const OpId producer = graph.tensors[input].producer;
      if (producer.valid()) rows.items.push_back(producer);
    }
    rows.items.insert(rows.items.end(), op.after.begin(), op.after.end());
    std::sort(rows.items.begin() + begin, rows.items.end());
    rows.items.erase(std::unique(rows.items.begin() + begin, rows.items.end()), rows.items.end());
    rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
  }
  graph.consumers = Transposed(rows, graph.ops.size());
}

namespace {

const Collective* CollectiveOf(const GraphData& graph, OpId op) {
  if (graph.collectives.empty() || !graph.collective_of[op].valid()) return nullptr;
  return &graph.collectives[graph.collective_of[op]];
}

// Not a member that another one stands for.
bool IsNode(const GraphData& graph, OpId op) {
  const Collective* collective = CollectiveOf(graph, op);
  return collective == nullptr ||
         *std::min_element(collective->members.begin(), collective->members.end()) == op;
}

}  // namespace

Result<std::vector<OpId>> TopologicalOrder(const GraphData& graph) {
  const size_t count = graph.ops.size();
  Csr<OpId, OpId> successors = AllSuccessors(graph);
  if (!graph.collectives.empty()) successors = Contracted(graph, successors);
  std::vector<int32_t> waiting(count, 0);
  for (OpId to : successors.items) ++waiting[to.index()];
  std::priority_queue<OpId, std::vector<OpId>, std::greater<>> ready;
  for (OpId op : IdRange<OpId>(count)) {
    if (waiting[op.index()] == 0 && IsNode(graph, op)) ready.push(op);
  }
  std::vector<OpId> order;
  order.reserve(count);
  while (!ready.empty()) {
    const OpId op = ready.top();
    ready.pop();
    if (const Collective* collective = CollectiveOf(graph, op)) {
      order.insert(order.end(), collective->members.begin(), collective->members.end());
    } else {
      order.push_back(op);
    }
    for (OpId to : successors[op]) {
      if (--waiting[to.index()] == 0) ready.push(to);
    }
  }
  if (order.size() < count) return CycleError(graph, successors, waiting);
  return order;
}

}  // namespace placewright
