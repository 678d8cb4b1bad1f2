// descent: coordinate descent over sets of groups, on re-simulation.
//
//   incumbent = the best plan to start from, or of two once each has had one pass over modules
//   for whole modules, then for the kSets sets of local search (move_sets.h) of the longest time:
//     repeat until a pass brings nothing:
//       for each set, the longest time first:
//         evaluate it on every accelerator, all else as in the incumbent
//         incumbent = the best of these, if it is better
//
// Whole modules first: where the parts of a model lie decides more than what is cut off them, and
// drawn moves find it slowly. Nothing is drawn, so that plans do not depend on the seed. A move is
// one plan evaluated; the plans of a set are a batch over the evaluator's threads, given up as soon
// as they take longer than the incumbent.
//
// In its first thousands of moves, while it tries whole modules, it is behind local-search, which
// tries many kinds of moves at a time; then it overtakes. So `auto` runs it once that has made some
// moves, and local-search goes on from its plan. Where layouts are searched as well it joins sooner on
// long steps, and tries two starts: what local-search has by then made of a plan may leave less to whole
// modules than another plan.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_DESCENT_H_
#define PLACEWRIGHT_SEARCH_LOCAL_DESCENT_H_

#include <optional>

#include "search/planner.h"

namespace placewright {

class DescentPlanner : public IterativePlanner {
 public:
  static constexpr size_t kSets = 600;

  // Tests of the search itself do without enumeration (proof/enumeration.h), and say from how many plans it starts.
  explicit DescentPlanner(bool enumerates = true, std::optional<size_t> starts = std::nullopt)
      : enumerates_(enumerates), starts_(starts) {}

  std::string_view name() const override { return "descent"; }
  std::string_view description() const override {
    return "coordinate descent over sets of groups, the longest first, on re-simulation";
  }
  int64_t joins_after(const Problem& problem) const override;
  // From how many plans it starts.
  size_t StartsFor(const Problem& problem) const;
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;

 private:
  bool enumerates_;
  std::optional<size_t> starts_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_DESCENT_H_
