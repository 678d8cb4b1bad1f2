// What a learned planner decides a device for: colocation groups, several of them together, or
// single ops, which then vote on the devices of their groups.
#ifndef PLACEWRIGHT_SEARCH_UNITS_PLACEMENT_UNITS_H_
#define PLACEWRIGHT_SEARCH_UNITS_PLACEMENT_UNITS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/analysis/traversal.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/group_info.h"
#include "search/problem/problem.h"

namespace placewright {

// More groups than these are placed as so many parts.
inline constexpr int64_t kManyGroups = 2048, kPartsOfMany = 1024;

using UnitEdge = std::pair<int64_t, int64_t>;  // from, to

// Units 0 .. N-1 in the order in which sequence placers see them: that of their first ops in a traversal of the graph.
// topo and reversed-topo are none of the study's here: ops go generation by generation, and in topo groups stand by
// where their first ops are in the graph's topological order.
struct PlacementUnits {
  std::vector<std::vector<ColocationGroupId>> groups;  // [unit], never empty
  std::vector<std::vector<OpId>> ops;                  // [unit], of these groups
  // [unit], ascending: where at least one of its groups may lie. Groups that may not lie on a
  // unit's device take their first candidate instead.
  std::vector<std::vector<DeviceId>> candidates;
  std::vector<UnitEdge> edges;  // data between two units, ascending, distinct, without loops

  int64_t size() const { return static_cast<int64_t>(groups.size()); }
};

// Each colocation group by itself.
PlacementUnits UnitsOfGroups(const Problem& problem, const OpGraph& graph,
                             const CandidateDevices& candidates,
                             TraversalOrder order = TraversalOrder::kTopo);
// Each op by itself, views included, as Mars places them.
PlacementUnits UnitsOfOps(const Problem& problem, const CandidateDevices& candidates,
                          TraversalOrder order = TraversalOrder::kTopo);
// The groups of `units` joined by `part_of` [unit], numbers from 0 on; empty parts are left out.
PlacementUnits JoinUnits(const PlacementUnits& units, std::span<const int32_t> part_of);

// The placement of the groups, from a device for each unit. Where several units hold ops of a group,
// most of its ops decide, the device with the smaller number where they are as many.
GroupPlacement PlaceUnits(const PlacementUnits& units, const CandidateDevices& candidates,
                          std::span<const DeviceId> device_of);

// The device of most ops of each unit, among its candidates.
std::vector<DeviceId> DevicesOfUnits(const Problem& problem, const PlacementUnits& units,
                                     const GroupPlacement& placement);

// What is placed together.
struct UnitOptions {
  bool ops = false;  // single ops, not colocation groups
  TraversalOrder order = TraversalOrder::kTopo;
  int64_t parts = 0;   // of the groups; 0: each by itself, beyond 2,048 of them 1,024 parts
  bool fluid = false;  // fluid communities make parts, not METIS
  uint64_t seed = 0;   // of the partitioner
};
// Errors: kInternal (a partitioner failed).
Result<PlacementUnits> MakeUnits(const Problem& problem, const OpGraph& graph,
                                 const CandidateDevices& candidates, const GroupInfos& groups,
                                 const UnitOptions& options);

// The part of each of `units`, of one colocation group each, of `parts` that METIS or fluid
// communities make. Errors: kInternal.
Result<std::vector<int32_t>> CutUnits(const Problem& problem, const GroupInfos& groups,
                                      const PlacementUnits& units, bool fluid, int64_t parts,
                                      uint64_t seed);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_UNITS_PLACEMENT_UNITS_H_
