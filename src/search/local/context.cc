#include "search/local/context.h"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

void AddNeighbours(LocalContext& context) {
  const OpGraph& graph = context.graph;
  const size_t groups = context.problem.groups.size();
  std::vector<std::pair<ColocationGroupId, ColocationGroupId>> pairs;
  for (ExecOpId op : graph.exec_ops()) {
    for (const OpInput& input : graph.Inputs(op)) {
      const ColocationGroupId from = graph.SourceOf(input);
      if (!from.valid() || from == graph.group_of[op]) continue;
      pairs.emplace_back(from, graph.group_of[op]);
      pairs.emplace_back(graph.group_of[op], from);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::vector<int32_t>& offsets = context.neighbours.offsets;
  offsets.assign(groups + 1, 0);
  for (const auto& [group, neighbour] : pairs) {
    ++offsets[group.index() + 1];
    context.neighbours.items.push_back(neighbour);
  }
  for (size_t u = 0; u < groups; ++u) offsets[u + 1] += offsets[u];
}

void AddTimes(const GroupInfos& groups, LocalContext& context) {
  int64_t sum = 0;
  for (const GroupInfo& group : groups) {
    sum = SaturatingAdd(sum, group.time);
    context.time_before.push_back(sum);
  }
  std::vector<std::pair<int64_t, MoveSetId>> move_sets;  // the time, negative
  for (MoveSetId move_set : IdRange<MoveSetId>(context.move_sets.size())) {
    int64_t time = 0;
    for (ColocationGroupId group : context.move_sets.members(move_set)) {
      time = SaturatingAdd(time, groups[group].time);
    }
    move_sets.emplace_back(-time, move_set);
  }
  std::sort(move_sets.begin(), move_sets.end());
  for (const auto& [time, move_set] : move_sets) context.largest.push_back(move_set);
}

}  // namespace

LocalContext MakeLocalContext(const Problem& problem, const OpGraph& graph,
                              const CandidateDevices& candidates, const MoveSets& move_sets,
                              const GroupInfos& groups) {
  LocalContext context{problem, graph, candidates, move_sets, {}, {}, {}, {}, {}};
  AddNeighbours(context);
  AddTimes(groups, context);
  context.by_position = GroupsByPosition(groups);
  context.position.resize(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    context.position[context.by_position[i]] = static_cast<int32_t>(i);
  }
  return context;
}

}  // namespace placewright
