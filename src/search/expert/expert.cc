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

int32_t AllowedOr(const std::vector<int32_t>& allowed, int32_t wanted) {
  const bool may = std::find(allowed.begin(), allowed.end(), wanted) != allowed.end();
  return may ? wanted : allowed.front();
}

// The devices that the rules deal to, ascending. Accelerators that are no CPUs, even where a graph
// of small ops runs nearly as fast on a CPU; else whatever is no CPU; else the accelerators.
std::vector<int32_t> Dealt(const PlacerInput& input) {
  const Cluster& cluster = *input.problem.cluster;
  std::set<int32_t> dealt;
  const auto add = [&](const std::vector<int32_t>& devices) {
    for (int32_t d : devices) {
      if (cluster.kind(DeviceId(d)).device_class != DeviceClass::kCpu) dealt.insert(d);
    }
  };
  add(input.candidates.accelerators);
  if (dealt.empty()) {
    for (const std::vector<int32_t>& devices : input.candidates.any) add(devices);
  }
  if (dealt.empty()) return input.candidates.accelerators;
  return {dealt.begin(), dealt.end()};
}

// [group] of the dealt devices those that it may run on; where it may run on none, what else.
std::vector<std::vector<int32_t>> DealtOf(const PlacerInput& input,
                                          const std::vector<int32_t>& dealt) {
  std::vector<std::vector<int32_t>> allowed;
  for (size_t u = 0; u < input.groups.size(); ++u) {
    const std::vector<int32_t>& any = input.candidates.any[u];
    std::vector<int32_t>& own = allowed.emplace_back();
    std::set_intersection(any.begin(), any.end(), dealt.begin(), dealt.end(),
                          std::back_inserter(own));
    if (own.empty()) own = input.candidates.preferred[u];
  }
  return allowed;
}

}  // namespace

std::vector<int32_t> PlaceByExpertRules(const PlacerInput& input) {
  const std::vector<int32_t> dealt = Dealt(input);
  const std::vector<std::vector<int32_t>> allowed = DealtOf(input, dealt);
  const std::vector<Role> roles = RecurrentRoles(input);
  std::vector<int32_t> device_of;
  for (size_t u = 0; u < input.groups.size(); ++u) {
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
  const std::vector<int32_t> groups = GroupsOf(problem, *given_);
  PW_ASSIGN(const Score score, EvaluateGroups(problem, groups, evaluator));
  return MakeResult(problem, name(), groups, score, options);
}

}  // namespace placewright
