// Which strategy a step is trained by: all are estimated (search/strategies/strategy_space.h), the best are laid out by the
// planners of their names and simulated, one rewriting of the step after the other.
//
// A strategy's turn comes by its estimate among those that are estimated to fit, and first one's that has room to spare;
// with it come those of the same rewriting that are about as fast as the best estimate that is left. Where that first step
// is one of many ops (kManyInstances), the one of the fewest micro-batches that has room is tried before it: then there soon is a
// plan. The first then has all of the time, also what `auto` leaves to what follows. Simulated are those
// whose floor is below the best time so far, and whose estimate is at most kFarBehind times that. What does not fit by a
// little is tried where nothing else fits.
//
// Everything follows from the step, the cluster and the number of evaluations, so that this number repeats it; time, or
// the budget's iterations, end it earlier, but not before something fits or kMinEvaluations were made. Once something fits,
// `auto` goes on for as long as there is something to win: of the time that strategies have kShareOfGain times as much as
// the best estimate may be ahead of it, and what would take longer than is left is passed over: of what does not fold
// (`folds`) so much that is seen of three micro-batches. What is being simulated when time ends, once something fits, is
// given up, and stays an estimate. Threads change nothing.
#ifndef PLACEWRIGHT_PLANNING_STRATEGY_SEARCH_H_
#define PLACEWRIGHT_PLANNING_STRATEGY_SEARCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "planning/plan_session.h"
#include "planning/strategies.h"
#include "search/planner.h"
#include "search/proof/bound.h"
#include "transforms/transforms.h"

namespace placewright {

inline constexpr double kFarBehind = 1.1;     // times the best step
inline constexpr double kMisjudged = 1.05;    // the same in `auto`: the error of estimates
inline constexpr double kRoomToSpare = 0.93;  // of the memory, of the first that is tried
inline constexpr double kAboutFits = 1.04;    // times the memory: estimates are no more exact
inline constexpr double kALittleMore = 1.25;  // times the memory, where nothing else fits
inline constexpr int64_t kMinEvaluations = 3;
inline constexpr double kShareOfGain = 10;
inline constexpr int64_t kFoldedMicroBatches = 6;
inline constexpr double kManyInstances = 1e5;  // ops of the step times micro-batches

struct StrategySearchOptions {
  StrategyOptions strategies{};
  SchedulingPolicy policy = SchedulingPolicy::kProgram;
  SplitWishes wishes{};
  // Budget: its deadline, of the time until which `auto` leaves half to what follows, where that may do anything with it,
  // and stop token; threads, seed.
  PlannerOptions planning{};
  // `auto` has it: where the best by estimate leaves the step as it was recorded, and fits with room to spare, no rewriting
  // is simulated, and without settings that are as fast, as far as estimates can say, nothing, as it tries planners without
  // settings itself. Nor is what is behind by more than estimates err.
  bool for_auto = false;
  // What is simulated whatever `for_auto` says, and fits only if what the caching allocator and collectives take beside
  // tensors is there, too (sim/memory/device_memory.h). Checked of each that would be the best so far: that takes about as
  // long as to simulate it. In `auto` a search over layouts goes on from the best, with as much less memory as that takes beside tensors.
  bool in_all_peaks = false;
  double many_instances = kManyInstances;
  // Where there are many instances, also of more than kFoldedMicroBatches micro-batches in no pipeline: three of these are
  // laid out and simulated, if those between the first and the last take equally long (micro_batch_period.h). The plan of
  // the best is then one of such a step, until LayOut. Not in all peaks.
  bool folds = false;
  // Called in the place of Clock::now where time is shared out or may be over; empty: that.
  std::function<Clock::time_point()> now{};
  // Behind every one that was simulated, with how many these are, and the best so far.
  std::function<void(const StrategyResult& one, int64_t evaluations, const StrategyResult& best)>
      tried{};
};

struct StrategySearchResult {
  // Those that were simulated and fit, the fastest first; those that are estimated to; those that do not fit; those that
  // are none for this step or cluster.
  std::vector<StrategyResult> strategies;
  int64_t evaluations = 0;      // that were simulated
  bool cut_short = false;       // by time, a stop, or the limit of evaluations
  bool out_of_time = false;     // by time
  bool first_was_late = false;  // behind the deadline there was no plan that fits yet
  // Estimated to be faster than the best and to fit, and not simulated as time was over: the first of the first few
  // algorithms. And the time with which they may be.
  std::vector<StrategyResult> untried;
  std::chrono::minutes suggested_time{};
  Clock::duration best_took{};  // to lay out and simulate the best, of all its micro-batches
  // Where the best rewrites the step: what no plan beats under any rewriting, by the work of the step as it was recorded,
  // to which micro-batches, recomputation and pipelines only add; none where another argument bounds that step.
  std::optional<Bound> any_rewriting;
  std::vector<Baseline> baselines;    // those that were simulated, in this order
  std::vector<HistoryPoint> history;  // of those that fit
  // The fastest that fits, or else the one that exceeds memory by the smallest amount; none: nothing was simulated.
  std::optional<Strategy> best;
  PlannerResult plan;  // of `best`, in the ids of the graph that its rewriting makes of the step
  // `plan` is of a step of which three micro-batches are written: what its evaluation came to, for all of them.
  std::optional<Evaluation> folded;
  // Lays the best out for the problem of all of its step, where it is folded. Errors: those of its planner.
  Status LayOut(const Problem& problem);
  // What the best makes of the step, where that is there still, and nothing else holds it.
  std::unique_ptr<Graph> rewritten;
  // Makes the step of `plan` of what was simulated, where that was in lanes and is still there: graph, cluster and costs
  // have to be, too. Else empty.
  PlanSession::PlanCompiler compiler;

