// Strategies (plan/strategy.h) in the JSON of `size`, `what-if` and `plan --from`.
#ifndef PLACEWRIGHT_CLI_REQUEST_TRIED_STRATEGY_JSON_H_
#define PLACEWRIGHT_CLI_REQUEST_TRIED_STRATEGY_JSON_H_

#include "formats/text/json.h"
#include "plan/strategy.h"

namespace placewright {

// {name, algorithm, settings, micro_batches, recompute[], pipeline, stages, chunks, layers, fits, step_time_ns,
// memory_bytes, capacity_bytes, why_not}: settings and layers where they are stated; what only a simulated one has is
// null of others.
Json StrategyToJson(const StrategyResult& result);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_TRIED_STRATEGY_JSON_H_
