// Which strategy a step is trained by: all are estimated (search/strategies/strategy_space.h), the best are laid out by the
// planners of their names and simulated, one rewriting of the step after the other.
//
// A rewriting's turn comes by its best estimate among those that are estimated to fit, and first by one that has room to
// spare. Of a rewriting those are simulated whose floor is below the best time so far, and whose estimate is at most
// kFarBehind times that. What does not fit by a little is tried where nothing else fits.
//
// Everything follows from the step, the cluster and the number of evaluations, so that this number repeats it; time ends
// it earlier. Threads change nothing.
#ifndef PLACEWRIGHT_PLANNING_STRATEGY_SEARCH_H_
#define PLACEWRIGHT_PLANNING_STRATEGY_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "planning/plan_session.h"
#include "planning/strategies.h"
#include "search/planner.h"

namespace placewright {

inline constexpr double kFarBehind = 1.2;
inline constexpr double kRoomToSpare = 0.9;   // of the memory, of the first that is tried
inline constexpr double kALittleMore = 1.15;  // times the memory

struct StrategySearchOptions {
  StrategyOptions strategies{};
  SchedulingPolicy policy = SchedulingPolicy::kProgram;
  SplitWishes wishes{};
  PlannerOptions planning{};  // budget: its deadline and stop token; threads, seed
  // Nothing is simulated where some strategy without rewriting is estimated to fit with room to spare and none with one is estimated
  // to be faster: `auto` tries those itself.
  bool only_if_rewritten = false;
  // Behind every one that was simulated; in the order in which they are.
  std::function<void(const StrategyResult&)> tried{};
};

struct StrategySearchResult {
  // Those that were simulated and fit, the fastest first; those that are estimated to; those that do not fit; those that
  // are none for this step or cluster.
  std::vector<StrategyResult> strategies;
  int64_t evaluations = 0;  // that were simulated
  bool cut_short = false;   // by time, or by the limit of evaluations
  // The fastest that fits, or else the one that exceeds memory by the smallest amount; none: nothing was simulated.
  std::optional<Strategy> best;
  PlannerResult plan;  // of `best`, in the ids of the graph that its rewriting makes of the step

  bool rewrites() const { return best && !TransformsFor(best->rewriting).empty(); }
};

// `graph`: as it was recorded; it may count its draws. Errors: kUsage (a graph that is rewritten already), kInfeasible (no
// device supports every op), those of LayoutProblem::Make.
Result<StrategySearchResult> SearchStrategies(const Graph& graph, const Cluster& cluster,
                                              const CostOptions& costs,
                                              const StrategySearchOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_STRATEGY_SEARCH_H_
