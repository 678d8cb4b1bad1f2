// Strategies as a game for the tree search (tree.h): a move decides a unit, and a position is worth what the step of its
// strategy gains over data parallelism.
#ifndef PLACEWRIGHT_SEARCH_TAG_STRATEGY_GAME_H_
#define PLACEWRIGHT_SEARCH_TAG_STRATEGY_GAME_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/stop.h"
#include "search/evaluator.h"
#include "search/problem/layout_problem.h"
#include "search/tag/prior.h"
#include "search/tag/slices.h"
#include "search/tag/strategies.h"
#include "search/tag/strategy_work.h"
#include "search/tag/tree.h"

namespace placewright {

struct StrategyGameOptions {
  SliceOptions slices;
  bool fourth_root = false;  // of rewards above 1
  double even = 0.5;         // of every prior
  // While a network is trained: so many slices of a unit at most, three quarters of them those that the floor prior has
  // first, the others drawn; 0: all. Visits of few say more than one visit of each of hundreds.
  size_t most_actions = 0;
};

class StrategyGame {
 public:
  // Of a state that was scored for a position.
  using OnScored = std::function<void(const LayoutState&, const Score&)>;

  // All must outlive it; `book`: of all states. Looks at data parallelism with AllReduce, or what units may have next to
  // it: the base until there is another. Errors: those of Strategies::Make and of compiling that.
  static Result<std::unique_ptr<StrategyGame>> Make(const Problem& problem, Evaluator& evaluator,
                                                    LayoutBook& book, const Budget& budget,
                                                    const StrategyGameOptions& options);

  const Strategies& strategies() const { return *strategies_; }
  const StrategyWork& work() const { return work_; }
  const Score& base() const { return base_; }
  const LayoutState& base_state() const { return base_state_; }
  // What rewards are relative to. It need not fit.
  void SetBase(const Score& base) { base_ = base; }
  int64_t simulated() const { return simulated_; }  // for positions
  int64_t looked_at() const { return looked_at_; }  // positions valued, but for the first
  // Before the first position; nullptr: uniform.
  void SetPrior(StrategyPrior* prior) { prior_ = prior; }
  void SetOnScored(OnScored on_scored) { on_scored_ = std::move(on_scored); }
  // Positions begin with these decisions from now on.
  void SetDecided(TreePath decided) { decided_ = std::move(decided); }

  // Of the tree.
  bool IsOver(const TreePath& path) const;
  std::vector<TreeAction> Actions(const TreePath& path);
  // False once the budget has expired; the first position is valued in any case.
  bool Value(std::span<const TreePath> paths, std::vector<double>& values);

  // Of a slice for each unit. Errors: those of Strategies::StateOf.
  Result<LayoutState> StateOf(std::span<const int32_t> slices) {
    return strategies_->StateOf(slices);
  }
  // None: it cannot be compiled, or takes longer than `longest`. States that were looked at are known.
  std::vector<std::optional<Score>> ScoresOf(const std::vector<LayoutState>& states, Nanos longest);
  // What the simulated step of these decisions did. Errors: of compiling it.
  Result<StrategyFeedback> FeedbackAt(std::span<const int32_t> decided);
  // Slices that the next unit may have.
  std::vector<int32_t> SlicesAt(std::span<const int32_t> decided);

 private:
  StrategyGame(const Problem& problem, Evaluator& evaluator, LayoutBook& book, const Budget& budget,
               const StrategyGameOptions& options, std::unique_ptr<Strategies> strategies);
  Status LookAtBase();
  TreePath Whole(const TreePath& path) const;
  double RewardOf(const std::optional<Score>& score) const;

  const LayoutProblem& problem_;
  Evaluator& evaluator_;
  LayoutBook& book_;
  const Budget& budget_;
  const StrategyGameOptions options_;
  const std::unique_ptr<Strategies> strategies_;
  const StrategyWork work_;
  StrategyPrior* prior_ = nullptr;
  OnScored on_scored_;
  TreePath decided_;
  LayoutState base_state_;
  Score base_;
  std::unordered_map<uint64_t, std::optional<Score>> scores_;  // by hash of the state
  int64_t simulated_ = 0, looked_at_ = -1;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_STRATEGY_GAME_H_
