#include "learn/tag/tag_parameters.h"

#include <map>
#include <string>
#include <utility>

#include "learn/agent/agent.h"
#include "learn/store/stored_tensors.h"
#include "search/tag/tag_planner.h"

namespace placewright {

Result<TrainedTagNetwork> TrainedTagNetwork::Make(const AgentSettings& settings, uint64_t seed,
                                                  const StoredPolicy* policy) {
  PW_ASSIGN(const at::TensorOptions numbers, PolicyTensors(settings));
  std::map<std::string, at::Tensor> values;
  if (policy != nullptr) {
    for (const auto& [name, tensor] : policy->parameters) values[name] = FromStored(tensor);
  }
  TrainedTagNetwork made;
  made.parameters = std::make_shared<Parameters>(FirstValues(seed), numbers, std::move(values));
  made.network = std::make_unique<TagAutogradNetwork>(TagSizeOf(settings), *made.parameters);
  if (!made.parameters->mismatch().empty()) {
    return MakeError(
        ErrorCode::kPlanMismatch,
        "the policy is of another version of the network: " + made.parameters->mismatch(), "",
        "Train it again with this version.");
  }
  made.optimizer = MakeOptimizer(settings, made.parameters);
  return made;
}

void TrainedTagNetwork::Store(const AgentSettings& settings, StoredPolicy& stored) const {
  stored.algorithm = settings.algorithm().name;
  stored.settings = {settings.values().begin(), settings.values().end()};
  for (const auto& [name, tensor] : parameters->named()) stored.parameters[name] = ToStored(tensor);
  StateWriter of_optimizer(stored, "optimizer.");
  optimizer->Store(of_optimizer);
}

}  // namespace placewright
