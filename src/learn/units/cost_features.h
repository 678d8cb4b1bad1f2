// What a policy that serves several graphs and clusters has to know beyond types and shapes: what
// units cost, and what the devices are. Nothing of it depends on the unit of time or of bytes.
// Beyond GDP, whose nodes have a type, shapes and neighbours, and whose devices are numbers.
#ifndef PLACEWRIGHT_LEARN_UNITS_COST_FEATURES_H_
#define PLACEWRIGHT_LEARN_UNITS_COST_FEATURES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "search/problem/candidate_devices.h"
#include "search/problem/group_info.h"
#include "search/problem/op_graph.h"
#include "search/units/placement_units.h"

namespace placewright {

// Sines and cosines of a place p in [0, 1]: of pi 2^k p, k = 0 .. kPlaceHarmonics - 1.
inline constexpr int64_t kPlaceHarmonics = 5;

// Features [N, kCostFeatures] of units. Quantities x that sum to 1 over N units stand as log(1 + N x):
//   time of its ops; persistent bytes; bytes alive at the peak of a run on one device; bytes that
//   others read from it; time to move these, beside the time of its ops;
//   whether it is of the forward pass;
//   along the critical path (times of ops alone), as shares of its length: its earliest begin t,
//   what follows it b, min(t, b), and the slack 1 - t - b;
//   its place by the work before it, with harmonics; the place of the forward unit that it
//   accompanies (GroupInfo::leader) by the bytes of those before that, with harmonics;
//   of the whole problem: bytes beside the memory of all accelerators and of one, work beside the
//   critical path, moving beside work, one over the number of accelerators.
inline constexpr int64_t kCostFeatures = 5 + 1 + 4 + 2 * (1 + 2 * kPlaceHarmonics) + 5;
at::Tensor CostFeatures(const Problem& problem, const OpGraph& graph,
                        const CandidateDevices& candidates, const GroupInfos& groups,
                        const PlacementUnits& units);

// [edge] of the units: nanoseconds, at least 1, that its data takes from one accelerator to another on average, all its
// tensors in one transfer. Units that are single ops share groups with others: of these the latency alone.
std::vector<double> EdgeTimes(const Problem& problem, const OpGraph& graph,
                              const CandidateDevices& candidates, const PlacementUnits& units);

// Features [devices, kDeviceFeatureCount]: whether it is an accelerator; its speed and memory beside
// those of the best; where it stands in the middle of its share of [0, 1] among the accelerators
// in the order in which to fill them, with harmonics (0 for others); one over their number.
inline constexpr int64_t kDeviceFeatureCount = 3 + 1 + 2 * kPlaceHarmonics + 1;
at::Tensor DeviceFeatures(const Problem& problem, const CandidateDevices& candidates);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_UNITS_COST_FEATURES_H_
