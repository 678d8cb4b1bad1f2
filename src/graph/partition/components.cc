#include "graph/partition/components.h"

#include <algorithm>

#include "base/units.h"

namespace placewright {
namespace {

class Tarjan {
 public:
  explicit Tarjan(const WeightedGraph& graph)
      : graph_(graph),
        index_(graph.nodes(), -1),
        low_(graph.nodes(), 0),
        component_(graph.nodes(), -1) {}

  std::vector<int32_t> Run() {
    for (int32_t i = 0; i < graph_.nodes(); ++i) {
      if (index_[i] < 0) Walk(i);
    }
    // Components close in reverse topological order.
    for (int32_t& component : component_) component = closed_ - 1 - component;
    return component_;
  }

 private:
  void Walk(int32_t start) {
    Enter(start);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next < graph_.offsets[frame.node + 1]) {
        const int32_t to = graph_.edges[frame.next++].to;
        if (index_[to] < 0) {
          Enter(to);
        } else if (component_[to] < 0) {
          low_[frame.node] = std::min(low_[frame.node], index_[to]);
        }
        continue;
      }
      const int32_t node = frame.node;
      frames_.pop_back();
      if (!frames_.empty()) {
        low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[node]);
      }
      if (low_[node] == index_[node]) Close(node);
    }
  }
  void Enter(int32_t node) {
    index_[node] = low_[node] = entered_++;
    open_.push_back(node);
    frames_.push_back({node, graph_.offsets[node]});
  }
  void Close(int32_t root) {
    int32_t node;
    do {
      node = open_.back();
      open_.pop_back();
      component_[node] = closed_;
    } while (node != root);
    ++closed_;
  }

  struct Frame {
    int32_t node, next;
  };
  const WeightedGraph& graph_;
  std::vector<int32_t> index_, low_, component_, open_;
  std::vector<Frame> frames_;
  int32_t entered_ = 0, closed_ = 0;
};

}  // namespace

std::vector<int32_t> StronglyConnectedComponents(const WeightedGraph& graph) {
  return Tarjan(graph).Run();
}

WeightedGraph ContractComponents(const WeightedGraph& graph,
                                 const std::vector<int32_t>& component_of) {
  int32_t components = 0;
  for (int32_t component : component_of) components = std::max(components, component + 1);
  std::vector<std::vector<WeightedEdge>> rows(components);
  WeightedGraph result;
  result.weights.assign(graph.weights.size(), std::vector<int64_t>(components, 0));
  for (int32_t i = 0; i < graph.nodes(); ++i) {
    const int32_t from = component_of[i];
    for (size_t c = 0; c < graph.weights.size(); ++c) {
      result.weights[c][from] = SaturatingAdd(result.weights[c][from], graph.weights[c][i]);
    }
    for (int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      const WeightedEdge& edge = graph.edges[k];
      if (component_of[edge.to] != from) rows[from].push_back({component_of[edge.to], edge.weight});
    }
  }
  for (std::vector<WeightedEdge>& row : rows) {
    std::sort(row.begin(), row.end(),
              [](const WeightedEdge& a, const WeightedEdge& b) { return a.to < b.to; });
    for (const WeightedEdge& edge : row) {
      const bool repeats = result.edges.size() > static_cast<size_t>(result.offsets.back()) &&
                           result.edges.back().to == edge.to;
      if (repeats) {
        result.edges.back().weight = SaturatingAdd(result.edges.back().weight, edge.weight);
      } else {
        result.edges.push_back(edge);
      }
    }
    result.offsets.push_back(static_cast<int32_t>(result.edges.size()));
  }
  return result;
}

}  // namespace placewright
