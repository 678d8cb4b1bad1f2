// What `offload` (layouts/offload.h) is estimated to take: data parallelism on one host's GPUs, with some layers' parameters,
// state and update in host memory, fetched for each pass.
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_OFFLOAD_ESTIMATE_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_OFFLOAD_ESTIMATE_H_

#include <optional>

#include "search/strategies/some_gpus.h"
#include "search/strategies/step_table.h"
#include "search/strategies/strategy_space.h"

namespace placewright {

// With as few layers on the host as fill `share` of the GPUs' memory; sets settings, time, floor, memory and capacity. None:
// all fits on the GPUs, there is no CPU on their host, or it does not fit with all layers there.
// `gpus`: of one host.
std::optional<StrategyEstimate> EstimateOffload(const SomeGpus& gpus, const StepFacts& facts,
                                                const StepTable& table, double share,
                                                Strategy strategy);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_OFFLOAD_ESTIMATE_H_
