#include "search/partition/group_graph.h"

#include "graph/contraction.h"

namespace placewright {

WeightedGraph MakeGroupGraph(const Problem& problem, const GroupInfos& groups) {
  IdVector<OpId, GroupId> grouping(problem.graph->op_count());
  for (OpId op : problem.graph->ops()) {
    grouping[op] = GroupId(problem.group_of[op].value());
  }
  const ContractedGraph contracted = Contract(*problem.graph, grouping, groups.size());
  WeightedGraph directed;
  directed.weights.assign(2, {});
  for (ColocationGroupId u : IdsOf(groups)) {
    const GroupInfo& info = groups[u];
    directed.weights[0].push_back(info.time);
    directed.weights[1].push_back(SaturatingAdd(info.persistent, info.live_at_peak));
    for (const GroupEdge& edge : contracted.successors[GroupId(u.value())]) {
      directed.edges.push_back({edge.group.value(), edge.bytes.count});
    }
    directed.offsets.push_back(static_cast<int32_t>(directed.edges.size()));
  }
  return MakeUndirected(directed);
}

}  // namespace placewright
