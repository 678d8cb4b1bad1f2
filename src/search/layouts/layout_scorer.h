// States scored on up to four threads (internal to the module).
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SCORER_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SCORER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/layout_problem.h"
#include "search/layouts/layout_state.h"
#include "search/layouts/layout_trials.h"

namespace placewright {

class LayoutScorer {
 public:
  // How many states a search draws or makes as if none before them was taken, for any number of threads: the draws, and
  // so the plan, are those of one after the other, as what follows on one that is taken is drawn again.
  static constexpr int kAhead = 4;

  struct Trial {
    const LayoutState* state;  // of the book of the trials
    Nanos longest = Nanos(kMaxQuantity);
    std::optional<Score> known{};  // from before
  };
  // The limit for a state that is to beat one with this score: none where that does not fit.
  static Nanos LongestOf(const Score& score) {
    return Nanos(score.over == 0 ? score.step_time : kMaxQuantity);
  }
  // None: it takes longer than it may. An error: it cannot be compiled.
  using Scored = Result<std::optional<Score>>;

  // All must outlive it. Of the threads it has use for kAhead.
  LayoutScorer(const LayoutProblem& problem, LayoutTrials& trials, const Budget& budget,
               int threads)
      : problem_(problem),
        book_(trials.book()),
        budget_(budget),
        pool_(std::clamp(threads, 1, kAhead)) {
    slots_.emplace_back(trials.evaluator());
    for (int i = 1; i < pool_.threads(); ++i) {
      slots_.emplace_back(further_.emplace_back(problem_));
    }
  }

  const LayoutProblem& problem() const { return problem_; }
  LayoutBook& book() { return book_; }
  const Budget& budget() const { return budget_; }

  // Calls use(i, scored) in the trials' order until it returns true. The time is looked at between batches of as many
  // as there are threads, once one has compiled; false where it had ended.
  template <typename Use>
  bool ScoreInTurn(const std::vector<Trial>& trials, const Use& use) {
    const size_t threads = slots_.size();
    std::vector<Scored> scores(threads, Scored(std::nullopt));
    bool any = false;
    for (size_t from = 0; from < trials.size(); from += threads) {
      if (any && budget_.Expired()) return false;
      const size_t count = std::min(threads, trials.size() - from);
      for (size_t i = 0; i < count; ++i) book_.Give(*trials[from + i].state, slots_[i].layouts);
      pool_.ParallelFor(static_cast<int>(count), [&](int i) {
        const size_t slot = static_cast<size_t>(i);
        scores[slot] = ScoreIn(slots_[slot], trials[from + slot]);
      });
      for (size_t i = 0; i < count; ++i) {
        any |= scores[i].ok();
        if (use(from + i, scores[i])) return true;
      }
    }
    return true;
  }

  struct Made {
    LayoutState state;
    Nanos longest = Nanos(kMaxQuantity);
    std::optional<Score> known{};
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
      for (const Made& one : made) trials.push_back({&one.state, one.longest, one.known});
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

  // Whether a state's gradients are made apart, where that need not be compiled to be known.
  std::optional<bool> GradientsApart(const LayoutState& state) {
    Slot& slot = slots_.front();
    book_.Give(state, slot.layouts);
    const auto evaluation = slot.evaluator.Evaluate(slot.layouts, {.switches = state.switches});
    return evaluation.ok() ? slot.evaluator.gradients_apart() : std::nullopt;
  }

  // Errors: those of CompileStep.
  Result<std::vector<TimedInstance>> InstancesOfState(const LayoutState& state) {
    if (GradientsApart(state).has_value()) return slots_.front().evaluator.Instances();
    PW_ASSIGN(const CompiledStep compiled,
              CompileStep(problem_, book_.Of(state), {.switches = state.switches}));
    return InstancesOf(compiled);
  }

 private:
  // What one thread works with.
  struct Slot {
    explicit Slot(LayoutEvaluator& of) : evaluator(of) {}
    LayoutEvaluator& evaluator;
    Layouts layouts;
  };

  Scored ScoreIn(Slot& slot, const Trial& trial) const {
    if (trial.known && trial.known->step_time > trial.longest.count) return {std::nullopt};
    if (trial.known) return trial.known;
    PW_ASSIGN(
        const Evaluation evaluation,
        slot.evaluator.Evaluate(slot.layouts, {.switches = trial.state->switches}, trial.longest));
    return evaluation.abandoned ? std::nullopt : std::optional(evaluation.score());
  }

  const LayoutProblem& problem_;
  LayoutBook& book_;
  const Budget& budget_;
  ThreadPool pool_;
  std::deque<LayoutEvaluator> further_;  // of all threads but the first
  std::deque<Slot> slots_;               // by thread
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_LAYOUT_SCORER_H_
