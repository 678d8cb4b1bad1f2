// What every training keeps to be held to when it goes on.
#ifndef PLACEWRIGHT_LEARN_STORE_STORED_TRAINING_H_
#define PLACEWRIGHT_LEARN_STORE_STORED_TRAINING_H_

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "learn/store/stored_tensors.h"
#include "search/agent_settings.h"

namespace placewright {

// Its seed and number of problems.
void StoreTraining(uint64_t seed, size_t problems, StateWriter& state);
// Errors: kField (they are not there), kPlanMismatch (others, or other settings).
Status CheckStoredTraining(const AgentSettings& settings, const StoredPolicy& stored, uint64_t seed,
                           size_t problems);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_STORE_STORED_TRAINING_H_
