// Ways to distribute one step, evaluated one after the other: what they have in common is priced and laid out once.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_TRIALS_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_TRIALS_H_

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/layout_problem.h"
#include "search/layouts/layout_state.h"
#include "search/planner.h"

namespace placewright {

// For one thread.
class LayoutTrials {
 public:
  // `problem` must outlive it.
  explicit LayoutTrials(const LayoutProblem& problem) : problem_(problem), evaluator_(problem) {}

  LayoutBook& book() { return book_; }
  // By the layouts of the book.
  LayoutEvaluator& evaluator() { return evaluator_; }

  // Batch norms as the problem has them. What was evaluated before, and not given up, is known: baselines come to the
  // same on devices that are alike. Errors: those of StateOf and of LayoutEvaluator::Evaluate.
  Result<Evaluation> Evaluate(const DistributionSpec& spec,
                              Nanos abandon_above = Nanos(kMaxQuantity)) {
    PW_ASSIGN(LayoutState state, StateOf(problem_, spec, book_));
    if (const Evaluation* known = Known(state)) return *known;
    PW_ASSIGN(Evaluation evaluation,
              evaluator_.Evaluate(book_.Of(state), {.switches = state.switches}, abandon_above));
    if (!evaluation.abandoned) known_.emplace_back(std::move(state), evaluation);
    return evaluation;
  }

  // Of what was evaluated before, until the next evaluation; or nullptr.
  const Evaluation* Known(const LayoutState& state) const {
    const auto found = std::find_if(known_.begin(), known_.end(),
                                    [&](const auto& known) { return known.first == state; });
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  const LayoutProblem& problem_;
  LayoutBook book_;
  LayoutEvaluator evaluator_;
  std::vector<std::pair<LayoutState, Evaluation>> known_;
};

// Those that the options bring, of the same problem, or new ones.
inline std::shared_ptr<LayoutTrials> TrialsOf(const PlannerOptions& options,
                                              const LayoutProblem& problem) {
  return options.layout_trials ? options.layout_trials : std::make_shared<LayoutTrials>(problem);
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_TRIALS_H_
