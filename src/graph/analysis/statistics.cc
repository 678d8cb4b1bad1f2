#include "graph/analysis/statistics.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace placewright {
namespace {

struct Adjacency {
  std::vector<int32_t> offsets{0}, items;
  int32_t nodes() const { return static_cast<int32_t>(offsets.size()) - 1; }
};

Adjacency BothWays(const Graph& graph) {
  Adjacency both;
  both.offsets.reserve(graph.op_count() + 1);
  both.items.reserve(2 * graph.edge_count());
  for (OpId op : graph.ops()) {
    for (OpId other : graph.producers(op)) both.items.push_back(other.value());
    for (OpId other : graph.consumers(op)) both.items.push_back(other.value());
    both.offsets.push_back(static_cast<int32_t>(both.items.size()));
  }
  return both;
}

// Distances from one node; scratch is kept between searches.
class BreadthFirstSearch {
 public:
  explicit BreadthFirstSearch(const Adjacency& graph)
      : graph_(graph), distance_(graph.nodes(), -1) {}

  // The nodes that `start` leads to, nearest first. `distance` holds for them until the next call.
  const std::vector<int32_t>& From(int32_t start) {
    for (int32_t node : reached_) distance_[node] = -1;
    reached_.assign(1, start);
    distance_[start] = 0;
    for (size_t next = 0; next < reached_.size(); ++next) {
      const int32_t node = reached_[next];
      for (int32_t k = graph_.offsets[node]; k < graph_.offsets[node + 1]; ++k) {
        const int32_t other = graph_.items[k];
        if (distance_[other] >= 0) continue;
        distance_[other] = distance_[node] + 1;
        reached_.push_back(other);
      }
    }
    return reached_;
  }
  int32_t distance(int32_t node) const { return distance_[node]; }

 private:
  const Adjacency& graph_;
  std::vector<int32_t> distance_, reached_;
};

// Bounds on the eccentricity e(v) of every node of one component. After a search from u:
// max(e(u) - d, d) <= e(v) <= e(u) + d with d = distance(u, v).
class Eccentricities {
 public:
  Eccentricities(BreadthFirstSearch& search, std::vector<int32_t> component)
      : search_(search),
        nodes_(std::move(component)),
        low_(nodes_.size(), 0),
        high_(nodes_.size(), std::numeric_limits<int32_t>::max()) {}

  void SearchFrom(size_t index) {
    const std::vector<int32_t>& reached = search_.From(nodes_[index]);
    const int32_t eccentricity = search_.distance(reached.back());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const int32_t d = search_.distance(nodes_[i]);
      low_[i] = std::max(low_[i], std::max(eccentricity - d, d));
      high_[i] = std::min(high_[i], eccentricity + d);
    }
    low_[index] = high_[index] = eccentricity;
  }
  int32_t Lower() const { return *std::max_element(low_.begin(), low_.end()); }
  // The node to search from next: by turns that of largest upper and that of smallest lower bound
  // among those that can still exceed the largest lower bound; npos if there is none.
  size_t Next(bool far) const {
    const int32_t best = Lower();
    size_t next = npos;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (high_[i] <= best || low_[i] == high_[i]) continue;
      if (next == npos || (far ? high_[i] > high_[next] : low_[i] < low_[next])) next = i;
    }
    return next;
  }
  static constexpr size_t npos = static_cast<size_t>(-1);

 private:
  BreadthFirstSearch& search_;
  std::vector<int32_t> nodes_;
  std::vector<int32_t> low_, high_;
};

void AddDiameter(const Adjacency& graph, int max_searches, GraphStatistics& statistics) {
  BreadthFirstSearch search(graph);
  std::vector<char> seen(graph.nodes(), 0);
  for (int32_t start = 0; start < graph.nodes(); ++start) {
    if (seen[start]) continue;
    ++statistics.components;
    const std::vector<int32_t>& component = search.From(start);
    for (int32_t node : component) seen[node] = 1;
    // Twice the eccentricity of any node bounds the diameter of its component.
    if (2 * search.distance(component.back()) <= statistics.diameter) continue;
    Eccentricities bounds(search, component);
    bool far = true;
    size_t next = 0;
    for (int count = 0; next != Eccentricities::npos && count < max_searches; ++count) {
      bounds.SearchFrom(next);
      next = bounds.Next(far);
      far = !far;
    }
    statistics.diameter = std::max<int64_t>(statistics.diameter, bounds.Lower());
    statistics.diameter_exact &= next == Eccentricities::npos;
  }
}

// From an op no other is farther away than the longest path from it is long.
void AddDirectedDiameter(const Graph& graph, int max_searches, GraphStatistics& statistics) {
  constexpr int64_t kEdgesLookedAt = 100'000'000;
  Adjacency along;
  IdVector<OpId, int32_t> longest(graph.op_count(), 0);
  const auto& order = graph.topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    for (OpId to : graph.consumers(*op)) longest[*op] = std::max(longest[*op], longest[to] + 1);
  }
  std::vector<OpId> starts;
  for (OpId op : graph.ops()) {
    starts.push_back(op);
    for (OpId to : graph.consumers(op)) along.items.push_back(to.value());
    along.offsets.push_back(static_cast<int32_t>(along.items.size()));
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [&](OpId a, OpId b) { return longest[a] > longest[b]; });
  BreadthFirstSearch search(along);
  const int64_t limit =
      std::max<int64_t>(max_searches, kEdgesLookedAt / (statistics.edges + statistics.ops));
  int64_t searches = 0;
  for (const OpId start : starts) {
    if (longest[start] <= statistics.directed_diameter) return;
    if (searches++ == limit) break;
    const int32_t farthest = search.From(start.value()).back();
    statistics.directed_diameter =
        std::max<int64_t>(statistics.directed_diameter, search.distance(farthest));
  }
  statistics.directed_diameter_exact = searches <= limit;
}

}  // namespace

GraphStatistics ComputeStatistics(const Graph& graph, int max_searches) {
  GraphStatistics statistics;
  statistics.ops = static_cast<int64_t>(graph.op_count());
  statistics.edges = static_cast<int64_t>(graph.edge_count());
  if (statistics.ops == 0) return statistics;
  statistics.degree = static_cast<double>(statistics.edges) / static_cast<double>(statistics.ops);
  IdVector<OpId, int32_t> level(graph.op_count(), 0);
  std::vector<int64_t> ops_at;
  for (OpId op : graph.topological_order()) {
    for (OpId from : graph.producers(op)) level[op] = std::max(level[op], level[from] + 1);
    if (ops_at.size() <= static_cast<size_t>(level[op])) ops_at.resize(level[op] + 1, 0);
    ++ops_at[level[op]];
    statistics.sources += graph.producers(op).empty() ? 1 : 0;
    statistics.sinks += graph.consumers(op).empty() ? 1 : 0;
  }
  statistics.depth = static_cast<int64_t>(ops_at.size());
  statistics.width = *std::max_element(ops_at.begin(), ops_at.end());
  AddDiameter(BothWays(graph), std::max(1, max_searches), statistics);
  AddDirectedDiameter(graph, std::max(1, max_searches), statistics);
  return statistics;
}

}  // namespace placewright
