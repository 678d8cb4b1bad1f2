#include "study/traversal/group_graph.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace placewright {
namespace {

using Edges = std::vector<std::pair<int32_t, int32_t>>;  // from the node with the smaller number
constexpr int64_t kEdgesLookedAt = 200'000'000;

GroupGraphStatistics Count(int32_t nodes, Edges edges);

}  // namespace

GroupGraphStatistics CountGroupGraph(const Graph& graph) {
  // Nodes by the first op in topological order.
  IdVector<GroupId, int32_t> node_of(graph.group_count(), -1);
  int32_t nodes = 0;
  for (const OpId op : graph.topological_order()) {
    if (node_of[graph.group(op)] < 0) node_of[graph.group(op)] = nodes++;
  }
  Edges edges;
  for (const OpId op : graph.ops()) {
    const int32_t to = node_of[graph.group(op)];
    for (const OpId producer : graph.producers(op)) {
      const int32_t from = node_of[graph.group(producer)];
      if (from < to) edges.emplace_back(from, to);
    }
  }
  return Count(nodes, std::move(edges));
}

GroupGraphStatistics CountUnitGraph(const PlacementUnits& units) {
  Edges edges;
  for (const auto& [from, to] : units.edges) {
    if (from < to) edges.emplace_back(static_cast<int32_t>(from), static_cast<int32_t>(to));
  }
  return Count(static_cast<int32_t>(units.size()), std::move(edges));
}

namespace {

GroupGraphStatistics Count(int32_t nodes, Edges edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  GroupGraphStatistics counted;
  counted.nodes = nodes;
  counted.edges = static_cast<int64_t>(edges.size());
  if (nodes == 0) return counted;
  counted.degree = static_cast<double>(counted.edges) / static_cast<double>(counted.nodes);
  std::vector<size_t> first(static_cast<size_t>(nodes) + 1, 0);
  for (const auto& [from, to] : edges) ++first[static_cast<size_t>(from) + 1];
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<int32_t> distance(static_cast<size_t>(nodes), -1), reached;
  int64_t looked_at = 0;
  for (int32_t start = 0; start < nodes; ++start) {
    // Nothing that is left is farther from it.
    if (nodes - 1 - start <= counted.diameter) break;
    if (looked_at > kEdgesLookedAt) {
      counted.diameter_exact = false;
      break;
    }
    for (const int32_t node : reached) distance[static_cast<size_t>(node)] = -1;
    reached.assign(1, start);
    distance[static_cast<size_t>(start)] = 0;
    for (size_t next = 0; next < reached.size(); ++next) {
      const auto node = static_cast<size_t>(reached[next]);
      for (size_t edge = first[node]; edge < first[node + 1]; ++edge) {
        ++looked_at;
        const auto to = static_cast<size_t>(edges[edge].second);
        if (distance[to] >= 0) continue;
        distance[to] = distance[node] + 1;
        reached.push_back(edges[edge].second);
      }
    }
    counted.diameter =
        std::max<int64_t>(counted.diameter, distance[static_cast<size_t>(reached.back())]);
  }
  return counted;
}

}  // namespace
}  // namespace placewright
