#include "search/local/move_sets.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "search/local/patterns.h"

namespace placewright {
namespace {

constexpr ColocationGroupId kNone, kUnknown(-2);

// Label of two followers' labels: the same one, or none.
ColocationGroupId Common(ColocationGroupId a, ColocationGroupId b) {
  return a == kUnknown ? b : a == b ? a : kNone;
}

// For every group, the group whose update is all that its results are for; kNone otherwise.
IdVector<ColocationGroupId, ColocationGroupId> UpdatesServed(const OpGraph& graph, size_t groups) {
  IdVector<ColocationGroupId, char> updates(groups, 0);  // has an optimizer op
  for (ExecOpId op : graph.exec_ops()) {
    if (graph.phase[op] == Phase::kOptimizer) updates[graph.group_of[op]] = 1;
  }
  IdVector<ExecOpId, ColocationGroupId> label(graph.ops, kNone);
  IdVector<ColocationGroupId, ColocationGroupId> of_group(groups, kUnknown);
  for (auto it = graph.order.rbegin(); it != graph.order.rend(); ++it) {
    const ExecOpId op = *it;
    const ColocationGroupId group = graph.group_of[op];
    ColocationGroupId common = kUnknown;
    if (updates[group]) {
      common = graph.phase[op] == Phase::kForward ? kNone : group;
    } else if (graph.phase[op] == Phase::kBackward) {
      for (ExecOpId next : graph.Successors(op)) {
        // Later ops of the same group speak for the group as a whole.
        if (graph.group_of[next] != group) common = Common(common, label[next]);
      }
    } else {
      common = kNone;
    }
    if (common != kUnknown) of_group[group] = Common(of_group[group], common);
    label[op] = of_group[group] == kUnknown ? kNone : of_group[group];
  }
  for (ColocationGroupId& served : of_group) {
    if (served == kUnknown) served = kNone;
  }
  return of_group;
}

}  // namespace

MoveSets::MoveSets(const Problem& problem, const OpGraph& graph, const GroupInfos& groups) {
  const GroupToGroup branch_of = UpdatesServed(graph, groups.size());
  AddBranches(branch_of);
  AddModules(problem, groups, branch_of);
  AddPatterns(problem, graph, groups);
  AddHalves(GroupsByPosition(groups));
  Finish(groups.size());
}

void MoveSets::Add(GroupSet groups) {
  std::sort(groups.begin(), groups.end());
  if (groups.size() >= 2) sets_.push_back(std::move(groups));
}

void MoveSets::AddBranches(const GroupToGroup& branch_of) {
  std::map<ColocationGroupId, GroupSet> branches;
  for (ColocationGroupId u : IdsOf(branch_of)) {
    if (branch_of[u].valid()) branches[branch_of[u]].push_back(u);
  }
  for (auto& [update, members] : branches) {
    GroupSet without;
    for (ColocationGroupId group : members) {
      if (group != update) without.push_back(group);
    }
    Add(std::move(without));
    if (std::find(members.begin(), members.end(), update) == members.end()) {
      members.push_back(update);
    }
    Add(members);
  }
}

void MoveSets::AddModules(const Problem& problem, const GroupInfos& groups,
                          const GroupToGroup& branch_of) {
  enum ModuleRole { kForwardRole, kBackwardRole, kBranchRole, kAllRoles, kRoles };
  std::map<std::string_view, std::array<GroupSet, kRoles>> below;
  std::map<std::string_view, bool> leaf;
  for (ColocationGroupId group : GroupsByPosition(groups)) {
    const std::string& path = problem.graph->module_path(groups[group].module);
    const ModuleRole role = groups[group].forward      ? kForwardRole
                            : branch_of[group].valid() ? kBranchRole
                            : groups[group].persistent ? kBranchRole
                                                       : kBackwardRole;
    leaf[path] = true;
    for (size_t end = path.size(); end > 0; --end) {
      if (end < path.size() && path[end] != '.' && path[end] != '/') continue;
      auto& sets = below[std::string_view(path).substr(0, end)];
      sets[role].push_back(group);
      sets[kAllRoles].push_back(group);
    }
  }
  for (const auto& [path, sets] : below) {
    for (const GroupSet& set : sets) {
      if (leaf.count(path) > 0) {
        AddHalves(set);
      } else {
        Add(set);
      }
    }
  }
}

void MoveSets::AddPatterns(const Problem& problem, const OpGraph& graph, const GroupInfos& groups) {
  const IdVector<ColocationGroupId, uint64_t> label = PatternLabels(problem, graph);
  std::map<std::pair<ModuleId, uint64_t>, GroupSet> sets;
  for (ColocationGroupId group : GroupsByPosition(groups)) {
    sets[{groups[group].module, label[group]}].push_back(group);
  }
  for (const auto& [part, set] : sets) AddHalves(set);
}

void MoveSets::AddHalves(GroupSet by_position) {
  if (by_position.size() < 2) return;
  if (by_position.size() >= 6) {
    const auto middle = by_position.begin() + static_cast<std::ptrdiff_t>(by_position.size() / 2);
    AddHalves(GroupSet(by_position.begin(), middle));
    AddHalves(GroupSet(middle, by_position.end()));
  }
  Add(std::move(by_position));
}

// Equal sets once, in a fixed order; then the rows of both directions.
void MoveSets::Finish(size_t groups) {
  std::sort(sets_.begin(), sets_.end());
  sets_.erase(std::unique(sets_.begin(), sets_.end()), sets_.end());
  std::vector<int32_t>& starts = of_group_.offsets;
  starts.assign(groups + 1, 0);
  for (const GroupSet& set : sets_) {
    members_.items.insert(members_.items.end(), set.begin(), set.end());
    members_.offsets.push_back(static_cast<int32_t>(members_.items.size()));
    for (ColocationGroupId group : set) ++starts[group.index() + 1];
  }
  for (size_t u = 0; u < groups; ++u) starts[u + 1] += starts[u];
  of_group_.items.resize(members_.items.size());
  std::vector<int32_t> next(starts.begin(), starts.end() - 1);
  for (MoveSetId move_set : IdRange<MoveSetId>(size())) {
    for (ColocationGroupId group : members_[move_set]) {
      of_group_.items[next[group.index()]++] = move_set;
    }
  }
  sets_ = {};
}

}  // namespace placewright
