// Which strategies `auto` and RankStrategies (placewright.h) may choose from.
#ifndef PLACEWRIGHT_PLANNING_STRATEGIES_H_
#define PLACEWRIGHT_PLANNING_STRATEGIES_H_

#include <placewright/plan/strategy.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace placewright {

struct StrategyOptions {
  // Whether `auto` may rewrite the step, where that fits or is faster.
  bool rewrite = true;
  // What is stated is kept: the number of micro-batches (1: none), what is computed again (empty: nothing).
  std::optional<int64_t> micro_batches{};
  std::optional<std::vector<std::string>> recompute{};
  // So many of them are simulated, the best by estimate first.
  int64_t evaluations = 16;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_STRATEGIES_H_
