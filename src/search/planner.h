// The interface of every algorithm that makes a plan, and the one table of them.
#ifndef PLACEWRIGHT_SEARCH_PLANNER_H_
#define PLACEWRIGHT_SEARCH_PLANNER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "plan/plan.h"
#include "search/problem/problem.h"

namespace placewright {

struct PlannerOptions {
  Budget budget;  // iterations: moves of this planner
  uint64_t seed = 0;
  int threads = 1;                   // never changes the result
  std::optional<Placement> initial;  // --init: where iterative planners start
  std::optional<Placement> given;    // of the graph's file: a start, and `auto`'s baseline "given"
  std::optional<Placement> expert;   // --expert: what the planner `expert` gives
  std::vector<Placement> starts;     // further plans they may start from, the best first
  Clock::time_point started;         // process start: seconds in the history count from here
  // Called from the planning thread, at most a few times a second and at every improvement.
  struct Progress {
    std::string_view algorithm;
    int64_t iterations = 0;
    Nanos best;
    bool feasible = false;
  };
  std::function<void(const Progress&)> progress;
};

struct PlannerResult {
  std::string algorithm;              // the true producer: in `auto`, the planner that won
  Placement placement;                // complete and legal, even if it does not fit
  bool feasible = false;              // fits in memory
  Nanos step_time;                    // simulated under problem.order
  int64_t iterations = 0;             // moves tried; replaying with this budget gives the same
  std::vector<HistoryPoint> history;  // strictly falling step times of feasible plans
  std::optional<double> first_feasible_seconds;
  std::vector<Baseline> baselines;  // `auto` only: every planner it ran
  bool out_of_memory = false;       // ended the search: the best plan until then
  std::vector<std::string> notes;   // what a user should know: a limit that was met, say
};

class Planner {
 public:
  virtual ~Planner() = default;
  virtual std::string_view name() const = 0;         // "m-etf"
  virtual std::string_view description() const = 0;  // one line with the source
  virtual bool iterative() const = 0;                // uses the budget (local-search, auto)
  // Whether `auto` runs it. Not: an opponent that auto's own search contains.
  virtual bool in_auto() const { return true; }
  // Same problem, seed and iteration budget: the same placement, bit for bit, for any `threads`.
  // Always returns a complete legal placement. Errors: kUnreachable only. Where memory runs out
  // before there is any plan, std::bad_alloc passes (base/out_of_memory.h).
  virtual Result<PlannerResult> Plan(const Problem& problem,
                                     const PlannerOptions& options) const = 0;
};

// The table, in the order in which tables print it; `auto` is not in it.
std::span<const Planner* const> SearchPlanners();
size_t PlannersInAuto();  // how many of them
// `auto` over a table: finishes every constructive planner, then searches until the budget ends.
// Its result is at most every entry of its own baselines.
std::unique_ptr<Planner> MakeAuto(std::vector<const Planner*> table);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PLANNER_H_
