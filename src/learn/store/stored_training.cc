#include "learn/store/stored_training.h"

#include "torch_api/policy_training.h"

namespace placewright {

void StoreTraining(uint64_t seed, size_t problems, StateWriter& state) {
  state.Integer("seed", static_cast<int64_t>(seed));
  state.Integer("problems", static_cast<int64_t>(problems));
}

Status CheckStoredTraining(const AgentSettings& settings, const StoredPolicy& stored, uint64_t seed,
                           size_t problems) {
  const StateReader state(stored, "");
  PW_ASSIGN(const int64_t of_seed, state.Integer("seed"));
  PW_ASSIGN(const int64_t of_problems, state.Integer("problems"));
  return CheckSameTraining(settings, stored, static_cast<uint64_t>(of_seed), seed,
                           static_cast<uint64_t>(of_problems), problems);
}

}  // namespace placewright
