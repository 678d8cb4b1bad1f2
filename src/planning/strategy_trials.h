// The best strategy for a step on a cluster, for questions that compare clusters or steps with one another: the same
// effort for each, which follows from step and cluster alone, never from time.
//
// On several devices that is SearchStrategies (strategy_search.h) with kComparedStrategies evaluations, beside a placement
// of the whole step on one device, and shares by speed where GPUs are unequal. One device has the step as it was recorded,
// then with selective and with full recomputation, then in 2, 4, ... micro-batches, until it fits: each of these takes
// longer than the one before, and needs less memory.
#ifndef PLACEWRIGHT_PLANNING_STRATEGY_TRIALS_H_
#define PLACEWRIGHT_PLANNING_STRATEGY_TRIALS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "cost/cost_model.h"
#include "graph/graph.h"
#include "graph/transform.h"
#include "plan/schedule.h"
#include "plan/strategy.h"
#include "sim/step_split.h"

namespace placewright {

inline constexpr int64_t kComparedStrategies = 8;

struct StrategyTrials {
  std::vector<StrategyResult>
      strategies;            // the best first; those that do not fit behind those that do
  bool interrupted = false;  // what was tried until then

  // The fastest that was simulated and fits; nullptr: nothing fits.
  const StrategyResult* Best() const;
};

struct StrategyTrialOptions {
  CostOptions costs{};
  std::optional<SchedulingPolicy> policy{};  // none: DefaultPolicy
  // What is stated is kept; of recomputation an empty list: nothing.
  std::optional<std::vector<std::string>> recompute{};
  std::optional<int64_t> micro_batches{};
  // Only what fits with all that is taken beside tensors fits (all_peaks.h); that takes about as long again.
  bool in_all_peaks = false;
  StopToken stop{};
  std::function<void(const StrategyResult&)> tried{};
};

// Where the time of a strategy's step goes, and which link is the busiest.
struct StrategyDetail {
  StepSplit split;
  std::string link;      // "": none carries anything
  double link_busy = 0;  // share of the step
};

// The rewritten forms of one step are kept, whatever the clusters.
class StrategyTrier {
 public:
  // `step`: as recorded; outlives it.
  explicit StrategyTrier(const Graph& step) : step_(step) {}

  const Graph& step() const { return step_; }
  // Errors: those of SearchStrategies and of the cost model.
  Result<StrategyTrials> On(const Cluster& cluster, const StrategyTrialOptions& options);
  // One alone. What is in its way is its why_not. Errors: kUsage (an unknown algorithm), those of the cost model.
  Result<StrategyResult> Try(const Cluster& cluster, const Strategy& strategy,
                             const StrategyTrialOptions& options);
  // Of a strategy that was tried with the same options and makes a plan.
  Result<StrategyDetail> Detail(const Cluster& cluster, const Strategy& strategy,
                                const StrategyTrialOptions& options);

 private:
  Result<const Graph*> Rewritten(const Rewriting& rewriting);
  Result<StrategyTrials> OnOneDevice(const Cluster& cluster, const StrategyTrialOptions& options);

  const Graph& step_;
  std::map<std::string, Result<std::unique_ptr<const Graph>>>
      rewritten_;  // by the transforms' words
};

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_STRATEGY_TRIALS_H_
