#include "search/local/clusters.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "search/local/patterns.h"

namespace placewright {
namespace {

constexpr int32_t kNone = -1, kUnknown = -2;

// Label of two followers' labels: the same one, or none.
int32_t Common(int32_t a, int32_t b) { return a == kUnknown ? b : a == b ? a : kNone; }

// For every group, the group whose update is all that its results are for; kNone otherwise.
std::vector<int32_t> UpdatesServed(const OpGraph& graph, size_t groups) {
  std::vector<char> updates(groups, 0);  // has an optimizer op
  for (int32_t op = 0; op < graph.ops; ++op) {
    if (graph.phase[op] == Phase::kOptimizer) updates[graph.group_of[op]] = 1;
  }
  std::vector<int32_t> label(graph.ops, kNone), of_group(groups, kUnknown);
  for (auto it = graph.order.rbegin(); it != graph.order.rend(); ++it) {
    const int32_t op = *it, group = graph.group_of[op];
    int32_t common = kUnknown;
    if (updates[group]) {
      common = graph.phase[op] == Phase::kForward ? kNone : group;
    } else if (graph.phase[op] == Phase::kBackward) {
      for (int32_t next : graph.Followers(op)) {
        // Later ops of the same group speak for the group as a whole.
        if (graph.group_of[next] != group) common = Common(common, label[next]);
      }
    } else {
      common = kNone;
    }
    if (common != kUnknown) of_group[group] = Common(of_group[group], common);
    label[op] = of_group[group] == kUnknown ? kNone : of_group[group];
  }
  for (int32_t& served : of_group) {
    if (served == kUnknown) served = kNone;
  }
  return of_group;
}

}  // namespace

Clusters::Clusters(const Problem& problem, const OpGraph& graph,
                   const std::vector<GroupInfo>& groups) {
  const std::vector<int32_t> branch_of = UpdatesServed(graph, groups.size());
  AddBranches(branch_of);
  AddModules(problem, groups, branch_of);
  AddPatterns(problem, graph, groups);
  AddHalves(GroupsByPosition(groups));
  Finish(groups.size());
}

void Clusters::Add(std::vector<int32_t> groups) {
  std::sort(groups.begin(), groups.end());
  if (groups.size() >= 2) sets_.push_back(std::move(groups));
}

void Clusters::AddBranches(const std::vector<int32_t>& branch_of) {
  std::map<int32_t, std::vector<int32_t>> branches;
  for (size_t u = 0; u < branch_of.size(); ++u) {
    if (branch_of[u] >= 0) branches[branch_of[u]].push_back(static_cast<int32_t>(u));
  }
  for (auto& [update, members] : branches) {
    std::vector<int32_t> without;
    for (int32_t group : members) {
      if (group != update) without.push_back(group);
    }
    Add(std::move(without));
    if (std::find(members.begin(), members.end(), update) == members.end()) {
      members.push_back(update);
    }
    Add(members);
  }
}

void Clusters::AddModules(const Problem& problem, const std::vector<GroupInfo>& groups,
                          const std::vector<int32_t>& branch_of) {
  enum Role { kForwardRole, kBackwardRole, kBranchRole, kAllRoles, kRoles };
  std::map<std::string_view, std::array<std::vector<int32_t>, kRoles>> below;
  std::map<std::string_view, bool> leaf;
  for (int32_t group : GroupsByPosition(groups)) {
    const std::string& path = problem.graph->module_path(groups[group].module);
    const Role role = groups[group].forward      ? kForwardRole
                      : branch_of[group] >= 0    ? kBranchRole
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
    for (const std::vector<int32_t>& set : sets) {
      if (leaf.count(path) > 0) {
        AddHalves(set);
      } else {
        Add(set);
      }
    }
  }
}

void Clusters::AddPatterns(const Problem& problem, const OpGraph& graph,
                           const std::vector<GroupInfo>& groups) {
  const std::vector<uint64_t> label = PatternLabels(problem, graph);
  std::map<std::pair<ModuleId, uint64_t>, std::vector<int32_t>> sets;
  for (int32_t group : GroupsByPosition(groups)) {
    sets[{groups[group].module, label[group]}].push_back(group);
  }
  for (const auto& [part, set] : sets) AddHalves(set);
}

void Clusters::AddHalves(std::vector<int32_t> by_position) {
  if (by_position.size() < 2) return;
  if (by_position.size() >= 6) {
    const auto middle = by_position.begin() + static_cast<std::ptrdiff_t>(by_position.size() / 2);
    AddHalves(std::vector<int32_t>(by_position.begin(), middle));
    AddHalves(std::vector<int32_t>(middle, by_position.end()));
  }
  Add(std::move(by_position));
}

// Equal sets once, in a fixed order; then the rows of both directions.
void Clusters::Finish(size_t groups) {
  std::sort(sets_.begin(), sets_.end());
  sets_.erase(std::unique(sets_.begin(), sets_.end()), sets_.end());
  offset_.assign(1, 0);
  of_offset_.assign(groups + 1, 0);
  for (const std::vector<int32_t>& set : sets_) {
    member_.insert(member_.end(), set.begin(), set.end());
    offset_.push_back(static_cast<int32_t>(member_.size()));
    for (int32_t group : set) ++of_offset_[group + 1];
  }
  for (size_t u = 0; u < groups; ++u) of_offset_[u + 1] += of_offset_[u];
  of_group_.resize(member_.size());
  std::vector<int32_t> next(of_offset_.begin(), of_offset_.end() - 1);
  for (size_t c = 0; c < sets_.size(); ++c) {
    for (int32_t group : sets_[c]) of_group_[next[group]++] = static_cast<int32_t>(c);
  }
  sets_ = {};
}

}  // namespace placewright
