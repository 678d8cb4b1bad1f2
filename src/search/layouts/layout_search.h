// Search over layouts: from the best of several starts by random neighbours (layout_moves.h), each
// simulated (evaluation/simulated_layouts.h).
//
//   local-search  a neighbour that is not worse is taken, and a little worse one at times; back to the best
//                 plan every 100 moves. What was tried is not tried again (Glover's tabu search, ORSA Journal on
//                 Computing 1, 1989, with all there was as its list), and where nothing better was found for long,
//                 the best plan is perturbed before the next 100 (iterated local search: Lourenco, Martin and
//                 Stuetzle, Handbook of Metaheuristics, 2003)
//   of units      local-search by moves of whole units alone, to devices, copies, parts and servers, as strategies of
//                 TAG have them (layout_moves.h); from everything on one device and data parallelism in its plain
//                 forms, without perturbing: so that its search and this can be compared
//   annealing     simulated annealing (Kirkpatrick et al., Science 220, 1983): temperatures from 10% of the
//                 step time of the start to 0.1% within 1,000 moves, then again from the best plan
//   mcmc          Metropolis-Hastings over single groups (Jia et al., FlexFlow, MLSys 2019, sec. 6.2): a step
//                 that is 0.2% longer is taken with probability e^-1
//
// Starts: plans that are handed in, or else data parallelism in its plain forms, splits by hand, and everything on one
// device. The best of them, and where that splits nothing the best near it that does, is improved by what moves would
// come to late (docs/algorithms/layout-search.md). A plan that does not fit is worse than any that does; of such plans
// the one with less beyond what there is, is better.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SEARCH_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SEARCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "search/agent_settings.h"
#include "search/planner.h"

namespace placewright {

// How neighbours are taken.
enum class LayoutRule : uint8_t { kLocalSearch, kLocalSearchOfUnits, kAnnealing, kMcmc };

// Goes on for up to four moves a slice. `name`: of the algorithm, in the result. Starts: the options' `initial`, if it
// splits or copies something, their `starts`, and `placed`, which is a plan of whole ops, or empty. Starts are no moves and count as none; they end with
// the time, but for the first. Constraints hold. Errors: those of LayoutMoves::Make; of the starts one's where none can be
// compiled; kUsage (the problem has no layouts).
Result<std::unique_ptr<PlannerRun>> StartLayoutSearch(const Problem& problem, Evaluator& evaluator,
                                                      const PlannerOptions& options,
                                                      LayoutRule rule, std::string_view name,
                                                      const StepPlan& placed);
// The same, to the end of the budget.
Result<PlannerResult> SearchLayouts(const Problem& problem, Evaluator& evaluator,
                                    const PlannerOptions& options, LayoutRule rule,
                                    std::string_view name, const StepPlan& placed);

// A search over placements that searches layouts where the problem has some, with what it begins with as a start.
class SearchOfEitherSpace : public IterativePlanner {
 public:
  virtual LayoutRule layout_rule() const = 0;
  Result<PlannerResult> Plan(const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) const override;
};

// By the rule of local-search.
class LayoutSearchPlanner : public IterativePlanner {
 public:
  // `settings`: "NAME=VALUE".
  explicit LayoutSearchPlanner(std::vector<std::string> settings = {})
      : settings_(std::move(settings)) {}
  std::string_view name() const override { return "layout-search"; }
  std::string_view description() const override {
    return "search over layouts: devices, shares, axes and synchronisation of groups of ops";
  }
  const SettableAlgorithm* settable() const override;
  PlanSpace space() const override { return PlanSpace::kReplicated; }
  Result<std::unique_ptr<PlannerRun>> Start(const Problem& problem, Evaluator& evaluator,
                                            const PlannerOptions& options) const override;

 private:
  const std::vector<std::string> settings_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SEARCH_H_
