#include "search/partition/model_parallel.h"

#include <algorithm>

#include "graph/contraction.h"
#include "graph/partition/partition.h"

namespace placewright {

Result<std::vector<int32_t>> CutByMetis(const Graph& graph, const CostTable& costs,
                                        const std::vector<GroupId>& groups, size_t parts) {
  IdVector<OpId, GroupId> group_of;
  for (const OpId op : graph.ops()) group_of.push_back(graph.group(op));
  const ContractedGraph contracted = Contract(graph, group_of, graph.group_count());
  IdVector<GroupId, int32_t> node(graph.group_count(), -1);
  for (size_t i = 0; i < groups.size(); ++i) node[groups[i]] = static_cast<int32_t>(i);
  WeightedGraph directed;
  directed.weights.resize(1);
  for (const GroupId group : groups) {
    int64_t time = 0;
    for (const OpId op : contracted.members[group]) {
      time = SaturatingAdd(time, std::max<int64_t>(0, costs.MinTime(op).count));
    }
    directed.weights[0].push_back(time);
    for (const GroupEdge& edge : contracted.successors[group]) {
      if (node[edge.group] >= 0) directed.edges.push_back({node[edge.group], edge.bytes.count});
    }
    directed.offsets.push_back(static_cast<int32_t>(directed.edges.size()));
  }
  PartitionOptions options;
  options.parts = static_cast<int>(parts);
  return PartitionMetis(MakeUndirected(directed), options);
}

}  // namespace placewright
