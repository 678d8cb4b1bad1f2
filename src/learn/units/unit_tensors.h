// Placement units as tensors: what policies see of them.
#ifndef PLACEWRIGHT_LEARN_UNITS_UNIT_TENSORS_H_
#define PLACEWRIGHT_LEARN_UNITS_UNIT_TENSORS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "search/units/placement_units.h"

namespace placewright {

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

#endif  // PLACEWRIGHT_LEARN_UNITS_UNIT_TENSORS_H_
