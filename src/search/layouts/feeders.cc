#include "search/layouts/feeders.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "graph/edges.h"

namespace placewright {

// What is smaller crosses in little more than a link's latency.
constexpr Bytes kSmall(int64_t{64} << 10);

std::vector<Feeder> FeedersOf(const LayoutProblem& problem, const LayoutBook& book,
                              const LayoutState& state, size_t max_feeders) {
  const Graph& graph = problem.graph;
  const auto devices = [&](LayoutId id) { return book[id].shares.size(); };
  std::map<std::pair<GroupId, LayoutId>, int64_t> bytes;  // that are read, the largest tensor
  for (const OpId id : graph.ops()) {
    const LayoutId layout = state.of_group[graph.group(id)];
    if (devices(layout) < 2) continue;
    const Op& op = graph.op(id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const OpId writer = WriterOf(graph, op, i);
      if (!writer.valid() || devices(state.of_group[graph.group(writer)]) > 1) continue;
      const Bytes read = graph.tensor(op.inputs[i]).bytes;
      if (read < kSmall) continue;
      int64_t& largest = bytes[{graph.group(writer), layout}];
      largest = std::max(largest, read.count);
    }
  }
  std::vector<std::tuple<int64_t, GroupId, LayoutId>> found;
  for (const auto& [feeder, count] : bytes) found.emplace_back(-count, feeder.first, feeder.second);
  std::sort(found.begin(), found.end());
  if (found.size() > max_feeders) found.resize(max_feeders);
  std::vector<Feeder> feeders;
  for (const auto& [count, group, layout] : found) feeders.push_back({group, layout});
  return feeders;
}

}  // namespace placewright
