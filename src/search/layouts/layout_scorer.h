// States of a search scored by the evaluator, up to four at a time (internal to the module).
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SCORER_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SCORER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "base/units.h"
#include "search/evaluator.h"
#include "search/layouts/layout_state.h"
#include "search/problem/layout_problem.h"

namespace placewright {

class LayoutScorer {
 public:
  // How many states a search draws or makes as if none before them was taken, for any number of threads: the draws, and
  // so the plan, are those of one after the other, as what follows on one that is taken is drawn again.
  static constexpr int kAhead = 4;

  struct Trial {
    const LayoutState* state;  // of the book
    Nanos longest = Nanos(kMaxQuantity);
  };
  // The limit for a state that is to beat one with this score: none where that does not fit.
  static Nanos LongestOf(const Score& score) {
    return Nanos(score.over == 0 ? score.step_time : kMaxQuantity);
  }
  // None: it takes longer than it may. An error: it cannot be compiled.
  using Scored = Result<std::optional<Score>>;

  // All must outlive it. Of the evaluator's threads it has use for kAhead. `book`: of all states.
  LayoutScorer(const LayoutProblem& problem, Evaluator& evaluator, LayoutBook& book,
               const Budget& budget)
      : problem_(problem), evaluator_(evaluator), book_(book), budget_(budget) {}

  const LayoutProblem& problem() const { return problem_; }
  LayoutBook& book() { return book_; }
  const Budget& budget() const { return budget_; }

  // Calls use(i, scored) in the trials' order until it returns true. The time is looked at between batches of as many
  // as there are threads, once one has compiled; false where it had ended.
  template <typename Use>
  bool ScoreInTurn(const std::vector<Trial>& trials, const Use& use) {
    const auto threads = static_cast<size_t>(std::clamp(evaluator_.threads(), 1, kAhead));
    bool any = false;
    for (size_t from = 0; from < trials.size(); from += threads) {
      if (any && budget_.Expired()) return false;
      const size_t count = std::min(threads, trials.size() - from);
      std::vector<StepPlan> plans;
      std::vector<Nanos> limits;
      for (size_t i = from; i < from + count; ++i) {
        plans.push_back(PlanOf(book_, *trials[i].state));
        limits.push_back(trials[i].longest);
      }
      std::vector<Result<Evaluation>> evaluations =
          evaluator_.EvaluatePlans(plans, {.limits = limits});
      for (size_t i = 0; i < count; ++i) {
        any |= evaluations[i].ok();
        if (use(from + i, ScoredOf(evaluations[i]))) return true;
      }
    }
    return true;
  }

  struct Made {
    LayoutState state;
    Nanos longest = Nanos(kMaxQuantity);
  };
  // What the use of a state means for those behind it: nothing, that they are made again, or that they are not looked at.
  enum class Next : uint8_t { kOn, kAgain, kEnd };

  // Scores what make(number), an optional Made, returns for the numbers below `count`, kAhead states at a time, and calls
  // use(number, state, scored) in their order. Returns the first number that was left out as the time or `use` ended it,
  // or `count`.
  template <typename Make, typename Use>
  size_t TryAhead(size_t count, const Make& make, const Use& use) {
    for (size_t next = 0; next < count;) {
      std::vector<Made> made;
      std::vector<size_t> numbers;
      for (; next < count && made.size() < size_t{kAhead}; ++next) {
        std::optional<Made> one = make(next);
        if (!one) continue;
        made.push_back(*std::move(one));
        numbers.push_back(next);
      }
      if (made.empty()) break;
      if (budget_.Expired()) return numbers.front();
      std::vector<Trial> trials;
      for (const Made& one : made) trials.push_back({&one.state, one.longest});
      Next then = Next::kOn;
      size_t used = 0;
      const bool in_time = ScoreInTurn(trials, [&](size_t i, const Scored& scored) {
        then = use(numbers[i], made[i].state, scored);
        used = i + 1;
        return then != Next::kOn;
      });
      if (!in_time) return numbers[used];
      if (then != Next::kOn) next = numbers[used - 1] + 1;
      if (then == Next::kEnd) return next;
    }
    return count;
  }

  // What the step of a state did where. Errors: those of CompileStep.
  Result<Feedback> FeedbackOf(const LayoutState& state) {
    PW_ASSIGN(Evaluation evaluation,
              evaluator_.EvaluatePlan(PlanOf(book_, state), {.feedback = true}));
    return *std::move(evaluation.feedback);
  }

 private:
  static Scored ScoredOf(const Result<Evaluation>& evaluation) {
    if (!evaluation.ok()) return evaluation.error();
    if (evaluation.value().abandoned) return {std::nullopt};
    return {evaluation.value().score()};
  }

  const LayoutProblem& problem_;
  Evaluator& evaluator_;
  LayoutBook& book_;
  const Budget& budget_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SCORER_H_
