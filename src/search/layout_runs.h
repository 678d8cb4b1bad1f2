// The searches over layouts that `auto` has begun, as far as they do not depend on its budget and its other planners.
#ifndef PLACEWRIGHT_SEARCH_LAYOUT_RUNS_H_
#define PLACEWRIGHT_SEARCH_LAYOUT_RUNS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "search/evaluator.h"
#include "search/planner.h"

namespace placewright {

// Of a plan that splits or copies ops, as its planner evaluated it.
Score ScoreInParts(const PlannerResult& result);

class LayoutRuns {
 public:
  bool empty() const { return runs_.empty(); }
  void Add(std::unique_ptr<PlannerRun> run) { runs_.push_back({std::move(run), true}); }
  void Clear() { runs_.clear(); }
  PlannerRun& last() { return *runs_.back().run; }
  size_t size() const { return runs_.size(); }

  // The one with the fewest moves of those that go on, of equals the first; nullptr: none does.
  PlannerRun* Next() const;
  // A slice. A run that throws does not go on.
  void Advance(PlannerRun& run, int64_t max_moves);
  // Its plan, to those whose own is worse.
  void OfferToOthers(const PlannerRun& from);
  void OfferToAll(const Score& score, const StepPlan& plan);

  int64_t MovesMade() const;  // all together
  Score Best() const;
  template <class Use>
  void ForEach(const Use& use) {
    for (const One& one : runs_) use(*one.run);
  }

 private:
  struct One {
    std::unique_ptr<PlannerRun> run;
    bool goes_on = true;
  };
  std::vector<One> runs_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUT_RUNS_H_
