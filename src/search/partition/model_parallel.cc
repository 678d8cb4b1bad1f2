#include "search/partition/model_parallel.h"

#include <algorithm>

#include "graph/contraction.h"
#include "graph/partition/partition.h"
#include "search/partition/group_graph.h"
#include "search/partition/partition_placers.h"

namespace placewright {
namespace {

Result<std::vector<int32_t>> Cut(WeightedGraph graph, size_t parts) {
  graph.weights.resize(1);
  PartitionOptions options;
  options.parts = static_cast<int>(parts);
  return PartitionMetis(graph, options);
}

GroupPlacement PlaceAll(const PlacerInput& input) {
  return PlacePartition(
      input, "model-parallel",
      Cut(MakeGroupGraph(input.problem, input.groups), input.candidates.accelerators.size()));
}

}  // namespace

ModelParallelPlanner::ModelParallelPlanner()
    : ConstructivePlanner(
          "model-parallel",
          "whole ops in one part a device, alike in time (TAG, TPDS 2024, sec. 4.1.1)", &PlaceAll,
          /*attempts=*/1) {}

Status PlaceModelParallel(const Graph& graph, const CostTable& costs,
                          const std::vector<GroupId>& groups, const std::vector<DeviceId>& devices,
                          Layouts& layouts) {
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
  PW_ASSIGN(const std::vector<int32_t> part, Cut(MakeUndirected(directed), devices.size()));
  const size_t first = layouts.layouts.size();
  for (const DeviceId device : devices) layouts.layouts.push_back(PlacedOn(device));
  for (size_t i = 0; i < groups.size(); ++i) {
    layouts.of_group[groups[i]] = LayoutId(first + static_cast<size_t>(part[i]));
  }
  return Ok();
}

}  // namespace placewright
