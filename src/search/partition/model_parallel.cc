#include "search/partition/model_parallel.h"

#include <algorithm>
#include <numeric>

#include "graph/contraction.h"
#include "graph/partition/partition.h"
#include "search/partition/partition_placers.h"

namespace placewright {
namespace {

// `node_of`: of each op, below `nodes`, or `nodes` where it is not cut.
Result<std::vector<int32_t>> Cut(const Graph& graph, const CostTable& costs,
                                 const IdVector<OpId, GroupId>& node_of, size_t nodes, size_t parts,
                                 const std::vector<double>& speeds) {
  const ContractedGraph contracted = Contract(graph, node_of, nodes + 1);
  WeightedGraph directed;
  directed.weights.resize(1);
  for (const GroupId node : IdRange<GroupId>(nodes)) {
    int64_t time = 0;
    for (const OpId op : contracted.members[node]) {
      time = SaturatingAdd(time, std::max<int64_t>(0, costs.MinTime(op).count));
    }
    directed.weights[0].push_back(time);
    for (const GroupEdge& edge : contracted.successors[node]) {
      const bool cut = edge.group.index() < nodes;
      if (cut) directed.edges.push_back({edge.group.value(), edge.bytes.count});
    }
    directed.offsets.push_back(static_cast<int32_t>(directed.edges.size()));
  }
  PartitionOptions options;
  options.parts = static_cast<int>(parts);
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  for (const double speed : speeds) options.shares.push_back({speed / all});
  return PartitionMetis(MakeUndirected(directed), options);
}

GroupPlacement PlaceAll(const PlacerInput& input) {
  const Problem& problem = input.problem;
  IdVector<OpId, GroupId> node_of;
  for (const OpId op : problem.graph->ops()) {
    node_of.push_back(GroupId(problem.group_of[op].value()));
  }
  return PlacePartition(input, "model-parallel",
                        Cut(*problem.graph, *problem.costs, node_of, input.groups.size(),
                            input.candidates.accelerators.size(), {}));
}

}  // namespace

ModelParallelPlanner::ModelParallelPlanner()
    : ConstructivePlanner("model-parallel",
                          "whole ops in one part a device, alike in time (TAG, sec. 4.1.1)",
                          &PlaceAll, /*attempts=*/1) {}

Status PlaceModelParallel(const Graph& graph, const CostTable& costs,
                          const std::vector<GroupId>& groups, const std::vector<DeviceId>& devices,
                          const std::vector<double>& speeds, Layouts& layouts) {
  IdVector<GroupId, GroupId> node(graph.group_count(), GroupId(groups.size()));
  for (size_t i = 0; i < groups.size(); ++i) node[groups[i]] = GroupId(i);
  IdVector<OpId, GroupId> node_of;
  for (const OpId op : graph.ops()) node_of.push_back(node[graph.group(op)]);
  PW_ASSIGN(const std::vector<int32_t> part,
            Cut(graph, costs, node_of, groups.size(), devices.size(), speeds));
  const size_t first = layouts.layouts.size();
  for (const DeviceId device : devices) layouts.layouts.push_back(PlacedOn(device));
  for (size_t i = 0; i < groups.size(); ++i) {
    layouts.of_group[groups[i]] = LayoutId(first + static_cast<size_t>(part[i]));
  }
  return Ok();
}

}  // namespace placewright
