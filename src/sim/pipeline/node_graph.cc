#include "sim/pipeline/node_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace placewright {

NodeRows::NodeRows(size_t nodes, std::vector<std::pair<int32_t, int32_t>> pairs)
    : begin_(nodes + 1, 0) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  items_.reserve(pairs.size());
  for (const auto& [from, to] : pairs) {
    ++begin_[from + 1];
    items_.push_back(to);
  }
  for (size_t i = 0; i < nodes; ++i) begin_[i + 1] += begin_[i];
}

NodeRows RowsOf(const PipelineWorkload& workload, bool reverse) {
  std::vector<std::pair<int32_t, int32_t>> pairs;
  pairs.reserve(workload.edges.size());
  for (const WorkloadEdge& edge : workload.edges) {
    pairs.push_back(reverse ? std::pair(edge.to, edge.from) : std::pair(edge.from, edge.to));
  }
  return NodeRows(workload.nodes.size(), std::move(pairs));
}

std::vector<int32_t> OrderOf(size_t nodes, const NodeRows& successors) {
  std::vector<int32_t> waits_for(nodes, 0), order;
  order.reserve(nodes);
  for (size_t node = 0; node < nodes; ++node) {
    for (const int32_t next : successors[static_cast<int32_t>(node)]) ++waits_for[next];
  }
  for (size_t node = 0; node < nodes; ++node) {
    if (waits_for[node] == 0) order.push_back(static_cast<int32_t>(node));
  }
  for (size_t done = 0; done < order.size(); ++done) {
    for (const int32_t next : successors[order[done]]) {
      if (--waits_for[next] == 0) order.push_back(next);
    }
  }
  return order;
}

Result<std::vector<int32_t>> OrderOf(const PipelineWorkload& workload, const NodeRows& successors) {
  std::vector<int32_t> order = OrderOf(workload.nodes.size(), successors);
  if (order.size() == workload.nodes.size()) return order;
  std::vector<bool> ordered(workload.nodes.size(), false);
  for (const int32_t node : order) ordered[node] = true;
  const auto left = std::find(ordered.begin(), ordered.end(), false) - ordered.begin();
  return MakeError(ErrorCode::kGraphCycle,
                   fmt::format("node {} lies on a cycle or behind one", workload.nodes[left].id));
}

}  // namespace placewright
