#include "cli/request/tried_strategy_json.h"

#include <algorithm>

namespace placewright {

Json StrategyToJson(const StrategyResult& result) {
  const Rewriting& rewriting = result.strategy.rewriting;
  Json object = {{"name", Describe(result.strategy)},
                 {"algorithm", result.strategy.algorithm},
                 {"micro_batches", std::max<int64_t>(1, rewriting.micro_batches)},
                 {"recompute", rewriting.recompute},
                 {"pipeline", rewriting.schedule},
                 {"stages", std::max<int64_t>(1, rewriting.stages)},
                 {"chunks", std::max<int64_t>(1, rewriting.chunks)},
                 {"fits", result.fits},
                 {"step_time_ns", nullptr},
                 {"memory_bytes", nullptr},
                 {"capacity_bytes", nullptr},
                 {"why_not", result.why_not}};
  if (!rewriting.layers.empty()) object["layers"] = rewriting.layers;
  if (!result.strategy.settings.empty()) object["settings"] = result.strategy.settings;
  if (!result.evaluated) return object;
  object["step_time_ns"] = result.step_time.count;
  object["memory_bytes"] = result.memory.count;
  object["capacity_bytes"] = result.capacity.count;
  return object;
}

}  // namespace placewright
