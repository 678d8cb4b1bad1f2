#include "search/expert/expert.h"

#include <algorithm>

#include "search/evaluate.h"
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

}  // namespace

std::vector<int32_t> PlaceByExpertRules(const PlacerInput& input) {
  const std::vector<int32_t>& accelerators = input.domain.accelerators;
  const std::vector<Role> roles = RecurrentRoles(input);
  std::vector<int32_t> device_of;
  for (size_t u = 0; u < input.units.size(); ++u) {
    const size_t rank = roles.empty() ? 0 : DeviceRank(roles[u], accelerators.size());
    device_of.push_back(AllowedOr(input.domain.preferred[u], accelerators[rank]));
  }
  if (!roles.empty()) PlaceFollowers(input.units, input.domain.preferred, device_of);
  return device_of;
}

Result<PlannerResult> ExpertPlanner::Plan(const Problem& problem,
                                          const PlannerOptions& options) const {
  if (!options.expert) return PlanInAttempts(name(), &PlaceByExpertRules, 1, problem, options);
  Simulator simulator(problem.program);
  const std::vector<int32_t> units = UnitsOf(problem, *options.expert);
  PW_ASSIGN(const Score score, EvaluateUnits(problem, units, simulator));
  return MakeResult(problem, name(), units, score, options);
}

}  // namespace placewright
