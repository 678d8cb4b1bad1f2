#include "search/problem/group_info.h"

#include <algorithm>
#include <numeric>

#include "search/problem/lifetimes.h"

namespace placewright {
namespace {

void AddLiveBytes(const Problem& problem, const OpGraph& graph, std::vector<GroupInfo>& groups) {
  const Lifetimes lives = FindLifetimes(problem, graph);
  for (size_t s = 0; s < lives.first.size(); ++s) {
    if (!lives.AliveAtPeak(s)) continue;
    int64_t& bytes = groups[lives.group[s]].live_at_peak;
    bytes = SaturatingAdd(bytes, problem.sim_graph.storage_bytes[s]);
  }
}

// accompanies[u]: the group of the first exec op elsewhere that reads content which u holds from
// before the step.
std::vector<int32_t> FirstReaders(const OpGraph& graph, const std::vector<GroupInfo>& groups) {
  std::vector<int32_t> accompanies(groups.size(), -1);
  for (int32_t op : graph.order) {
    for (const OpInput& input : graph.Inputs(op)) {
      if (input.home_group < 0 || input.home_group == graph.group_of[op]) continue;
      int32_t& with = accompanies[input.home_group];
      if (with < 0 && !groups[input.home_group].forward) with = graph.group_of[op];
    }
  }
  return accompanies;
}

// For the other groups without forward ops: a group of the same module that they read from, if it
// is a forward group or accompanies one; else any such.
void AddForwardCompanions(const OpGraph& graph, const std::vector<GroupInfo>& groups,
                          std::vector<int32_t>& accompanies) {
  std::vector<char> same_module(groups.size(), 0), fixed(groups.size(), 0);
  for (size_t u = 0; u < groups.size(); ++u) fixed[u] = accompanies[u] >= 0;
  for (int32_t op : graph.order) {
    const int32_t group = graph.group_of[op];
    if (groups[group].forward || fixed[group]) continue;
    for (const OpInput& input : graph.Inputs(op)) {
      if (input.producer < 0 || graph.group_of[input.producer] == group) continue;
      const int32_t other = graph.group_of[input.producer];
      const bool same = groups[other].module == groups[group].module;
      const int32_t with = groups[other].forward ? other : accompanies[other];
      const bool better = accompanies[group] < 0 || (same && !same_module[group]);
      if (with < 0 || with == group || !better) continue;
      accompanies[group] = with;
      same_module[group] = same;
    }
  }
}

// Follows chains of companions to their ends; a chain that runs in a circle ends where it started.
void SetLeaders(const std::vector<int32_t>& accompanies, std::vector<GroupInfo>& groups) {
  for (size_t u = 0; u < groups.size(); ++u) {
    int32_t leader = static_cast<int32_t>(u);
    for (int hops = 0; hops < 64 && accompanies[leader] >= 0 && !groups[leader].forward; ++hops) {
      leader = accompanies[leader];
    }
    const bool ends = groups[leader].forward || accompanies[leader] < 0;
    groups[u].leader = ends ? leader : static_cast<int32_t>(u);
  }
}

}  // namespace

std::vector<GroupInfo> DescribeGroups(const Problem& problem, const OpGraph& graph) {
  const Graph& ops = *problem.graph;
  std::vector<GroupInfo> groups(problem.groups.size());
  std::vector<char> seen(groups.size(), 0), has_exec(groups.size(), 0),
      module_set(groups.size(), 0);
  int32_t position = 0;
  for (OpId op : ops.topological_order()) {
    const int32_t u = problem.group_of[op];
    GroupInfo& group = groups[u];
    if (!seen[u]) group.position = position, group.module = ops.op(op).module, seen[u] = 1;
    ++position;
    if (ops.op(op).phase == Phase::kForward && !module_set[u]) {
      group.module = ops.op(op).module;
      module_set[u] = 1;
    }
    const int32_t exec = problem.sim_graph.exec_of[op.index()];
    if (exec < 0) continue;
    has_exec[u] = 1;
    group.forward |= ops.op(op).phase == Phase::kForward;
    group.time = SaturatingAdd(group.time, std::max<int64_t>(0, problem.sim_graph.min_time[exec]));
  }
  for (size_t u = 0; u < groups.size(); ++u) {
    groups[u].persistent = problem.groups[u].persistent.count;
    if (!has_exec[u]) groups[u].forward = module_set[u] && groups[u].persistent == 0;
  }
  std::vector<int32_t> accompanies = FirstReaders(graph, groups);
  AddForwardCompanions(graph, groups, accompanies);
  SetLeaders(accompanies, groups);
  AddLiveBytes(problem, graph, groups);
  return groups;
}

std::vector<int64_t> LeaderBytes(const std::vector<GroupInfo>& groups) {
  std::vector<int64_t> bytes(groups.size(), 0);
  for (const GroupInfo& group : groups) {
    bytes[group.leader] =
        SaturatingAdd(bytes[group.leader], SaturatingAdd(group.persistent, group.live_at_peak));
  }
  return bytes;
}

void PlaceFollowers(const std::vector<GroupInfo>& groups,
                    const std::vector<std::vector<int32_t>>& allowed,
                    std::vector<int32_t>& device_of) {
  for (size_t u = 0; u < groups.size(); ++u) {
    if (groups[u].leader == static_cast<int32_t>(u)) continue;
    const int32_t wanted = device_of[groups[u].leader];
    const bool may = std::find(allowed[u].begin(), allowed[u].end(), wanted) != allowed[u].end();
    device_of[u] = may ? wanted : allowed[u].front();
  }
}

std::vector<int32_t> GroupsByPosition(const std::vector<GroupInfo>& groups) {
  std::vector<int32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return groups[a].position < groups[b].position; });
  return order;
}

}  // namespace placewright
