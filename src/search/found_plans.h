// What `auto` has found so far: the best plan, those to start from, and what is said of all planners.
#ifndef PLACEWRIGHT_SEARCH_FOUND_PLANS_H_
#define PLACEWRIGHT_SEARCH_FOUND_PLANS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/evaluator.h"
#include "search/plan_history.h"
#include "search/planner.h"

namespace placewright {

class FoundPlans {
 public:
  using Scored = std::vector<std::pair<Score, StepPlan>>;

  explicit FoundPlans(const Problem& problem) : problem_(problem) {}

  // What a planner made, one more baseline; moves count where it is a search. `among`: `placed` or `split`.
  void Add(Scored& among, PlannerResult result, const Score& score, bool search);
  // What was given to start from, before all planners; none of its baselines.
  void AddInitial(Scored& among, PlannerResult result, const Score& score);
  void AddBaseline(Baseline baseline) { baselines_.push_back(std::move(baseline)); }
  // Moves that came to no plan.
  void AddMoves(int64_t moves) { iterations_ += moves; }

  void AddNote(std::string note) { notes_.push_back(std::move(note)); }
  void AddNotRun(const Planner& planner);  // no time or moves were left
  void AddFailure(std::string_view planner, Error error);
  // The same of one that chooses the devices of every op itself: the step or constraints may exclude it, which is no
  // fault and said in one note for all of these.
  void AddRefusal(const Planner& planner, Error error);
  // The error where there is no plan is the first one.
  void Keep(Error error);

  bool empty() const { return !best_; }
  // Sorts them; at most `max`, the best first.
  static std::vector<StepPlan> BestOf(Scored& plans, size_t max = SIZE_MAX);

  // The best plan with what is known of all others. `seconds`: since the process started.
  Result<PlannerResult> Take(double seconds) &&;

  Scored placed, split;  // plans of whole ops; those that split or copy some
  PlanHistory history;

 private:
  const Problem& problem_;
  std::optional<PlannerResult> best_;
  Score best_score_;
  bool best_is_searched_ = false;
  std::optional<Error> error_;  // of the first planner that failed
  std::vector<Baseline> baselines_;
  std::vector<std::string> notes_;                // of all searches
  std::vector<std::string> best_notes_;           // of the best plan, where no search made it
  std::string not_run_, constrained_, unsuited_;  // planners
  int64_t iterations_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_FOUND_PLANS_H_
