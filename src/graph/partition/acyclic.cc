#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>

#include "base/units.h"
#include "graph/analysis/traversal.h"
#include "graph/partition/components.h"
#include "graph/partition/partition.h"

namespace placewright {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

struct Dag {
  WeightedGraph forward, backward;
  std::vector<int64_t> weight;
};

WeightedGraph Reverse(const WeightedGraph& graph) {
  WeightedGraph reversed;
  reversed.offsets.assign(graph.offsets.size(), 0);
  reversed.edges.resize(graph.edges.size());
  for (const WeightedEdge& edge : graph.edges) ++reversed.offsets[edge.to + 1];
  std::partial_sum(reversed.offsets.begin(), reversed.offsets.end(), reversed.offsets.begin());
  std::vector<int32_t> next = reversed.offsets;
  for (int32_t i = 0; i < graph.nodes(); ++i) {
    for (int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      reversed.edges[next[graph.edges[k].to]++] = {i, graph.edges[k].weight};
    }
  }
  return reversed;
}

std::vector<std::vector<int32_t>> CandidateOrders(const WeightedGraph& dag) {
  Csr<OpId, OpId> rows;
  rows.offsets = dag.offsets;
  for (const WeightedEdge& edge : dag.edges) rows.items.push_back(OpId(edge.to));
  std::vector<int32_t> depth_first = TraverseRows(rows, TraversalOrder::kDfsPostorder);
  std::reverse(depth_first.begin(), depth_first.end());
  return {GenerationsOfRows(rows), std::move(depth_first)};
}

// limit[p]: what part p may weigh.
std::vector<int64_t> Limits(const PartitionOptions& options, int64_t total, double imbalance) {
  double shares = 0;
  for (const auto& part : options.shares) shares += part[0];
  std::vector<int64_t> limits;
  for (int p = 0; p < options.parts; ++p) {
    const double share = shares > 0 ? options.shares[p][0] / shares : 1.0 / options.parts;
    const double limit = share * (1 + imbalance) * static_cast<double>(total);
    limits.push_back(limit >= 0x1p60 ? kMaxQuantity : static_cast<int64_t>(limit));
  }
  return limits;
}

// ends[p]: where in `order` part p ends, for the smallest sum of crossing weights over the cuts;
// empty if the limits allow no cutting. crossing[i]: weight of the edges from the first i to the
// others.
std::vector<int32_t> BestCuts(const std::vector<int64_t>& prefix,
                              const std::vector<int64_t>& crossing,
                              const std::vector<int64_t>& limits) {
  const auto n = static_cast<int32_t>(prefix.size()) - 1;
  const auto parts = static_cast<int32_t>(limits.size());
  std::vector<int64_t> cost(n + 1, kNever), next(n + 1);
  std::vector<std::vector<int32_t>> from(parts, std::vector<int32_t>(n + 1, -1));
  cost[0] = 0;
  for (int32_t p = 0; p < parts; ++p) {
    std::deque<int32_t> window;  // starts of the run that ends at i, their costs ascending
    for (int32_t i = 0; i <= n; ++i) {
      while (!window.empty() && cost[window.back()] >= cost[i]) window.pop_back();
      if (cost[i] != kNever) window.push_back(i);
      while (!window.empty() && prefix[i] - prefix[window.front()] > limits[p]) window.pop_front();
      next[i] = kNever;
      if (window.empty()) continue;
      // An empty run costs nothing more: its cut is that of the run before.
      const bool empty = window.front() == i;
      const int64_t cut = i == n || i == 0 || empty ? 0 : crossing[i];
      next[i] = SaturatingAdd(cost[window.front()], cut);
      from[p][i] = window.front();
    }
    std::swap(cost, next);
  }
  if (cost[n] == kNever) return {};
  std::vector<int32_t> ends(parts);
  int32_t end = n;
  for (int32_t p = parts; p-- > 0;) {
    ends[p] = end;
    end = from[p][end];
  }
  return ends;
}

std::vector<int32_t> CutOrder(const Dag& dag, const std::vector<int32_t>& order,
                              const PartitionOptions& options, int64_t total) {
  const auto n = static_cast<int32_t>(order.size());
  std::vector<int32_t> position(n);
  for (int32_t i = 0; i < n; ++i) position[order[i]] = i;
  std::vector<int64_t> prefix(n + 1, 0), crossing(n + 1, 0);
  std::vector<__int128> change(n + 2, 0);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t node = order[i];
    prefix[i + 1] = SaturatingAdd(prefix[i], dag.weight[node]);
    for (int32_t k = dag.forward.offsets[node]; k < dag.forward.offsets[node + 1]; ++k) {
      change[i + 1] += dag.forward.edges[k].weight;
      change[position[dag.forward.edges[k].to] + 1] -= dag.forward.edges[k].weight;
    }
  }
  __int128 open = 0;
  for (int32_t i = 0; i <= n; ++i) {
    open += change[i];
    crossing[i] = open > kMaxQuantity ? kMaxQuantity : static_cast<int64_t>(open);
  }
  std::vector<int32_t> ends;
  for (double imbalance = options.imbalance; ends.empty(); imbalance = 2 * imbalance + 0.1) {
    ends = BestCuts(prefix, crossing, Limits(options, total, imbalance));
  }
  std::vector<int32_t> part_of(n);
  for (int32_t i = 0, p = 0; i < n; ++i) {
    while (i >= ends[p]) ++p;
    part_of[order[i]] = p;
  }
  return part_of;
}

