#include "search/layouts/layout_units.h"

#include <algorithm>

#include "graph/partition/tag_groups.h"
#include "search/problem/layout_problem.h"

namespace placewright {
namespace {

// Groups that --colocate joins move as one and stay whole; what no constraint names is not kept, so that
// whether a state may be is asked of few groups.
// The step whose draws count may have one op more than the problem's; it has a group of its own.
void FindAllowed(const Problem& problem, LayoutUnits& found) {
  const LayoutProblem& layouts = *problem.layouts;
  const size_t groups = layouts.graph.group_count();
  found.allowed = IdVector<GroupId, std::vector<bool>>(groups);
  found.whole = IdVector<GroupId, bool>(groups, false);
  IdVector<GroupId, bool> seen(groups, false);
  for (const ColocationGroupId id : problem.group_ids()) {
    const ColocationGroup& joined = problem.groups[id];
    std::vector<GroupId> members;
    for (const OpId op : joined.ops) {
      const GroupId group = layouts.graph.group(op);
      if (seen[group]) continue;
      seen[group] = true;
      members.push_back(group);
    }
    for (const GroupId group : members) {
      found.whole[group] = members.size() > 1;
      if (joined.allowed.size() == layouts.cluster.device_count()) continue;
      found.allowed[group].assign(layouts.cluster.device_count(), false);
      for (const DeviceId device : joined.allowed) found.allowed[group][device.index()] = true;
    }
    const bool confined = members.size() > 1 ||
                          std::any_of(members.begin(), members.end(),
                                      [&](GroupId group) { return !found.allowed[group].empty(); });
    if (confined) found.confined.push_back(found.singles.size());
    found.singles.push_back(std::move(members));
  }
}

// By each op's time where it is quickest: what has no kernel anywhere (a negative time) weighs nothing.
Status FindUnits(const Problem& problem, LayoutUnits& found) {
  const LayoutProblem& layouts = *problem.layouts;
  IdVector<OpId, Nanos> times;
  for (const OpId op : layouts.graph.ops()) {
    times.push_back(std::max(Nanos(0), layouts.costs.MinTime(op)));
  }
  PW_ASSIGN(const TagGrouping grouping, TagGroups(layouts.graph, times, layouts.units));
  found.units.resize(static_cast<size_t>(grouping.parts));
  // Groups that are joined lie together: in the unit of the first.
  for (const std::vector<GroupId>& members : found.singles) {
    if (members.empty()) continue;
    std::vector<GroupId>& unit =
        found.units[static_cast<size_t>(grouping.part_of[members.front()])];
    unit.insert(unit.end(), members.begin(), members.end());
  }
  std::erase_if(found.units, [](const auto& unit) { return unit.empty(); });
  return Ok();
}

}  // namespace

bool LayoutUnits::MayBe(GroupId group, const Layout& layout) const {
  if (whole[group] && layout.shares.size() > 1) return false;
  if (allowed[group].empty()) return true;
  return std::all_of(layout.shares.begin(), layout.shares.end(),
                     [&](const Share& share) { return allowed[group][share.device.index()]; });
}

bool LayoutUnits::MayBe(const LayoutState& state, const LayoutBook& book) const {
  for (const size_t single : confined) {
    const std::vector<GroupId>& members = singles[single];
    for (const GroupId group : members) {
      if (!MayBe(group, book[state.of_group[group]])) return false;
      if (state.of_group[group] != state.of_group[members.front()] && members.size() > 1) {
        return false;
      }
    }
  }
  return true;
}

Result<LayoutUnits> FindLayoutUnits(const Problem& problem) {
  LayoutUnits found;
  FindAllowed(problem, found);
  PW_RETURN_IF_ERROR(FindUnits(problem, found));
  return found;
}

}  // namespace placewright
