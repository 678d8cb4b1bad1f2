#include "search/tag/strategy_game.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/tag/floor_prior.h"

namespace placewright {
namespace {

constexpr double kMostReward = 8, kLeastReward = -1;
constexpr int64_t kLongest = 8;  // times the base: what takes longer is not simulated to its end

}  // namespace

Result<std::unique_ptr<StrategyGame>> StrategyGame::Make(const Problem& problem,
                                                         Evaluator& evaluator, LayoutBook& book,
                                                         const Budget& budget,
                                                         const StrategyGameOptions& options) {
  PW_ASSIGN(std::unique_ptr<Strategies> strategies,
            Strategies::Make(problem, book, options.slices));
  std::unique_ptr<StrategyGame> game(
      new StrategyGame(problem, evaluator, book, budget, options, std::move(strategies)));
  PW_RETURN_IF_ERROR(game->LookAtBase());
  return game;
}

StrategyGame::StrategyGame(const Problem& problem, Evaluator& evaluator, LayoutBook& book,
                           const Budget& budget, const StrategyGameOptions& options,
                           std::unique_ptr<Strategies> strategies)
    : problem_(*problem.layouts),
      evaluator_(evaluator),
      book_(book),
      budget_(budget),
      options_(options),
      strategies_(std::move(strategies)),
      work_(problem_, *strategies_) {}

Status StrategyGame::LookAtBase() {
  PW_ASSIGN(base_state_, strategies_->StateOf(strategies_->SlicesOf({})));
  PW_ASSIGN(const Evaluation evaluation, evaluator_.EvaluatePlan(PlanOf(book_, base_state_)));
  base_ = evaluation.score();
  scores_[HashOf(base_state_)] = base_;
  return Ok();
}

TreePath StrategyGame::Whole(const TreePath& path) const {
  TreePath whole = decided_;
  whole.insert(whole.end(), path.begin(), path.end());
  return whole;
}

bool StrategyGame::IsOver(const TreePath& path) const {
  return decided_.size() + path.size() == strategies_->units().size();
}

std::vector<int32_t> StrategyGame::SlicesAt(std::span<const int32_t> decided) {
  const std::vector<int32_t>& all = strategies_->MayHave(decided.size());
  if (options_.most_actions == 0 || all.size() <= options_.most_actions) return all;
  std::vector<double> priors(all.size());
  FloorPrior(*strategies_, work_).Fill(decided, nullptr, all, priors);
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return priors[a] > priors[b]; });
  // The draws follow from the decisions alone.
  uint64_t seed = decided.size();
  for (const int32_t slice : decided) seed = Random(seed ^ static_cast<uint64_t>(slice)).Next();
  Random random(seed);
  std::vector<int32_t> some;
  for (size_t i = 0; i < options_.most_actions; ++i) {
    if (i >= options_.most_actions / 4 * 3) {
      std::swap(order[i], order[i + random.Below(order.size() - i)]);
    }
    some.push_back(all[order[i]]);
  }
  std::sort(some.begin(), some.end());
  return some;
}

std::vector<TreeAction> StrategyGame::Actions(const TreePath& path) {
  const TreePath decided = Whole(path);
  const std::vector<int32_t> slices = SlicesAt(decided);
  std::vector<double> priors(slices.size(), 1);
  if (prior_ != nullptr) {
    std::optional<StrategyFeedback> feedback;
    if (prior_->needs_feedback()) {
      Result<StrategyFeedback> found = FeedbackAt(decided);
      if (found.ok()) feedback = std::move(found).Take();
    }
    prior_->Fill(decided, feedback ? &*feedback : nullptr, slices, priors);
  }
  double sum = 0;
  for (const double prior : priors) sum += prior;
  const double even = options_.even / static_cast<double>(slices.size());
  std::vector<TreeAction> actions;
  for (size_t i = 0; i < slices.size(); ++i) {
    actions.push_back(
        {slices[i], static_cast<float>((1 - options_.even) * priors[i] / sum + even)});
  }
  return actions;
}

bool StrategyGame::Value(std::span<const TreePath> paths, std::vector<double>& values) {
  if (budget_.Expired() && looked_at_ >= 0) return false;
  std::vector<LayoutState> states;
  for (const TreePath& path : paths) {
    // Where METIS fails on a cut: as what cannot be compiled.
    Result<LayoutState> state = strategies_->StateOf(strategies_->SlicesOf(Whole(path)));
    states.push_back(state.ok() ? std::move(state).Take() : LayoutState());
  }
  const size_t known = scores_.size();
  const std::vector<std::optional<Score>> scores = ScoresOf(
      states, Nanos(std::min(kMaxQuantity, SaturatingMultiply(base_.step_time, kLongest))));
  simulated_ += static_cast<int64_t>(scores_.size() - known);
  for (size_t i = 0; i < paths.size(); ++i) {
    ++looked_at_;
    if (scores[i] && on_scored_) on_scored_(states[i], *scores[i]);
    values.push_back(RewardOf(scores[i]));
  }
  return true;
}

std::vector<std::optional<Score>> StrategyGame::ScoresOf(const std::vector<LayoutState>& states,
                                                         Nanos longest) {
  std::vector<uint64_t> hashes, fresh;
  std::vector<StepPlan> plans;
  for (const LayoutState& state : states) {
    const uint64_t hash = HashOf(state);
    hashes.push_back(hash);
    if (state.of_group.empty()) scores_[hash] = std::nullopt;
    const bool known =
        scores_.contains(hash) || std::find(fresh.begin(), fresh.end(), hash) != fresh.end();
    if (known) continue;
    fresh.push_back(hash);
    plans.push_back(PlanOf(book_, state));
  }
  const std::vector<Nanos> limits(plans.size(), longest);
  const auto evaluations = evaluator_.EvaluatePlans(plans, {.limits = limits});
  for (size_t i = 0; i < fresh.size(); ++i) {
    const bool known = evaluations[i].ok() && !evaluations[i].value().abandoned;
    scores_[fresh[i]] = known ? std::optional<Score>(evaluations[i].value().score()) : std::nullopt;
  }
  std::vector<std::optional<Score>> scores;
  for (const uint64_t hash : hashes) scores.push_back(scores_[hash]);
  return scores;
}

Result<StrategyFeedback> StrategyGame::FeedbackAt(std::span<const int32_t> decided) {
  PW_ASSIGN(const LayoutState state, strategies_->StateOf(strategies_->SlicesOf(decided)));
  PW_ASSIGN(const Evaluation evaluation,
            evaluator_.EvaluatePlan(PlanOf(book_, state), {.feedback = true}));
  return FeedbackOf(problem_, *strategies_, evaluation);
}

double StrategyGame::RewardOf(const std::optional<Score>& score) const {
  if (!score || !score->feasible) return kLeastReward;
  const double faster = static_cast<double>(base_.step_time) /
                            static_cast<double>(std::max<int64_t>(1, score->step_time)) -
                        1;
  if (faster > 1 && options_.fourth_root) return std::sqrt(std::sqrt(faster));
  return std::min(faster, kMostReward);
}

}  // namespace placewright
