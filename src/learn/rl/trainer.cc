#include "learn/rl/trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace placewright {
Trainer::Trainer(Policy& policy, std::shared_ptr<PolicyOptimizer> optimizer,
                 const TrainerOptions& options, Random random)
    : policy_(policy),
      options_(options),
      draws_(random.Fork(0)),
      shuffles_(random.Fork(1)),
      optimizer_(std::move(optimizer)),
      baseline_(options.baseline) {
  if (options.first_baseline != 0) baseline_.Restore(options.first_baseline, 0);
  PW_CHECK(options.draw > 0 && options.update % options.draw == 0);
}

at::Tensor Trainer::Draw() {
  Exploration exploration;
  exploration.greedy = options_.greedy_from >= 0 && samples_ >= options_.greedy_from;
  if (samples_ < options_.noise_until) exploration.noise = options_.noise;
  return policy_.Sample(options_.draw, draws_, exploration);
}

double Trainer::RateFactor() const {
  if (options_.decay_from < 0 || samples_ < options_.decay_from) return 1;
  return std::pow(options_.decay,
                  static_cast<double>((samples_ - options_.decay_from) / options_.decay_every));
}

void Trainer::Observe(const at::Tensor& decisions, std::span<const double> rewards) {
  PW_CHECK(decisions.size(0) == static_cast<int64_t>(rewards.size()));
  for (const double reward : rewards) {
    rewards_.push_back(reward);
    advantages_.push_back(baseline_.Advantage(reward));
  }
  pending_.push_back(decisions);
  if (keeps_elites()) KeepElites(decisions, rewards);
  const int64_t before = samples_;
  samples_ += decisions.size(0);
  elites_due_ = options_.algorithm == TrainerOptions::Algorithm::kPpoCrossEntropy &&
                samples_ / options_.elite_interval != before / options_.elite_interval;
}

void Trainer::Learn(const Budget& budget) {
  Trainer* const self = this;
  if (UpdateIsDue()) LearnTogether({&self, 1}, budget);
  if (std::exchange(elites_due_, false)) LearnFromElites();
}

at::Tensor Trainer::Advantages() const {
  using enum TrainerOptions::Advantages;
  if (options_.advantages == kRaw) return at::tensor(advantages_, at::kDouble);
  if (options_.advantages == kRanked) return at::tensor(RankedAdvantages(rewards_), at::kDouble);
  const bool centred = options_.advantages == kCentred;
  at::Tensor exact = at::tensor(centred ? rewards_ : advantages_, at::kDouble);
  if (centred) exact = exact - exact.mean();
  return exact / (exact.std(false) + 1e-8);
}

void Trainer::AddReplayed() {
  if (options_.replay == 0) return;
  const at::Tensor drawn = at::cat(pending_);
  for (size_t i = 0; i < elites_.size() && static_cast<int64_t>(i) < options_.replay; ++i) {
    // Twice in an update it would have two ranks' weight.
    const bool there = (drawn == elites_[i].decisions).all(1).any().item<bool>();
    if (there) continue;
    pending_.push_back(elites_[i].decisions.unsqueeze(0));
    rewards_.push_back(elites_[i].reward);
    advantages_.push_back(elites_[i].reward - baseline_.value().value_or(elites_[i].reward));
  }
}

int64_t Trainer::epochs() const {
  return options_.algorithm == TrainerOptions::Algorithm::kReinforce ? 1 : options_.epochs;
}

Trainer::Batch Trainer::TakeBatch() {
  AddReplayed();
  Batch batch;
  batch.decisions = at::cat(pending_);
  batch.advantages = Advantages().to(policy_.parameters().options());
  pending_.clear();
  rewards_.clear();
  advantages_.clear();
  report_.objective = 0;
  if (options_.algorithm != TrainerOptions::Algorithm::kReinforce) {
    const at::NoGradGuard no_gradients;
    const Policy::Evaluated drawn = policy_.Evaluate(batch.decisions);
    batch.sampled = drawn.log_probability;
    report_.entropy = drawn.entropy.mean().item<double>();
  }
  return batch;
}

void Trainer::Shuffle(Batch& batch) {
  const int64_t count = batch.decisions.size(0);
  const bool reinforce = options_.algorithm == TrainerOptions::Algorithm::kReinforce;
  batch.rows = at::tensor(RandomPermutation(count, shuffles_))
                   .to(batch.decisions.device())
                   .tensor_split(reinforce ? 1 : std::min(options_.minibatches, count));
}

at::Tensor Trainer::Objective(const Batch& batch, const at::Tensor& rows) {
  const bool reinforce = options_.algorithm == TrainerOptions::Algorithm::kReinforce;
  const at::TensorOptions numbers = policy_.parameters().options();
  const Policy::Evaluated now = policy_.Evaluate(batch.decisions.index_select(0, rows));
  const at::Tensor a = batch.advantages.index_select(0, rows);
  at::Tensor objective = at::zeros({}, numbers), entropy = at::zeros({}, numbers);
  // Each kind by itself: a thousand decisions of a grouper would drown a placer's.
  int64_t first = 0;
  for (const int64_t part : policy_.parts()) {
    const at::Tensor log_probability = now.log_probability.narrow(1, first, part);
    objective =
        objective +
        (reinforce ? ReinforceObjective(log_probability, a)
                   : ClippedObjective(log_probability,
                                      batch.sampled.index_select(0, rows).narrow(1, first, part), a,
                                      options_.clip));
    entropy = entropy + now.entropy.narrow(1, first, part).mean();
    first += part;
  }
  if (reinforce) report_.entropy = entropy.item<double>();
  report_.objective += objective.item<double>() /
                       static_cast<double>(epochs() * static_cast<int64_t>(batch.rows.size()));
  return objective + options_.entropy * entropy;
}

