#include "search/problem/group_info.h"

#include <algorithm>

#include "search/problem/lifetimes.h"

namespace placewright {
namespace {

void AddLiveBytes(const Problem& problem, const OpGraph& graph, GroupInfos& groups) {
  const Lifetimes lives = FindLifetimes(problem, graph);
  for (StorageId s : problem.sim_graph.storage_ids()) {
    if (!lives.AliveAtPeak(s)) continue;
    int64_t& bytes = groups[lives.group[s]].live_at_peak;
    bytes = SaturatingAdd(bytes, problem.sim_graph.storage_bytes[s]);
  }
}

// By group, the one that it accompanies, if any.
using Companions = IdVector<ColocationGroupId, ColocationGroupId>;

// The group of the first exec op elsewhere that reads content which a group holds from before the
// step.
Companions FirstReaders(const OpGraph& graph, const GroupInfos& groups) {
  Companions accompanies(groups.size());
  for (ExecOpId op : graph.order) {
    for (const OpInput& input : graph.Inputs(op)) {
      if (!input.home_group.valid() || input.home_group == graph.group_of[op]) continue;
      ColocationGroupId& with = accompanies[input.home_group];
      if (!with.valid() && !groups[input.home_group].forward) with = graph.group_of[op];
    }
  }
  return accompanies;
}

// For the other groups without forward ops: a group of the same module that they read from, if it
// is a forward group or accompanies one; else any such.
void AddForwardCompanions(const OpGraph& graph, const GroupInfos& groups, Companions& accompanies) {
  IdVector<ColocationGroupId, char> same_module(groups.size(), 0), fixed(groups.size(), 0);
  for (ColocationGroupId u : IdsOf(groups)) fixed[u] = accompanies[u].valid();
  for (ExecOpId op : graph.order) {
    const ColocationGroupId group = graph.group_of[op];
    if (groups[group].forward || fixed[group]) continue;
    for (const OpInput& input : graph.Inputs(op)) {
      if (!input.producer.valid() || graph.group_of[input.producer] == group) continue;
      const ColocationGroupId other = graph.group_of[input.producer];
      const bool same = groups[other].module == groups[group].module;
      const ColocationGroupId with = groups[other].forward ? other : accompanies[other];
      const bool better = !accompanies[group].valid() || (same && !same_module[group]);
      if (!with.valid() || with == group || !better) continue;
      accompanies[group] = with;
      same_module[group] = same;
    }
  }
}

// Follows chains of companions to their ends; a chain that runs in a circle ends where it started.
void SetLeaders(const Companions& accompanies, GroupInfos& groups) {
  const auto ends = [&](ColocationGroupId group) {
    return groups[group].forward || !accompanies[group].valid();
  };
  for (ColocationGroupId u : IdsOf(groups)) {
    ColocationGroupId leader = u;
    for (int hops = 0; hops < 64 && !ends(leader); ++hops) leader = accompanies[leader];
    groups[u].leader = ends(leader) ? leader : u;
  }
}

}  // namespace

GroupInfos DescribeGroups(const Problem& problem, const OpGraph& graph) {
  const Graph& ops = *problem.graph;
  GroupInfos groups(problem.groups.size());
  IdVector<ColocationGroupId, char> seen(groups.size(), 0), has_exec(groups.size(), 0),
      module_set(groups.size(), 0);
  int32_t position = 0;
  for (OpId op : ops.topological_order()) {
    const ColocationGroupId u = problem.group_of[op];
    GroupInfo& group = groups[u];
    if (!seen[u]) group.position = position, group.module = ops.op(op).module, seen[u] = 1;
    ++position;
    if (ops.op(op).phase == Phase::kForward && !module_set[u]) {
      group.module = ops.op(op).module;
      module_set[u] = 1;
    }
    const ExecOpId exec = problem.sim_graph.exec_of[op];
    if (!exec.valid()) continue;
    has_exec[u] = 1;
    group.forward |= ops.op(op).phase == Phase::kForward;
    group.time = SaturatingAdd(group.time, std::max<int64_t>(0, problem.sim_graph.min_time[exec]));
  }
  for (ColocationGroupId u : problem.group_ids()) {
    groups[u].persistent = problem.groups[u].persistent.count;
    if (!has_exec[u]) groups[u].forward = module_set[u] && groups[u].persistent == 0;
  }
  Companions accompanies = FirstReaders(graph, groups);
  AddForwardCompanions(graph, groups, accompanies);
  SetLeaders(accompanies, groups);
  AddLiveBytes(problem, graph, groups);
  return groups;
}

IdVector<ColocationGroupId, int64_t> LeaderBytes(const GroupInfos& groups) {
  IdVector<ColocationGroupId, int64_t> bytes(groups.size(), 0);
  for (const GroupInfo& group : groups) {
    bytes[group.leader] =
        SaturatingAdd(bytes[group.leader], SaturatingAdd(group.persistent, group.live_at_peak));
  }
  return bytes;
}

void PlaceFollowers(const GroupInfos& groups, const GroupDevices& allowed,
                    GroupPlacement& device_of) {
  for (ColocationGroupId u : IdsOf(groups)) {
    if (groups[u].leader == u) continue;
    const DeviceId wanted = device_of[groups[u].leader];
    const bool may = std::find(allowed[u].begin(), allowed[u].end(), wanted) != allowed[u].end();
    device_of[u] = may ? wanted : allowed[u].front();
  }
}

std::vector<ColocationGroupId> GroupsByPosition(const GroupInfos& groups) {
  std::vector<ColocationGroupId> order;
  for (ColocationGroupId group : IdsOf(groups)) order.push_back(group);
  std::stable_sort(order.begin(), order.end(), [&](ColocationGroupId a, ColocationGroupId b) {
    return groups[a].position < groups[b].position;
  });
  return order;
}

}  // namespace placewright
