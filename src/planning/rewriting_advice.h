// Where the plan of an algorithm does not fit: how the step has to be rewritten further so that it does.
#ifndef PLACEWRIGHT_PLANNING_REWRITING_ADVICE_H_
#define PLACEWRIGHT_PLANNING_REWRITING_ADVICE_H_

#include <placewright/placewright.h>

#include <optional>
#include <string>
#include <vector>

#include "base/stop.h"
#include "planning/strategy_trials.h"
#include "search/planner.h"

namespace placewright {

inline constexpr int64_t kTriedOps =
    150'000;  // a step of more takes many seconds to rewrite and simulate

// Whether its plan follows from step and cluster: of a search more time may be the remedy, and trials of it take long.
bool LaysOutOnePlan(const Planner& asked);

struct RewritingAdviceRequest {
  const Graph& step;  // as it was planned
  const Cluster& cluster;
  std::string algorithm;  // whose plans are no search's: of a search more time may be the remedy
  std::vector<std::string> settings;
  Rewriting stated{};  // what was asked for: layers of stages that are not stated are open again
  StrategyTrialOptions trials{};
};

// Tries more micro-batches, recomputation and both of what `trier` has as it was recorded: what keeps to what is stated
// first, the fastest by estimate ahead (search/strategies/strategy_space.h); of an algorithm with settings that are not
// estimated the cheapest ahead. The first that fits in all peaks (all_peaks.h), else the last that was tried; nothing where
// there is none. A few trials, each of a step of at most kTriedOps ops; no clock decides anything. `to` of a pipeline
// states its layers where GPUs are unequal.
std::optional<RewritingAdvice> AdviseRewriting(const RewritingAdviceRequest& request,
                                               StrategyTrier& trier);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_REWRITING_ADVICE_H_
