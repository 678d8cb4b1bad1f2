#include "learn/units/constructive_plans.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "search/constructive/layered.h"
#include "search/constructive/m_etf.h"
#include "search/constructive/placer.h"
#include "search/expert/expert.h"
#include "search/local/initial_placements.h"
#include "search/partition/partition_placers.h"

namespace placewright {

FollowablePlans ConstructivePlansOf(const Problem& problem, const OpGraph& graph,
                                    const CandidateDevices& candidates, const GroupInfos& groups) {
  const PlacerInput input{problem, graph, candidates, groups};
  return {AllOnFastest(candidates), PlaceConnected(&PlaceByExpertRules, input),
          PlaceConnected(&PlaceMEtf, input), PlaceConnected(&PlaceMetis, input),
          PlaceConnected(&PlaceLayered, input)};
}

at::Tensor PlansAsFeatures(const Problem& problem, const PlacementUnits& units,
                           const FollowablePlans& plans) {
  const auto devices = static_cast<int64_t>(problem.cluster->device_count());
  const at::Tensor features =
      at::zeros({units.size(), devices, kConstructivePlans}, at::TensorOptions().dtype(at::kFloat));
  auto* row = features.data_ptr<float>();
  for (const std::vector<OpId>& ops : units.ops) {
    const float share = 1 / std::max(static_cast<float>(ops.size()), 1.0F);
    for (const OpId op : ops) {
      for (size_t plan = 0; plan < plans.size(); ++plan) {
        const auto device = static_cast<int64_t>(plans[plan][problem.group_of[op]].index());
        row[device * kConstructivePlans + static_cast<int64_t>(plan)] += share;
      }
    }
    row += devices * kConstructivePlans;
  }
  return features;
}

}  // namespace placewright