// Moves single nodes while the cut falls; every edge keeps leading to the same or a later part.
class Refinement {
 public:
  Refinement(const Dag& dag, std::vector<int32_t>& part_of, std::vector<int64_t> limits)
      : dag_(dag), part_of_(part_of), limits_(std::move(limits)), load_(limits_.size(), 0) {
    for (size_t i = 0; i < part_of_.size(); ++i) {
      load_[part_of_[i]] = SaturatingAdd(load_[part_of_[i]], dag_.weight[i]);
    }
  }

  void Run() {
    constexpr int kPasses = 8;
    for (int pass = 0; pass < kPasses; ++pass) {
      bool moved = false;
      for (size_t i = 0; i < part_of_.size(); ++i) moved |= Improve(static_cast<int32_t>(i));
      if (!moved) return;
    }
  }

 private:
  bool Improve(int32_t node) {
    int32_t low = 0, high = static_cast<int32_t>(limits_.size()) - 1;
    std::vector<std::pair<int32_t, int64_t>>& pull = pull_;  // (part, weight of edges to it)
    pull.clear();
    const auto look = [&](const WeightedGraph& graph, bool before) {
      for (int32_t k = graph.offsets[node]; k < graph.offsets[node + 1]; ++k) {
        const int32_t part = part_of_[graph.edges[k].to];
        before ? low = std::max(low, part) : high = std::min(high, part);
        pull.emplace_back(part, graph.edges[k].weight);
      }
    };
    look(dag_.backward, true);
    look(dag_.forward, false);
    const int32_t here = part_of_[node];
    const auto weight_to = [&](int32_t part) {
      int64_t weight = 0;
      for (const auto& [other, w] : pull)
        weight = other == part ? SaturatingAdd(weight, w) : weight;
      return weight;
    };
    int32_t best = here;
    int64_t best_weight = weight_to(here);
    for (int32_t part : {low, high}) {
      if (part == here || SaturatingAdd(load_[part], dag_.weight[node]) > limits_[part]) continue;
      const int64_t weight = weight_to(part);
      if (weight > best_weight) best = part, best_weight = weight;
    }
    if (best == here) return false;
    load_[here] -= dag_.weight[node];
    load_[best] += dag_.weight[node];
    part_of_[node] = best;
    return true;
  }

  const Dag& dag_;
  std::vector<int32_t>& part_of_;
  std::vector<int64_t> limits_, load_;
  std::vector<std::pair<int32_t, int64_t>> pull_;
};

}  // namespace

std::vector<int32_t> PartitionAcyclic(const WeightedGraph& graph, const PartitionOptions& options) {
  if (options.parts <= 1 || graph.nodes() == 0) return std::vector<int32_t>(graph.nodes(), 0);
  const std::vector<int32_t> component_of = StronglyConnectedComponents(graph);
  Dag dag;
  dag.forward = ContractComponents(graph, component_of);
  dag.backward = Reverse(dag.forward);
  dag.weight = dag.forward.weights.front();
  int64_t total = 0;
  for (int64_t weight : dag.weight) total = SaturatingAdd(total, weight);
  std::vector<int32_t> best;
  int64_t best_cut = kNever;
  for (const std::vector<int32_t>& order : CandidateOrders(dag.forward)) {
    std::vector<int32_t> part_of = CutOrder(dag, order, options, total);
    Refinement(dag, part_of, Limits(options, total, options.imbalance)).Run();
    const int64_t cut = CutWeight(dag.forward, part_of);
    if (cut < best_cut) best = std::move(part_of), best_cut = cut;
  }
  std::vector<int32_t> result;
  result.reserve(component_of.size());
  for (int32_t component : component_of) result.push_back(best[component]);
  return result;
}

}  // namespace placewright
