// What a pipeline is estimated to take, its stages of one kind of group each: samples of a micro-batch shared out, or
// tensor groups (3d).
#ifndef PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_ESTIMATES_H_
#define PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_ESTIMATES_H_

#include <cstdint>

#include "search/strategies/some_gpus.h"
#include "search/strategies/step_table.h"
#include "search/strategies/strategy_space.h"

namespace placewright {

// `degree`: GPUs of a tensor group, 1: none. `estimate.strategy` says stages, chunks, schedule and micro-batches. Sets
// time, floor, memory and capacity. Precondition: the degree divides every stage's GPUs, and a micro-batch has a sample for
// each group.
void EstimatePipeline(int64_t degree, const SomeGpus& gpus, const StepFacts& facts,
                      const StepTable& table, const ChunkTable& chunks, StrategyEstimate& estimate);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_STRATEGIES_PIPELINE_ESTIMATES_H_
