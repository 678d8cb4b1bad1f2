// Plans of constructive planners as features: a policy that sees them has to learn where to follow
// which, and where none, instead of what they compute. Beyond GDP.
#ifndef PLACEWRIGHT_LEARN_UNITS_CONSTRUCTIVE_PLANS_H_
#define PLACEWRIGHT_LEARN_UNITS_CONSTRUCTIVE_PLANS_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "search/problem/candidate_devices.h"
#include "search/problem/group_info.h"
#include "search/problem/op_graph.h"
#include "search/units/placement_units.h"

namespace placewright {

// Everything on the fastest accelerator, the expert's rules, m-etf, metis, layered. Policies depend on
// their order.
inline constexpr int64_t kConstructivePlans = 5;
inline constexpr std::array<std::string_view, kConstructivePlans> kConstructivePlanNames = {
    "one device alone", "expert", "m-etf", "metis", "layered"};

// Each planner's first attempt, which may not fit.
using FollowablePlans = std::array<GroupPlacement, kConstructivePlans>;
FollowablePlans ConstructivePlansOf(const Problem& problem, const OpGraph& graph,
                                    const CandidateDevices& candidates, const GroupInfos& groups);

// [N, devices, kConstructivePlans]: the share of a unit's ops that each plan puts on each device.
at::Tensor PlansAsFeatures(const Problem& problem, const PlacementUnits& units,
                           const FollowablePlans& plans);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_UNITS_CONSTRUCTIVE_PLANS_H_
