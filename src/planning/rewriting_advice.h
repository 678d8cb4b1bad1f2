// Where the plan of an algorithm does not fit: how the step has to be rewritten further so that it does.
#ifndef PLACEWRIGHT_PLANNING_REWRITING_ADVICE_H_
#define PLACEWRIGHT_PLANNING_REWRITING_ADVICE_H_

#include <placewright/placewright.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/stop.h"
#include "planning/strategy_trials.h"

namespace placewright {

inline constexpr std::chrono::seconds kAdvicePatience{10};

struct RewritingAdviceRequest {
  const Graph& step;  // as it was planned
  const Cluster& cluster;
  std::string algorithm;  // whose plans are no search's: of a search more time may be the remedy
  std::vector<std::string> settings;
  Rewriting stated{};  // what was asked for: layers of stages that are not stated are open again
  StrategyTrialOptions trials{};
  Clock::time_point until{};  // no further trial begins behind it
};

// Tries more micro-batches, recomputation and both, the cheapest first, of what `trier` has as it was recorded: the first
// that fits, else the last one that was tried; nothing where there is none.
std::optional<RewritingAdvice> AdviseRewriting(const RewritingAdviceRequest& request,
                                               StrategyTrier& trier);

// How a rewritten step was rewritten. Layers that stages have by choice are those of `stated`.
Rewriting RewritingOf(const Graph& step, const Rewriting& stated);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_REWRITING_ADVICE_H_
