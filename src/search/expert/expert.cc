#include "search/expert/expert.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "search/evaluation/plan_result.h"
#include "search/expert/roles.h"

namespace placewright {
namespace {

// The accelerator for a role, as a rank.
size_t DeviceRank(const Role& role, size_t accelerators) {
  constexpr size_t kApart = 4;  // from here on, attention and softmax have devices of their own
  const bool apart = accelerators >= kApart;
  const size_t softmax = accelerators - 1;
  if (role.kind == Role::Kind::kSoftmax) return softmax;
  if (role.kind == Role::Kind::kAttention) return apart ? softmax - 1 : softmax;
  return static_cast<size_t>(role.layer) % (apart ? accelerators - 2 : accelerators);
}

DeviceId AllowedOr(const std::vector<DeviceId>& allowed, DeviceId wanted) {
  const bool may = std::find(allowed.begin(), allowed.end(), wanted) != allowed.end();
  return may ? wanted : allowed.front();
}

// The devices that the rules deal to, ascending. Accelerators that are no CPUs, even where a graph
// of small ops runs nearly as fast on a CPU; else whatever is no CPU; else the accelerators.
std::vector<DeviceId> Dealt(const PlacerInput& input) {
  const Cluster& cluster = *input.problem.cluster;
  std::set<DeviceId> dealt;
  const auto add = [&](const std::vector<DeviceId>& devices) {
    for (DeviceId d : devices) {
      if (cluster.kind(d).device_class != DeviceClass::kCpu) dealt.insert(d);
    }
  };
  add(input.candidates.accelerators);
  if (dealt.empty()) {
    for (const std::vector<DeviceId>& devices : input.candidates.any) add(devices);
  }
  if (dealt.empty()) return input.candidates.accelerators;
  return {dealt.begin(), dealt.end()};
}

// Of the dealt devices those that it may run on; where it may run on none, what else.
GroupDevices DealtOf(const PlacerInput& input, const std::vector<DeviceId>& dealt) {
  GroupDevices allowed(input.groups.size());
  for (ColocationGroupId u : IdsOf(input.groups)) {
    const std::vector<DeviceId>& any = input.candidates.any[u];
    std::vector<DeviceId>& own = allowed[u];
    std::set_intersection(any.begin(), any.end(), dealt.begin(), dealt.end(),
                          std::back_inserter(own));
    if (own.empty()) own = input.candidates.preferred[u];
  }
  return allowed;
}

}  // namespace

GroupPlacement PlaceByExpertRules(const PlacerInput& input) {
  const std::vector<DeviceId> dealt = Dealt(input);
  const GroupDevices allowed = DealtOf(input, dealt);
  const IdVector<ColocationGroupId, Role> roles = RecurrentRoles(input);
  GroupPlacement device_of;
  for (ColocationGroupId u : IdsOf(input.groups)) {
    const size_t rank = roles.empty() ? 0 : DeviceRank(roles[u], dealt.size());
    device_of.push_back(AllowedOr(allowed[u], dealt[rank]));
  }
  if (!roles.empty()) PlaceFollowers(input.groups, allowed, device_of);
  return device_of;
}

Result<PlannerResult> ExpertPlanner::Plan(const Problem& problem, Evaluator& evaluator,
                                          const PlannerOptions& options) const {
  if (!given_) {
    return PlanInAttempts(name(), &PlaceByExpertRules, 1, problem, evaluator, options);
  }
  const GroupPlacement groups = GroupsOf(problem, *given_);
  PW_ASSIGN(const Score score, EvaluateGroups(problem, groups, evaluator));
  return MakeResult(problem, name(), groups, score, options);
}

}  // namespace placewright
