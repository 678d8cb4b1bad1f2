#include "search/units/placement_units.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "search/partition/group_graph.h"

namespace placewright {
namespace {

void SortDistinct(std::vector<UnitEdge>& edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
}

// The ops in the order of a sequence: topologically that is generation by generation.
std::vector<OpId> OpsInOrder(const Graph& graph, TraversalOrder order) {
  if (order != TraversalOrder::kTopo && order != TraversalOrder::kReversedTopo) {
    return Traverse(graph, order);
  }
  std::vector<OpId> ops = Generations(graph);
  if (order == TraversalOrder::kReversedTopo) std::reverse(ops.begin(), ops.end());
  return ops;
}

// In the order in which the sequence first meets an op of each; in topo by position.
std::vector<ColocationGroupId> GroupsInOrder(const Problem& problem, const OpGraph& graph,
                                             TraversalOrder order) {
  if (order == TraversalOrder::kTopo) return GroupsByPosition(DescribeGroups(problem, graph));
  std::vector<ColocationGroupId> groups;
  IdVector<ColocationGroupId, char> met(problem.groups.size(), 0);
  for (const OpId op : OpsInOrder(*problem.graph, order)) {
    const ColocationGroupId group = problem.group_of[op];
    if (std::exchange(met[group], 1) == 0) groups.push_back(group);
  }
  return groups;
}

}  // namespace

PlacementUnits UnitsOfGroups(const Problem& problem, const OpGraph& graph,
                             const CandidateDevices& candidates, TraversalOrder order) {
  PlacementUnits units;
  IdVector<ColocationGroupId, int64_t> unit_of(problem.groups.size(), 0);
  for (ColocationGroupId group : GroupsInOrder(problem, graph, order)) {
    unit_of[group] = units.size();
    units.groups.push_back({group});
    units.ops.push_back(problem.groups[group].ops);
    units.candidates.push_back(candidates.any[group]);
  }
  for (ExecOpId op : graph.exec_ops()) {
    for (const OpInput& input : graph.Inputs(op)) {
      const ColocationGroupId source = graph.SourceOf(input);
      if (!source.valid() || source == graph.group_of[op]) continue;
      units.edges.emplace_back(unit_of[source], unit_of[graph.group_of[op]]);
    }
  }
  SortDistinct(units.edges);
  return units;
}

PlacementUnits UnitsOfOps(const Problem& problem, const CandidateDevices& candidates,
                          TraversalOrder order) {
  const Graph& graph = *problem.graph;
  PlacementUnits units;
  IdVector<OpId, int64_t> unit_of(graph.op_count(), 0);
  for (const OpId op : OpsInOrder(graph, order)) {
    const ColocationGroupId group = problem.group_of[op];
    unit_of[op] = units.size();
    units.groups.push_back({group});
    units.ops.push_back({op});
    units.candidates.push_back(candidates.any[group]);
  }
  for (const OpId op : graph.ops()) {
    for (const OpId producer : graph.producers(op)) {
      if (producer != op) units.edges.emplace_back(unit_of[producer], unit_of[op]);
    }
  }
  SortDistinct(units.edges);
  return units;
}

PlacementUnits JoinUnits(const PlacementUnits& units, std::span<const int32_t> part_of) {
  PW_CHECK(part_of.size() == units.groups.size());
  // Parts in the order of their first units.
  const int32_t parts = part_of.empty() ? 0 : *std::max_element(part_of.begin(), part_of.end()) + 1;
  std::vector<int64_t> number(static_cast<size_t>(parts), -1);
  PlacementUnits joined;
  const auto joined_of = [&](int64_t unit) {
    return number[static_cast<size_t>(part_of[static_cast<size_t>(unit)])];
  };
  for (int64_t unit = 0; unit < units.size(); ++unit) {
    const auto i = static_cast<size_t>(unit);
    int64_t& part = number[static_cast<size_t>(part_of[i])];
    if (part < 0) {
      part = joined.size();
      joined.groups.emplace_back();
      joined.ops.emplace_back();
      joined.candidates.emplace_back();
    }
    std::vector<ColocationGroupId>& groups = joined.groups[static_cast<size_t>(part)];
    groups.insert(groups.end(), units.groups[i].begin(), units.groups[i].end());
    std::vector<OpId>& ops = joined.ops[static_cast<size_t>(part)];
    ops.insert(ops.end(), units.ops[i].begin(), units.ops[i].end());
    std::vector<DeviceId>& devices = joined.candidates[static_cast<size_t>(part)];
    std::vector<DeviceId> either;
    std::set_union(devices.begin(), devices.end(), units.candidates[i].begin(),
                   units.candidates[i].end(), std::back_inserter(either));
    devices = std::move(either);
  }
  for (const auto& [from, to] : units.edges) {
    const int64_t source = joined_of(from), reader = joined_of(to);
    if (source != reader) joined.edges.emplace_back(source, reader);
  }
  SortDistinct(joined.edges);
  return joined;
}

GroupPlacement PlaceUnits(const PlacementUnits& units, const CandidateDevices& candidates,
                          std::span<const DeviceId> device_of) {
  PW_CHECK(device_of.size() == units.groups.size());
  // By group, its candidates with the ops that are for each.
  IdVector<ColocationGroupId, std::vector<size_t>> votes(candidates.any.size());
  for (size_t unit = 0; unit < device_of.size(); ++unit) {
    for (ColocationGroupId group : units.groups[unit]) {
      const std::vector<DeviceId>& allowed = candidates.any[group];
      const auto found = std::lower_bound(allowed.begin(), allowed.end(), device_of[unit]);
      const bool may = found != allowed.end() && *found == device_of[unit];
      votes[group].resize(allowed.size(), 0);
      votes[group][may ? static_cast<size_t>(found - allowed.begin()) : 0] +=
          units.ops[unit].size();
    }
  }
  GroupPlacement placement(candidates.any.size());
  for (const ColocationGroupId group : IdsOf(placement)) {
    const std::vector<size_t>& of_group = votes[group];
    const auto most = std::max_element(of_group.begin(), of_group.end()) - of_group.begin();
    placement[group] = candidates.any[group][static_cast<size_t>(most)];
  }
  return placement;
}

std::vector<DeviceId> DevicesOfUnits(const Problem& problem, const PlacementUnits& units,
                                     const GroupPlacement& placement) {
  std::vector<DeviceId> devices;
  for (size_t unit = 0; unit < units.ops.size(); ++unit) {
    const std::vector<DeviceId>& candidates = units.candidates[unit];
    std::vector<size_t> votes(candidates.size(), 0);
    for (const OpId op : units.ops[unit]) {
      const auto found =
          std::lower_bound(candidates.begin(), candidates.end(), placement[problem.group_of[op]]);
      if (found != candidates.end() && *found == placement[problem.group_of[op]]) {
        ++votes[static_cast<size_t>(found - candidates.begin())];
      }
    }
    const auto most = std::max_element(votes.begin(), votes.end()) - votes.begin();
    devices.push_back(candidates[static_cast<size_t>(most)]);
  }
  return devices;
}

Result<std::vector<int32_t>> CutUnits(const Problem& problem, const GroupInfos& groups,
                                      const PlacementUnits& units, bool fluid, int64_t parts,
                                      uint64_t seed) {
  WeightedGraph graph = MakeGroupGraph(problem, groups);
  graph.weights.resize(1);  // time alone
  PartitionOptions options;
  options.parts = static_cast<int>(std::min(parts, units.size()));
  options.seed = seed;
  PW_ASSIGN(const std::vector<int32_t> part_of_group,
            fluid ? Result(PartitionFluid(graph, options)) : PartitionMetis(graph, options));
  std::vector<int32_t> part_of;
  for (const std::vector<ColocationGroupId>& unit : units.groups) {
    part_of.push_back(part_of_group[unit.front().index()]);
  }
  return part_of;
}

Result<PlacementUnits> MakeUnits(const Problem& problem, const OpGraph& graph,
                                 const CandidateDevices& candidates, const GroupInfos& groups,
                                 const UnitOptions& options) {
  if (options.ops) return UnitsOfOps(problem, candidates, options.order);
  PlacementUnits units = UnitsOfGroups(problem, graph, candidates, options.order);
  const int64_t parts = options.parts > 0            ? options.parts
                        : units.size() > kManyGroups ? kPartsOfMany
                                                     : units.size();
  if (parts >= units.size()) return units;
  PW_ASSIGN(const std::vector<int32_t> part_of,
            CutUnits(problem, groups, units, options.fluid, parts, options.seed));
  return JoinUnits(units, part_of);
}

}  // namespace placewright