  // The best is one that fits and that rewrites the step: what `auto` goes on with.
  bool rewrites() const { return has_plan() && !TransformsFor(best->rewriting).empty(); }
  // One that fits, of the step as it is or rewritten: where `auto` is stopped by then, the best so far.
  bool has_plan() const { return best && plan.feasible; }
  // What a plan says of them: those that were simulated, and of each algorithm of which none was its best; where none
  // fits, the one that lacks the smallest amount is the first.
  std::vector<StrategyResult> Shown() const;
  // The algorithms of those that fit and do not rewrite the step, the fastest first.
  std::vector<std::string> Promising() const;
  // The algorithms of those that do not rewrite the step and are far behind the best of these, exceed memory by far, or are
  // none for this step; nothing where none fits.
  std::vector<std::string> Hopeless() const;
  // What time left out, and the remedy; nothing where it left out nothing.
  std::vector<std::string> NotesOfTime() const;
  // `plan` as `auto` has it: with the name of its strategy, baselines, history, notes of `any_rewriting` and of time.
  PlannerResult ForAuto() const;
};

// What `auto` makes of a step behind its strategies with what is left of the budget, of whose iterations every strategy that
// was simulated was one. Where the best strategy rewrites the step, or the budget is stopped: its plan, and what a search over
// layouts makes of it, if there is time for more than an evaluation. Else `search` goes on from it, with what the strategies
// say of planners in its options. Without strategies (nullptr) `search` alone. `problem`: of the step that the best strategy
// rewrites, if it does. Errors: those of the search over layouts and of `search`.
Result<PlannerResult> SearchBehind(
    const StrategySearchResult* strategies, const Problem& problem, Evaluator& evaluator,
    PlannerOptions options,
    const std::function<Result<PlannerResult>(const PlannerOptions&)>& search);

// Those that were simulated and fit first, the fastest ahead; then those that are estimated to fit; then those that do not,
// by what they lack; then those that are none.
void RankStrategyResults(std::vector<StrategyResult>& strategies);

// Memory and capacity of the device that is fullest; why_not where the plan does not fit.
void TakeFullestDevice(const Cluster& cluster, const Evaluation& evaluation,
                       StrategyResult& result);

// "does not fit: 32 GiB of 24 GiB".
std::string DoesNotFitIn(Bytes memory, Bytes capacity);

// What is left of the moves, of which every strategy that was simulated was one.
void LeaveMoves(int64_t evaluations, Budget& budget);

// Whether `auto` chooses strategies: of a recorded step, as it was recorded, whose ops may be split, without constraints.
bool MayChooseStrategies(const Graph& graph, const Constraints& constraints);

// By tables of the step alone, of each algorithm the fastest that is estimated to fit; the fastest first. `graph`: as it was
// recorded. Errors: kInfeasible (no device supports every op), those of LayoutProblem::Make.
Result<std::vector<StrategyResult>> EstimatedToFit(const Graph& graph, const Cluster& cluster,
                                                   const CostOptions& costs,
                                                   SchedulingPolicy policy);

// `graph`: as it was recorded; it may count its draws. Errors: kUsage (a graph that is rewritten already), kInfeasible (no
// device supports every op), those of LayoutProblem::Make.
Result<StrategySearchResult> SearchStrategies(const Graph& graph, const Cluster& cluster,
                                              const CostOptions& costs,
                                              const StrategySearchOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_STRATEGY_SEARCH_H_
