// TAG's network with its parameters and what moves them: what `tag` and `heterog` train.
#ifndef PLACEWRIGHT_LEARN_TAG_TAG_PARAMETERS_H_
#define PLACEWRIGHT_LEARN_TAG_TAG_PARAMETERS_H_

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "learn/rl/policy_optimizer.h"
#include "learn/tag/tag_network.h"
#include "plan/stored_policy.h"
#include "search/agent_settings.h"

namespace placewright {

struct TrainedTagNetwork {
  std::shared_ptr<Parameters> parameters;
  std::unique_ptr<TagAutogradNetwork> network;
  std::shared_ptr<PolicyOptimizer> optimizer;

  // First values of `seed`, or those of a policy, which may be nullptr. Errors: those of PolicyTensors; kPlanMismatch
  // (a policy of another size).
  static Result<TrainedTagNetwork> Make(const AgentSettings& settings, uint64_t seed,
                                        const StoredPolicy* policy);
  // The algorithm, its settings, parameters and the state of the optimizer.
  void Store(const AgentSettings& settings, StoredPolicy& stored) const;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_TAG_TAG_PARAMETERS_H_
