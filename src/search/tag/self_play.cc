#include "search/tag/self_play.h"

#include <algorithm>
#include <optional>

#include "search/tag/floor_prior.h"
#include "search/tag/network_prior.h"
#include "search/tag/strategy_game.h"

namespace placewright {

Result<TagGame> PlayGame(const Problem& problem, Evaluator& evaluator, const Budget& budget,
                         const SelfPlayOptions& options) {
  LayoutBook book;
  StrategyGameOptions of_game = options.game;
  of_game.most_actions = options.most_actions;
  PW_ASSIGN(const std::unique_ptr<StrategyGame> game,
            StrategyGame::Make(problem, evaluator, book, budget, of_game));
  const Strategies& strategies = game->strategies();
  const TagFeatures features(*problem.layouts, strategies, game->work(), options.view);
  FloorPrior floor(strategies, game->work());
  std::optional<NetworkPrior> learned;
  game->SetPrior(&floor);
  if (options.network != nullptr) {
    learned.emplace(features, strategies, *options.network, options.feedback);
    game->SetPrior(&*learned);
  }
  const auto units = static_cast<double>(strategies.units().size());
  const auto played = std::max<size_t>(1, static_cast<size_t>(units * options.played));
  Random random(options.seed);
  TagGame outcome;
  outcome.best = game->base();
  game->SetOnScored([&](const LayoutState&, const Score& score) {
    outcome.best = std::min(outcome.best, score);
  });
  TreePath decided;
  while (decided.size() < played) {
    game->SetDecided(decided);
    const std::vector<int32_t> slices = game->SlicesAt(decided);
    TreeOptions of_tree = options.tree;
    of_tree.seed = random.Next();
    of_tree.closes = false;  // visits say how good an action is
    Tree<StrategyGame> tree(*game, of_tree);
    const int64_t wanted = options.visits * static_cast<int64_t>(slices.size());
    for (int64_t visits = 0; visits < wanted;) {
      const int grown = tree.Grow(of_tree.leaves);
      outcome.looked_at = game->looked_at();
      if (grown == 0) return outcome;
      visits += grown;
    }
    TagLesson lesson;
    // A strategy that does not compile has none.
    std::optional<StrategyFeedback> feedback;
    if (options.feedback) {
      Result<StrategyFeedback> found = game->FeedbackAt(decided);
      if (found.ok()) feedback = std::move(found).Take();
    }
    lesson.graph = features.Of(decided, feedback ? &*feedback : nullptr);
    lesson.next = decided.size();
    lesson.target.assign(slices.size(), 0);
    int64_t all = 0;
    const auto tried = tree.TriedAt({});
    for (const auto& edge : tried) all += edge.visits;
    auto drawn = static_cast<int64_t>(random.Below(static_cast<uint64_t>(all)));
    int32_t decision = slices.front();
    for (const auto& edge : tried) {
      const auto at = std::find(slices.begin(), slices.end(), edge.action) - slices.begin();
      lesson.target[static_cast<size_t>(at)] =
          static_cast<float>(static_cast<double>(edge.visits) / static_cast<double>(all));
      if (drawn >= 0 && drawn < edge.visits) decision = edge.action;
      drawn -= edge.visits;
    }
    for (const int32_t slice : slices) {
      lesson.slices.push_back(strategies.slices()[static_cast<size_t>(slice)]);
    }
    outcome.lessons.push_back(std::move(lesson));
    decided.push_back(decision);
  }
  return outcome;
}

}  // namespace placewright
