#include "search/layouts/start_improvement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "search/layouts/expert_hybrid.h"
#include "search/layouts/test_steps.h"
#include "search/layouts/test_tiny_steps.h"

namespace placewright {
namespace {

// The search's own starts, where none are handed in.
struct Starts {
  explicit Starts(const Problem& of)
      : problem(*of.layouts), trials(problem), moves(LayoutMoves::Make(of, trials.book()).Take()) {
    std::vector<LayoutState> states = moves.PlainStates();
    const Result<HybridLayouts> hybrid = LayOutAsExperts(problem);
    if (hybrid.ok()) states.push_back(StateOf(problem, hybrid.value().spec, trials.book()).Take());
    for (LayoutState& state : states) {
      const auto evaluation = EvaluateState(problem, trials.book(), state);
      if (!evaluation.ok()) continue;
      const Score score = evaluation.value().score();
      const bool placed = IsPlaced(state, trials.book());
      if (!placed && (!split || score < split->second)) split.emplace(state, score);
      if (!best || score < best->second) best.emplace(std::move(state), score);
    }
  }

  // What a start comes to.
  Score Improved(const std::pair<LayoutState, Score>& start, int threads) {
    const Budget budget;
    LayoutScorer scorer(problem, trials, budget, threads);
    Score improved = start.second;
    StartImprovement improvement(problem, trials.book(), moves, scorer, budget,
                                 [&](const LayoutState& state, const Score& score) {
                                   EXPECT_TRUE(moves.MayBe(state));
                                   if (score < improved) improved = score;
                                 });
    EXPECT_TRUE(improvement.Improve(start.first, start.second));
    return improved;
  }

  const LayoutProblem& problem;
  LayoutTrials trials;
  LayoutMoves moves;
  std::optional<std::pair<LayoutState, Score>> best, split;
};

int64_t StepOfStarts(const Problem& problem, int threads) {
  PlannerOptions options;
  options.budget.iterations = 0;
  options.threads = threads;
  const auto result =
      SearchLayouts(problem, options, LayoutRule::kLocalSearch, "layout-search", {}).Take();
  return result.step_time.count;
}

// A start that splits something is improved, too, where it is at most a seventh longer than the best one, which does
// not; and then it may be the better one.
TEST(StartImprovement, IsOfTheBestStartAndOfTheBestThatSplitsNearIt) {
  int near = 0, better = 0, far = 0, would_be_better = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const DrawnProblem drawn(seed);
    Starts starts(drawn.problem);
    if (!starts.best || !starts.split || !IsPlaced(starts.best->first, starts.trials.book()))
      continue;
    const int64_t placed = starts.Improved(*starts.best, 1).step_time;
    const int64_t split = starts.Improved(*starts.split, 1).step_time;
    const bool is_near = 7 * starts.split->second.step_time <= 8 * starts.best->second.step_time;
    const int64_t expected = is_near ? std::min(placed, split) : placed;
    EXPECT_EQ(StepOfStarts(drawn.problem, 1), expected) << "seed " << seed;
    (is_near ? near : far) += 1;
    if (split < placed) (is_near ? better : would_be_better) += 1;
  }
  EXPECT_GT(near, 5);
  EXPECT_GT(better, 0);
  EXPECT_GT(far, 5);
  EXPECT_GT(would_be_better, 0);
}

// What helps changes what is tried next: with any number of threads the same.
TEST(StartImprovement, DoesNotDependOnThreads) {
  int improved = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const TinyProblem tiny(seed, {}, 3);
    Starts starts(tiny.problem);
    ASSERT_TRUE(starts.split);
    const Score one = starts.Improved(*starts.split, 1);
    for (const int threads : {2, 3, 4}) {
      const Score more = starts.Improved(*starts.split, threads);
      EXPECT_EQ(more.step_time, one.step_time) << "seed " << seed << ", threads " << threads;
    }
    improved += one < starts.split->second ? 1 : 0;
  }
  EXPECT_GT(improved, 20);
}

// Where the time has ended nothing is tried.
TEST(StartImprovement, EndsWithTheTime) {
  const TinyProblem tiny(1, {}, 3);
  Starts starts(tiny.problem);
  Budget budget;
  budget.deadline = Clock::now();
  LayoutScorer scorer(starts.problem, starts.trials, budget, 1);
  int kept = 0;
  StartImprovement improvement(starts.problem, starts.trials.book(), starts.moves, scorer, budget,
                               [&](const LayoutState&, const Score&) { ++kept; });
  EXPECT_FALSE(improvement.Improve(starts.split->first, starts.split->second));
  EXPECT_EQ(kept, 0);
}

}  // namespace
}  // namespace placewright
