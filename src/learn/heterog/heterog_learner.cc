#include "learn/heterog/heterog_learner.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "learn/rl/learning_thread.h"

namespace placewright {
namespace {

enum HeterogStream : uint64_t { kDraws = 301 };

bool IsOfHeterog(const Slice& slice, size_t device_groups) {
  switch (slice.option) {
    case SliceOption::kPlace: return slice.groups.size() == 1;
    case SliceOption::kEven:
    case SliceOption::kBySpeed:
    case SliceOption::kEvenServers:
    case SliceOption::kServersBySpeed: return slice.groups.size() == device_groups;
    case SliceOption::kCopies:
    case SliceOption::kModelParallel: return false;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<HeterogLearner>> HeterogLearner::Make(const AgentSettings& settings,
                                                             const Problem& problem,
                                                             Evaluator& evaluator, LayoutBook& book,
                                                             const Budget& budget, uint64_t seed,
                                                             const TagAutogradNetwork& network,
                                                             const at::TensorOptions& numbers) {
  if (problem.layouts == nullptr) {
    return MakeError(ErrorCode::kUsage, "the search may not split or copy ops", "",
                     "Give --space replicated.");
  }
  PW_ASSIGN(std::unique_ptr<StrategyGame> game,
            StrategyGame::Make(problem, evaluator, book, budget, {}));
  std::unique_ptr<HeterogLearner> learner(new HeterogLearner(
      settings, *problem.layouts, seed, std::move(game), budget, network, numbers));
  return learner;
}

HeterogLearner::HeterogLearner(const AgentSettings& settings, const LayoutProblem& problem,
                               uint64_t seed, std::unique_ptr<StrategyGame> game,
                               const Budget& budget, const TagAutogradNetwork& network,
                               const at::TensorOptions& numbers)
    : per_update_(settings.Integer("update")),
      preference_(settings.Number("preference")),
      entropy_(settings.Number("entropy")),
      decay_(settings.Number("baseline-decay")),
      invalid_steps_(settings.Number("invalid-steps")),
      feedback_(settings.Is("feedback", "on")),
      seed_(seed),
      budget_(budget),
      network_(network),
      game_(std::move(game)),
      features_(problem, game_->strategies(), game_->work()) {
  FindChoices(numbers);
}

void HeterogLearner::FindChoices(const at::TensorOptions& numbers) {
  const Strategies& strategies = game_->strategies();
  std::vector<TagChoice> choices;
  std::vector<double> preferred;
  for (size_t unit = 0; unit < strategies.units().size(); ++unit) {
    const std::vector<int32_t>& all = strategies.MayHave(unit);
    const auto slice_of = [&](int32_t slice) -> const Slice& {
      return strategies.slices()[static_cast<size_t>(slice)];
    };
    std::vector<int32_t>& some = slices_.emplace_back();
    for (const int32_t slice : all) {
      if (IsOfHeterog(slice_of(slice), strategies.device_groups().size())) some.push_back(slice);
    }
    if (some.empty()) some = all;  // constraints leave it none of these
    first_.push_back(static_cast<int64_t>(preferred.size()));
    TagChoice& choice = choices.emplace_back();
    choice.unit = unit;
    for (const int32_t slice : some) {
      choice.slices.push_back(&slice_of(slice));
      preferred.push_back(slice == strategies.data_parallel() ? preference_ : 0);
    }
  }
  std::optional<StrategyFeedback> feedback;
  if (feedback_) {
    Result<StrategyFeedback> found = game_->FeedbackAt({});
    if (found.ok()) feedback = std::move(found).Take();
  }
  batch_.emplace(features_.Of({}, feedback ? &*feedback : nullptr), choices, numbers);
  preferred_ = at::tensor(preferred, at::kDouble).to(numbers);
}

at::Tensor HeterogLearner::LogPriors() const {
  return LogSoftmaxBy(network_.Scores(*batch_) + preferred_, batch_->slices);
}

void HeterogLearner::Draw() {
  const at::NoGradGuard no_gradients;
  const at::Tensor log_priors = LogPriors().to(at::kCPU, at::kDouble).contiguous();
  const double* const of = log_priors.data_ptr<double>();
  // By the number of the update alone, so that a training that goes on draws the same.
  Random random = Random(seed_).Fork(kDraws).Fork(static_cast<uint64_t>(updates_));
  drawn_.assign(static_cast<size_t>(per_update_), Choice());
  rewards_.clear();
  for (Choice& choice : drawn_) {
    for (size_t unit = 0; unit < slices_.size(); ++unit) {
      double left = random.Unit();
      size_t slice = 0;
      while (slice + 1 < slices_[unit].size()) {
        left -= std::exp(of[first_[unit] + static_cast<int64_t>(slice)]);
        if (left < 0) break;
        ++slice;
      }
      choice.push_back(static_cast<int32_t>(slice));
    }
  }
}

std::vector<std::optional<Score>> HeterogLearner::ScoresOf(const std::vector<Choice>& choices,
                                                           bool drawn) {
  std::vector<LayoutState> states;
  for (const Choice& choice : choices) {
    std::vector<int32_t> slices;
    for (size_t unit = 0; unit < slices_.size(); ++unit) {
      slices.push_back(slices_[unit][static_cast<size_t>(choice[unit])]);
    }
    Result<LayoutState> state = game_->StateOf(slices);
    states.push_back(state.ok() ? std::move(state).Take() : LayoutState());
  }
  const auto longest = static_cast<double>(game_->base().step_time) * invalid_steps_;
  std::vector<std::optional<Score>> scores = game_->ScoresOf(
      states, Nanos(static_cast<int64_t>(std::min(longest, static_cast<double>(kMaxQuantity)))));
  for (size_t i = 0; i < states.size(); ++i) {
    const int64_t number = total_.samples + (drawn ? static_cast<int64_t>(i) + 1 : 0);
    if (scores[i] && on_scored_) on_scored_(states[i], *scores[i], number);
  }
  return scores;
}

int64_t HeterogLearner::Sample(int64_t max_count) {
  if (budget_.Expired()) return 0;
  const Clock::time_point start = Clock::now();
  const LearningThread learning;
  if (drawn_.empty()) Draw();
  const auto done = static_cast<int64_t>(rewards_.size());
  const int64_t count = std::min(max_count, per_update_ - done);
  const std::vector<std::optional<Score>> scores =
      ScoresOf({drawn_.begin() + done, drawn_.begin() + done + count}, /*drawn=*/true);
  const auto base = static_cast<double>(std::max<int64_t>(1, game_->base().step_time));
  for (const std::optional<Score>& score : scores) {
    const bool fits = score && score->feasible;
    const double steps =
        fits ? std::min(invalid_steps_, static_cast<double>(score->step_time) / base)
             : invalid_steps_;
    rewards_.push_back(-std::sqrt(steps));
    if (fits) {
      total_.seconds += static_cast<double>(score->step_time) * 1e-9;
    } else {
      ++total_.invalid;
    }
  }
  total_.samples += count;
  total_.evaluating += std::chrono::duration<double>(Clock::now() - start).count();
  return count;
}

double HeterogLearner::Learn(PolicyOptimizer& optimizer) {
  const LearningThread learning;
  std::vector<int64_t> chosen;
  std::vector<double> advantages;
  for (size_t i = 0; i < drawn_.size(); ++i) {
    for (size_t unit = 0; unit < slices_.size(); ++unit) {
      chosen.push_back(first_[unit] + drawn_[i][unit]);
    }
    // The first reward is its own baseline.
    advantages.push_back(rewards_[i] - baseline_.value_or(rewards_[i]));
    baseline_ = decay_ * baseline_.value_or(rewards_[i]) + (1 - decay_) * rewards_[i];
  }
  const auto units = static_cast<double>(slices_.size());
  const at::Tensor log_priors = LogPriors();
  const at::Tensor log_of_chosen =
      log_priors.index_select(0, at::tensor(chosen, at::kLong).to(log_priors.device()))
          .reshape({static_cast<int64_t>(drawn_.size()), -1})
          .sum(1);
  const at::Tensor weights = at::tensor(advantages, at::kDouble).to(log_priors.options());
  const at::Tensor entropy = -(log_priors.exp() * log_priors).sum() / units;
  optimizer.Climb((log_of_chosen * weights).mean() + entropy_ * entropy);
  drawn_.clear();
  rewards_.clear();
  ++updates_;
  return entropy.item<double>();
}

std::optional<Score> HeterogLearner::ScoreLikeliest() {
  const LearningThread learning;
  const at::NoGradGuard no_gradients;
  const at::Tensor log_priors = LogPriors().to(at::kCPU, at::kDouble).contiguous();
  const double* const of = log_priors.data_ptr<double>();
  Choice choice;
  for (size_t unit = 0; unit < slices_.size(); ++unit) {
    const double* const begin = of + first_[unit];
    const double* const end = begin + slices_[unit].size();
    choice.push_back(static_cast<int32_t>(std::max_element(begin, end) - begin));
  }
  return ScoresOf({choice}, /*drawn=*/false).front();
}

void HeterogLearner::Store(StateWriter& state) const {
  state.Integer("updates", updates_);
  state.Integer("samples", total_.samples);
  state.Integer("invalid", total_.invalid);
  state.Number("seconds", total_.seconds);
  if (baseline_) state.Number("baseline", *baseline_);
}

Status HeterogLearner::Restore(const StateReader& state) {
  PW_ASSIGN(updates_, state.Integer("updates"));
  PW_ASSIGN(total_.samples, state.Integer("samples"));
  PW_ASSIGN(total_.invalid, state.Integer("invalid"));
  PW_ASSIGN(total_.seconds, state.Number("seconds"));
  if (!state.Has("baseline")) return Ok();
  PW_ASSIGN(const double baseline, state.Number("baseline"));
  baseline_ = baseline;
  return Ok();
}

}  // namespace placewright
