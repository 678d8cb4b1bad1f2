// Games from which TAG's network learns (Zhang et al., sec. 4.2.2): the search decides one unit after the other, and every
// decision is a lesson.
//
// For each of the first quarter of the units the tree grows to `visits` for each slice that may be tried; the lesson's
// target is how often each was, and the decision is drawn from that. Simulated steps are known from tree to tree, so that
// what was looked at before costs nothing.
//
// Deviations: the paper has at least 800 visits of a vertex, the authors' code 8 (N - i) 2^M of the i-th of N units, at
// most 8,000; of hundreds of slices that is one or two each, which teaches noise. Here a unit has at most 64 slices
// (strategy_game.h), each with 20 visits. Vertices below the root are no lessons.
#ifndef PLACEWRIGHT_SEARCH_TAG_SELF_PLAY_H_
#define PLACEWRIGHT_SEARCH_TAG_SELF_PLAY_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "search/evaluator.h"
#include "search/problem/problem.h"
#include "search/tag/lesson.h"
#include "search/tag/network.h"
#include "search/tag/strategy_game.h"

namespace placewright {

struct SelfPlayOptions {
  int64_t visits = 20;                  // for each slice
  size_t most_actions = 64;             // slices of a unit
  double played = 0.25;                 // of the units; one at least
  bool feedback = true;                 // whether lessons have it
  StrategyGameOptions game;             // but for most_actions
  TreeOptions tree;                     // but for its seed, and what closes
  TagView view = TagView::kOwn;         // of lessons, and of the network
  const TagNetwork* network = nullptr;  // whose prior is followed; nullptr: that of floors
  uint64_t seed = 0;
};

struct TagGame {
  std::vector<TagLesson> lessons;
  int64_t looked_at = 0;  // strategies
  Score best;             // of these, and of data parallelism
};

// Its lessons are fewer where the budget ended it. Errors: those of StrategyGame::Make.
Result<TagGame> PlayGame(const Problem& problem, Evaluator& evaluator, const Budget& budget,
                         const SelfPlayOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_TAG_SELF_PLAY_H_
