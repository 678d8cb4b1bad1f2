// A state in which a search over layouts starts, with what moves would come to late (internal to the module): what is
// tried, and in which order, is in docs/algorithms/layout-search.md.
#ifndef PLACEWRIGHT_SEARCH_LAYOUTS_START_IMPROVEMENT_H_
#define PLACEWRIGHT_SEARCH_LAYOUTS_START_IMPROVEMENT_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "search/layouts/layout_moves.h"
#include "search/layouts/layout_scorer.h"
#include "search/layouts/layout_state.h"
#include "search/problem/layout_problem.h"

namespace placewright {

class StartImprovement {
 public:
  // Of all that is scored, but for what takes longer than the start as far as it is improved by then. False where
  // no more is wanted.
  using Keep = std::function<bool(const LayoutState&, const Score&)>;

  // All must outlive it.
  StartImprovement(LayoutMoves& moves, LayoutScorer& scorer, Keep keep)
      : problem_(scorer.problem()),
        book_(scorer.book()),
        moves_(moves),
        scorer_(scorer),
        keep_(std::move(keep)) {}

  // Most of it is tried on top of what helped before. False where the time or `keep` ended it before all was.
  bool Improve(LayoutState start, const Score& score);

 private:
  void TryAxes();
  void TryShares();
  void TryFactors();
  void TrySummands();
  void TryFeeders();
  void TryUpdates();
  template <typename Make>
  void TryAhead(size_t count, const Make& make);
  void TryAll(const std::vector<LayoutState>& states);
  LayoutState WithCopies(GroupId group, LayoutId layout);
  bool SplitsSamples(LayoutId id) const;
  bool Ended();

  const LayoutProblem& problem_;
  LayoutBook& book_;
  LayoutMoves& moves_;
  LayoutScorer& scorer_;
  const Keep keep_;
  LayoutState base_;
  Score score_;
  bool ended_ = false;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LAYOUTS_START_IMPROVEMENT_H_
