// The interface of every algorithm that makes a plan.
#ifndef PLACEWRIGHT_SEARCH_PLANNER_H_
#define PLACEWRIGHT_SEARCH_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/stop.h"
#include "plan/plan.h"
#include "plan/step_plan.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"
#include "search/proof/bound.h"

namespace placewright {

struct PlannerResult;

struct PlannerOptions {
  Budget budget;  // iterations: moves of the search; `auto` shares them out
  uint64_t seed = 0;
  int threads = 1;  // never changes the result
  // --init: where iterative planners start. `auto` keeps the order that it states; --init states none.
  std::optional<StepPlan> initial;
  std::optional<StepPlan> given;  // of the graph's file: a start, and `auto`'s baseline "given"
  // Further plans they may start from. Searches over placements take those that split nothing, the best first.
  std::vector<StepPlan> starts;
  // A plan of the problem that splits ops and fits, as it was evaluated, with its baselines: `auto` goes on from it, and runs no
  // planner that is among these. It outlives the planning.
  const PlannerResult* found = nullptr;
  // Planners of plans that split ops, by estimates of what they come to, the best first: `auto` runs these first.
  std::vector<std::string> promising;
  // Those of which `auto` runs none on a step of many ops: far behind by estimate, or far above memory.
  std::vector<std::string> hopeless;
  // LowerBound of the problem's placements (proof/bound.h), where it is known: searches end at it.
  std::optional<Bound> bound{};
  Clock::time_point started;  // process start: seconds in the history count from here
  // Called from the planning thread, at most a few times a second and at every improvement.
  struct Progress {
    std::string_view algorithm;
    int64_t iterations = 0;
    Nanos best;
    bool feasible = false;
  };
  std::function<void(const Progress&)> progress;
  // Where many candidates are tried one after the other: at least 1, so many in a row without a better one end it; none:
  // all are tried.
  std::optional<int64_t> patience{};
  bool first_fit = false;  // a search over layouts ends with the first plan that fits
};

struct PlannerResult {
  std::string algorithm;  // the true producer: in `auto`, the planner that won
  PlanSpace space = PlanSpace::kPlaced;
  StepPlan plan;                      // complete and legal, even if it does not fit
  bool feasible = false;              // fits in memory
  Nanos step_time;                    // as evaluated
  Bytes over{};                       // what does not fit, where the plan is none of whole ops
  int64_t iterations = 0;             // moves tried; replaying with this budget gives the same
  std::vector<HistoryPoint> history;  // strictly falling step times of feasible plans
  std::optional<double> first_feasible_seconds;
  std::vector<Baseline> baselines;  // `auto` only: every planner it ran
  bool out_of_memory = false;       // ended the search: the best plan until then
  bool cut_short = false;           // a constructive planner whose budget ended before it was done
  std::vector<std::string> notes;   // what a user should know: a limit that was met, say

  // What the plan comes to.
  void SetEvaluation(const Evaluation& evaluation) {
    feasible = evaluation.feasible;
    step_time = evaluation.step_time;
    over = evaluation.TotalOver();
  }
};

class IterativePlanner;
struct SettableAlgorithm;  // agent_settings.h

// Same problem, seed and iteration budget: the same placement, bit for bit, for any `threads`.
class Planner {
 public:
  virtual ~Planner() = default;
  virtual std::string_view name() const = 0;         // "m-etf"
  virtual std::string_view description() const = 0;  // one line with the source
  // What --set changes; nullptr: nothing.
  virtual const SettableAlgorithm* settable() const { return nullptr; }
  // Of the plans that it makes: a lower bound says which space it holds for.
  virtual PlanSpace space() const { return PlanSpace::kPlaced; }
  virtual bool iterative() const = 0;  // uses the budget's iterations: a search, or auto
  virtual const IterativePlanner* AsIterative() const { return nullptr; }  // itself, if it is one
  // Whether `auto` runs it. Not: an opponent that auto's own search contains.
  virtual bool in_auto() const { return true; }
  // Whether it is soon done and comes to plans that fit where there are some: asked for where speed does not matter.
  virtual bool finds_what_fits() const { return false; }
  // Whether `auto` runs it behind the searches, as it would take seconds. Follows from the problem
  // alone, so that runs repeat.
  virtual bool RunsLast(const Problem&) const { return false; }
  // Whether it must run on the thread that plans: it calls a library that takes signals for itself
  // (graph/partition/partition.h).
  virtual bool on_calling_thread() const { return false; }
  // Always a complete legal placement, even if the budget is over at once. Looks at the budget's
  // stop token and deadline, and ends soon after with what it has. `evaluator` is that of the
  // problem. Errors: kUnreachable; kCancelled where the budget ended before there was any plan.
  // Where memory runs out before there is any, std::bad_alloc passes (base/out_of_memory.h).
  virtual Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                                     const PlannerOptions& options) const = 0;
};

// A search that has begun and can go on. The problem, the evaluator and the planner outlive it.
class PlannerRun {
 public:
  virtual ~PlannerRun() = default;
  // Goes on for one slice: some ten milliseconds of moves, fewer where `max_moves` or the iteration
  // budget of the options ends. How moves are cut into slices never depends on time. False once
  // there is nothing left to try.
  virtual bool Advance(int64_t max_moves) = 0;
  // A plan that the search may go on from, where it, or what the search makes of it, is better than its own.
  virtual void Offer(const Score& score, const StepPlan& plan) = 0;
  // Of all slices so far, with the best plan, which Finish may replace by one that compiles.
  virtual const PlannerResult& result() const = 0;
  // Behind the last slice: completes the result.
  virtual Status Finish() { return Ok(); }
};

// With how many moves searches over placements begin in `auto` where layouts are searched, too: ten million ops
// simulated, about, which is half a second to one.
int64_t FirstPlacedMoves(const Problem& problem);

// Slices until the budget ends; one at least, and without any limit one.
Result<PlannerResult> RunToItsEnd(PlannerRun& run, const Budget& budget);

// A planner that goes on improving its plan for as long as it is given.
class IterativePlanner : public Planner {
 public:
  bool iterative() const final { return true; }
  const IterativePlanner* AsIterative() const final { return this; }
  // Where positive: `auto` runs it, to its end, once the others have made this many moves together;
  // they go on from what it found. For a search that costs short runs more than it gives them.
  virtual int64_t joins_after(const Problem&) const { return 0; }
  // Makes the first plan, without moves. Errors: those of Plan.
  virtual Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                                    const PlannerOptions& options) const = 0;
  // Start, then slices until the budget ends. There is always one, so that the number of moves repeats the plan; without
  // any limit it is the only one.
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PLANNER_H_
