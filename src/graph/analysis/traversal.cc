#include "graph/analysis/traversal.h"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

namespace placewright {
namespace {

constexpr std::array<TraversalOrder, 6> kOrders{
    TraversalOrder::kTopo,         TraversalOrder::kReversedTopo, TraversalOrder::kDfsPreorder,
    TraversalOrder::kDfsPostorder, TraversalOrder::kBfs,          TraversalOrder::kLexico};
constexpr std::array<std::string_view, 6> kNames{"topo",          "reversed-topo", "dfs-preorder",
                                                 "dfs-postorder", "bfs",           "lexico"};

using Rows = Csr<OpId, OpId>;

int32_t NodeCount(const Rows& rows) { return static_cast<int32_t>(rows.offsets.size()) - 1; }

std::vector<int32_t> InDegrees(const Rows& rows) {
  std::vector<int32_t> degrees(NodeCount(rows), 0);
  for (OpId to : rows.items) ++degrees[to.index()];
  return degrees;
}

// Kahn's algorithm; of the nodes that are ready the last one comes first, or the first one.
enum class Ready { kStack, kQueue };
std::vector<int32_t> Topo(const Rows& rows, Ready kept_in) {
  std::vector<int32_t> waiting = InDegrees(rows), order;
  order.reserve(waiting.size());
  std::vector<char> done(waiting.size(), 0);
  std::deque<int32_t> ready;
  for (int32_t i = 0; i < NodeCount(rows); ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const int32_t node = kept_in == Ready::kStack ? ready.back() : ready.front();
    kept_in == Ready::kStack ? ready.pop_back() : ready.pop_front();
    order.push_back(node);
    done[node] = 1;
    for (OpId to : rows[OpId(node)]) {
      if (--waiting[to.index()] == 0) ready.push_back(to.value());
    }
  }
  for (int32_t i = 0; i < NodeCount(rows); ++i) {
    if (!done[i]) order.push_back(i);
  }
  return order;
}

// Pre- and postorder of one depth-first walk without recursion: graphs are 80,000 ops deep.
std::vector<int32_t> DepthFirst(const Rows& rows, bool preorder) {
  std::vector<int32_t> order;
  order.reserve(NodeCount(rows));
  std::vector<char> met(NodeCount(rows), 0);
  struct Frame {
    int32_t node, next;
  };
  std::vector<Frame> stack;
  const auto enter = [&](int32_t node) {
    met[node] = 1;
    if (preorder) order.push_back(node);
    stack.push_back({node, rows.offsets[node]});
  };
  for (int32_t start = 0; start < NodeCount(rows); ++start) {
    if (met[start]) continue;
    enter(start);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == rows.offsets[frame.node + 1]) {
        if (!preorder) order.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      const int32_t child = rows.items[frame.next++].value();
      if (!met[child]) enter(child);
    }
  }
  return order;
}

std::vector<int32_t> BreadthFirst(const Rows& rows, std::span<const int32_t> by_name) {
  std::vector<int32_t> order, starts(by_name.begin(), by_name.end());
  if (starts.empty()) {
    starts.resize(NodeCount(rows));
    std::iota(starts.begin(), starts.end(), 0);
  }
  const std::vector<int32_t> degrees = InDegrees(rows);
  std::stable_partition(starts.begin(), starts.end(), [&](int32_t i) { return degrees[i] == 0; });
  order.reserve(NodeCount(rows));
  std::vector<char> met(NodeCount(rows), 0);
  const auto append = [&](int32_t node) {
    if (met[node]) return;
    met[node] = 1;
    order.push_back(node);
  };
  size_t next = 0;
  for (int32_t start : starts) {  // beyond the sources: cycles that no source reaches
    append(start);
    for (; next < order.size(); ++next) {
      for (OpId to : rows[OpId(order[next])]) append(to.value());
    }
  }
  return order;
}

// The consumers of each op.
Rows RowsOf(const Graph& graph) {
  Rows rows;
  rows.offsets.reserve(graph.op_count() + 1);
  rows.items.reserve(graph.edge_count());
  for (OpId op : graph.ops()) {
    for (OpId to : graph.consumers(op)) rows.items.push_back(to);
    rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
  }
  return rows;
}

std::vector<OpId> OpsOf(const std::vector<int32_t>& nodes) { return {nodes.begin(), nodes.end()}; }

}  // namespace

std::span<const TraversalOrder> AllTraversalOrders() { return kOrders; }

std::string_view ToString(TraversalOrder order) { return kNames[static_cast<size_t>(order)]; }

std::optional<TraversalOrder> ParseTraversalOrder(std::string_view name) {
  for (TraversalOrder order : kOrders) {
    if (ToString(order) == name) return order;
  }
  return std::nullopt;
}

std::vector<int32_t> TraverseRows(const Csr<OpId, OpId>& rows, TraversalOrder order,
                                  std::span<const int32_t> by_name) {
  PW_CHECK(order != TraversalOrder::kLexico);
  if (order == TraversalOrder::kBfs) return BreadthFirst(rows, by_name);
  if (order == TraversalOrder::kDfsPreorder) return DepthFirst(rows, true);
  if (order == TraversalOrder::kDfsPostorder) return DepthFirst(rows, false);
  std::vector<int32_t> nodes = Topo(rows, Ready::kStack);
  if (order == TraversalOrder::kReversedTopo) std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<OpId> Traverse(const Graph& graph, TraversalOrder order) {
  std::vector<int32_t> by_name;
  if (order == TraversalOrder::kLexico || order == TraversalOrder::kBfs) {
    by_name.resize(graph.op_count());
    std::iota(by_name.begin(), by_name.end(), 0);
    std::sort(by_name.begin(), by_name.end(), [&](int32_t a, int32_t b) {
      return graph.op(OpId(a)).name < graph.op(OpId(b)).name;
    });
  }
  return OpsOf(order == TraversalOrder::kLexico ? by_name
                                                : TraverseRows(RowsOf(graph), order, by_name));
}

std::vector<int32_t> GenerationsOfRows(const Csr<OpId, OpId>& rows) {
  return Topo(rows, Ready::kQueue);
}

std::vector<OpId> Generations(const Graph& graph) {
  return OpsOf(GenerationsOfRows(RowsOf(graph)));
}

}  // namespace placewright