void Trainer::LearnTogether(std::span<Trainer* const> trainers, const Budget& budget) {
  std::vector<Batch> batches;
  for (Trainer* const trainer : trainers) batches.push_back(trainer->TakeBatch());
  Trainer& first = *trainers.front();
  for (int64_t epoch = 0; epoch < first.epochs(); ++epoch) {
    // A replayed placement may give one trainer a mini-batch more than another.
    size_t minibatches = 0;
    for (size_t i = 0; i < trainers.size(); ++i) {
      trainers[i]->Shuffle(batches[i]);
      minibatches = std::max(minibatches, batches[i].rows.size());
    }
    for (size_t minibatch = 0; minibatch < minibatches; ++minibatch) {
      if (budget.Expired()) return;
      std::vector<PolicyOptimizer::Objective> objectives;
      for (size_t i = 0; i < trainers.size(); ++i) {
        if (minibatch >= batches[i].rows.size()) continue;
        objectives.emplace_back([&trainer = *trainers[i], &batch = batches[i], minibatch] {
          return trainer.Objective(batch, batch.rows[minibatch]);
        });
      }
      first.optimizer_->Climb(objectives, first.RateFactor());
    }
  }
}

bool Trainer::keeps_elites() const {
  return options_.replay > 0 || options_.algorithm == TrainerOptions::Algorithm::kPpoCrossEntropy;
}

void Trainer::KeepElites(const at::Tensor& decisions, std::span<const double> rewards) {
  for (size_t k = 0; k < rewards.size(); ++k) {
    const at::Tensor row = decisions[static_cast<int64_t>(k)];
    const auto is_row = [&](const Elite& elite) {
      return elite.reward == rewards[k] && at::equal(elite.decisions, row);
    };
    if (options_.replay > 0 && std::any_of(elites_.begin(), elites_.end(), is_row)) continue;
    elites_.push_back({rewards[k], samples_ + static_cast<int64_t>(k), row.clone()});
  }
  std::stable_sort(elites_.begin(), elites_.end(),
                   [](const Elite& a, const Elite& b) { return a.reward > b.reward; });
  const auto most = static_cast<size_t>(std::max(options_.elites, options_.replay));
  if (elites_.size() > most) elites_.resize(most);
}

void Trainer::LearnFromElites() {
  std::vector<at::Tensor> rows;
  for (size_t i = 0; i < elites_.size() && static_cast<int64_t>(i) < options_.elites; ++i) {
    rows.push_back(elites_[i].decisions);
  }
  const at::Tensor log_probability = policy_.Evaluate(at::stack(rows)).log_probability;
  optimizer_->Climb(EliteObjective(log_probability, policy_.parts()));
}

void Trainer::Store(StateWriter& state) const {
  PW_CHECK(pending_.empty());
  state.Integer("draws", static_cast<int64_t>(draws_.state()));
  state.Integer("shuffles", static_cast<int64_t>(shuffles_.state()));
  state.Integer("samples", samples_);
  if (baseline_.value()) state.Number("baseline", *baseline_.value());
  if (elites_.empty()) return;
  std::vector<at::Tensor> rows;
  std::vector<double> rewards;
  std::vector<int64_t> samples;
  for (const Elite& elite : elites_) {
    rows.push_back(elite.decisions);
    rewards.push_back(elite.reward);
    samples.push_back(elite.sample);
  }
  state.Tensor("elites", at::stack(rows));
  state.Tensor("elite_rewards", at::tensor(rewards, at::kDouble));
  state.Tensor("elite_samples", at::tensor(samples, at::kLong));
}

Status Trainer::Restore(const StateReader& state) {
  PW_ASSIGN(const int64_t draws, state.Integer("draws"));
  PW_ASSIGN(const int64_t shuffles, state.Integer("shuffles"));
  PW_ASSIGN(samples_, state.Integer("samples"));
  draws_ = Random(static_cast<uint64_t>(draws));
  shuffles_ = Random(static_cast<uint64_t>(shuffles));
  baseline_.Restore(std::nullopt, 0);
  if (state.Has("baseline")) {
    PW_ASSIGN(const double baseline, state.Number("baseline"));
    baseline_.Restore(baseline, samples_);
  }
  elites_.clear();
  if (!keeps_elites() || samples_ == 0) return Ok();
  PW_ASSIGN(const at::Tensor rows, state.Tensor("elites", at::kLong, 2));
  PW_ASSIGN(const at::Tensor rewards, state.Tensor("elite_rewards", at::kDouble, 1));
  PW_ASSIGN(const at::Tensor samples, state.Tensor("elite_samples", at::kLong, 1));
  if (rows.size(0) == 0 || rows.size(0) != rewards.size(0) || rows.size(0) != samples.size(0)) {
    return MakeError(ErrorCode::kField, "the training's elites have no rewards", "state.elites");
  }
  const std::vector<int64_t> parts = policy_.parts();
  if (rows.size(1) != std::accumulate(parts.begin(), parts.end(), int64_t{0}) ||
      (rows < 0).any().item<bool>()) {
    return MakeError(ErrorCode::kPlanMismatch, "the training is of another graph or cluster", "",
                     "Give the graphs and the cluster that it began with.");
  }
  for (int64_t i = 0; i < rows.size(0); ++i) {
    elites_.push_back({rewards[i].item<double>(), samples[i].item<int64_t>(), rows[i].clone()});
  }
  return Ok();
}

}  // namespace placewright
