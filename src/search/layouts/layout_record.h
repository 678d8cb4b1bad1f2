// What a search over layouts has found so far, as PlannerRun::result gives it (internal to the module).
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_RECORD_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/layouts/layout_state.h"
#include "search/planner.h"

namespace placewright {

class LayoutRecord {
 public:
  // All must outlive it; `book`: of all states.
  LayoutRecord(Evaluator& evaluator, const PlannerOptions& options, const LayoutBook& book,
               std::string_view name);

  // The state, if it is the best so far.
  void Keep(const LayoutState& state, const Score& score);
  bool any() const { return best_.has_value(); }
  const LayoutState& best() const { return *best_; }  // there is one
  const Score& best_score() const { return best_score_; }
  int64_t best_at() const { return best_at_; }  // its iteration
  // The last best ones, the best last.
  const std::vector<LayoutState>& bests() const { return bests_; }
  // The first plan that fits ends the search, and it is there.
  bool IsEnough() const { return options_.first_fit && any() && best_score_.feasible; }
  // Once, of all notes.
  void NoteNoTime();
  // The best plan that compiles, as the result. Errors: of the best one, where none does.
  Status Finish();

  PlannerResult result;

 private:
  Status TakePlan(const LayoutState& state);
  void EndHistory();

  Evaluator& evaluator_;
  const PlannerOptions& options_;
  const LayoutBook& book_;
  std::optional<LayoutState> best_;
  static constexpr size_t kBests = 8;
  std::vector<LayoutState> bests_;  // in case that one does not compile
  Score best_score_;
  int64_t best_at_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_RECORD_H_
