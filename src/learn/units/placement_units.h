// What a learned planner decides a device for: colocation groups, several of them together, or
// single ops, which then vote on the devices of their groups.
#ifndef PLACEWRIGHT_LEARN_UNITS_PLACEMENT_UNITS_H_
#define PLACEWRIGHT_LEARN_UNITS_PLACEMENT_UNITS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "graph/analysis/traversal.h"
#include "learn/encoder/gcn.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/problem.h"

namespace placewright {

// Units 0 .. N-1 in the order in which sequence placers see them: that of their first ops in a
// traversal of the graph.
struct PlacementUnits {
  std::vector<std::vector<ColocationGroupId>> groups;  // [unit], never empty
  std::vector<std::vector<OpId>> ops;                  // [unit], of these groups
  // [unit], ascending: where at least one of its groups may lie. Groups that may not lie on a
  // unit's device take their first candidate instead.
  std::vector<std::vector<DeviceId>> candidates;
  std::vector<NodeEdge> edges;  // data between two units, ascending, distinct, without loops

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

// Features [N, vocabulary::Size() + 8] of units (op_features.h): the share of each type among a
// unit's ops, and of each dimension of shapes the largest.
at::Tensor FeaturesOfUnits(const Problem& problem, const PlacementUnits& units);

// Features [N, 1 + 2 kHarmonics + kNeighbours] that distinguish units of like ops: the unit's place
// in the order, in [0, 1], the sine and cosine of pi 2^k times it, k = 0 .. kHarmonics - 1, and the
// places of its first neighbours relative to its own (the Hierarchical Planner's 20 adjacency
// entries; 0 where there are fewer). Deviation: the harmonics, as 64 hidden units do not resolve
// thousands of places on one line.
inline constexpr int64_t kHarmonics = 8, kNeighbours = 20;
at::Tensor PlacesOfUnits(const PlacementUnits& units);

// [N, devices]: 0, or minus infinity where a unit may not lie.
at::Tensor ForbiddenDevices(const PlacementUnits& units, size_t devices);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_UNITS_PLACEMENT_UNITS_H_
