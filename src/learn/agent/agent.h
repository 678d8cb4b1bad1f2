// Learned planners as what they are made of: for one problem, a policy over its units and the way
// in which that is trained.
#ifndef PLACEWRIGHT_LEARN_AGENT_AGENT_H_
#define PLACEWRIGHT_LEARN_AGENT_AGENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "learn/policy/policy.h"
#include "learn/rl/trainer.h"
#include "learn/units/constructive_plans.h"
#include "search/problem/group_info.h"
#include "search/units/placement_units.h"
#include "torch_api/learned_algorithms.h"

namespace placewright {

// What an agent sees of a problem, which outlives it.
struct AgentProblem {
  AgentProblem(const Problem& of, uint64_t with_seed);

  const Problem& problem;
  const uint64_t seed;
  OpGraph graph;
  CandidateDevices candidates;
  GroupInfos groups;

  // Made when first asked for: not every policy looks at them, and one may do so for several units.
  const FollowablePlans& plans() const;

 private:
  mutable std::optional<FollowablePlans> plans_;
};

struct Agent {
  PlacementUnits units;  // what the policy gives devices to
  std::unique_ptr<Policy> policy;
  TrainerOptions trainer;
  // Both may be empty. Of a policy that nothing has trained; ends early where the budget does.
  std::function<void(const Budget&)> pretrain;
  std::function<void()> begin;  // before the first sample, and where a training goes on
};

// Where the settings say that policies are computed. Errors: kMissingRuntime (no usable GPU).
Result<at::TensorOptions> PolicyTensors(const AgentSettings& settings);

// What a policy gives devices to: what the settings say, or every colocation group by itself.
enum class AgentUnits : uint8_t { kOfSettings, kGroups };

// With these parameters, of PolicyTensors(settings). Errors: kPlanMismatch (stored parameters are
// of another policy), kInternal (a partitioner failed).
Result<Agent> MakeAgent(const AgentSettings& settings, const AgentProblem& problem,
                        const std::shared_ptr<Parameters>& parameters,
                        AgentUnits units = AgentUnits::kOfSettings);

// Random numbers for the first values of parameters.
Random FirstValues(uint64_t seed);

TrainerOptions MakeTrainerOptions(const AgentSettings& settings);
// Of all parameters that are there.
std::shared_ptr<PolicyOptimizer> MakeOptimizer(const AgentSettings& settings,
                                               const std::shared_ptr<Parameters>& parameters);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_AGENT_AGENT_H_
