// How the best plan of several planners improved: who led when.
#ifndef PLACEWRIGHT_SEARCH_PLAN_HISTORY_H_
#define PLACEWRIGHT_SEARCH_PLAN_HISTORY_H_

#include <map>
#include <vector>

#include "search/planner.h"

namespace placewright {

// Of feasible plans; step times fall strictly, seconds do not fall, and moves are those of the planner that led.
class PlanHistory {
 public:
  // What a search has found since the last time, which leads if it is better than what all others have by now.
  void Note(const PlannerRun& run);
  // The same of all that a planner has found; one that is no search makes no moves.
  void Note(const PlannerResult& result, bool search);
  // A search led with plans that it does not have: those better than its last one, or, without one, all.
  void Withdraw(const PlannerResult& result, bool has_plan);
  // Moves it, and when the first plan was there, into the plan handed out, with which it ends: of two that are equally
  // good that may be another one's. `search`: a search made the plan.
  void EndWith(PlannerResult& plan, bool search, double seconds) &&;

 private:
  void Note(const PlannerResult& result, size_t from, bool search);

  std::vector<HistoryPoint> points_;
  std::map<const PlannerRun*, size_t> noted_;  // of the histories of searches
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PLAN_HISTORY_H_
