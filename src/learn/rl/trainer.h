// Trains a policy from rewards of placements that it drew: REINFORCE, PPO, or PPO with cross-entropy
// minimisation (Post), with a moving average of rewards as baseline and no value network (EAGLE sec.
// III-D says why).
#ifndef PLACEWRIGHT_LEARN_RL_TRAINER_H_
#define PLACEWRIGHT_LEARN_RL_TRAINER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/stop.h"
#include "learn/policy/policy.h"
#include "learn/rl/objective.h"
#include "learn/rl/policy_optimizer.h"
#include "learn/rl/reward.h"
#include "learn/store/stored_tensors.h"

namespace placewright {

// The defaults are Mars's (sec. 4.2).
struct TrainerOptions {
  enum class Algorithm { kReinforce, kPpo, kPpoCrossEntropy };
  Algorithm algorithm = Algorithm::kPpo;
  int64_t draw = 10;    // placements drawn at a time
  int64_t update = 20;  // samples that are learned from together; a multiple of `draw`.
  // Mars says both "10 placements per policy" and "every 20": ours draws ten at a time, twice.
  int64_t minibatches = 4;  // of a shuffled update, in every epoch; REINFORCE: one, once
  int64_t epochs = 3;
  ClipOptions clip;
  double entropy = 0.001;  // weight of the mean entropy of a decision
  double learning_rate = 3e-4;
  double gradient_norm = 1;
  double baseline = 0.99;  // mu
  // From the baseline, as they are or divided by their standard deviation in the update; or from the
  // rewards of the update alone: less their mean and divided so, or by their ranks.
  enum class Advantages { kRaw, kScaled, kCentred, kRanked };
  Advantages advantages = Advantages::kRaw;
  // The Hierarchical Planner's schedules, by samples so far; negative: never.
  int64_t noise_until = -1, greedy_from = -1;
  double noise = 0;  // Exploration::noise until then
  int64_t decay_from = -1, decay_every = 50;
  double decay = 0.95;                      // of the learning rate
  double first_baseline = 0;                // B_0; 0: that of the first reward
  int64_t elite_interval = 50, elites = 5;  // kPpoCrossEntropy: samples between, placements
  // Best placements so far that each update learns from again, with the ranks that their rewards have
  // in it and ratios to the policy before the update: no importance weights. Elites are then
  // different placements.
  int64_t replay = 0;
};

// Of one update.
struct TrainerReport {
  double entropy = 0;    // mean, before the update
  double objective = 0;  // mean over its mini-batches
};

class Trainer {
 public:
  // The policy outlives it. The optimizer steps all of its parameters, and may be that of other
  // trainers, whose policies share them. `random`: of draws and shuffles.
  Trainer(Policy& policy, std::shared_ptr<PolicyOptimizer> optimizer, const TrainerOptions& options,
          Random random);

  const TrainerOptions& options() const { return options_; }
  // The next placements, [draw, D].
  at::Tensor Draw();
  // Takes what Draw gave, which may have been varied, and its rewards.
  void Observe(const at::Tensor& decisions, std::span<const double> rewards);
  bool UpdateIsDue() const { return static_cast<int64_t>(advantages_.size()) >= options_.update; }
  // Learns what is due. An update ends early where the budget does; what is drawn after that does
  // not repeat.
  void Learn(const Budget& budget = {});
  // Updates of several trainers with one optimizer, each of which has one due: every step is up the
  // mean of their objectives.
  static void LearnTogether(std::span<Trainer* const> trainers, const Budget& budget);
  const TrainerReport& last_update() const { return report_; }

  bool AtUpdate() const { return pending_.empty(); }  // nothing waits for an update
  // What it goes on from, but for the parameters and the optimizer; after an update.
  void Store(StateWriter& state) const;
  // Errors: kField, kPlanMismatch (elites of other decisions).
  Status Restore(const StateReader& state);

 private:
  struct Elite {
    double reward;
    int64_t sample;  // number of the sample: earlier ones win ties
    at::Tensor decisions;
  };

  // What an update learns from.
  struct Batch {
    at::Tensor decisions, advantages;
    at::Tensor sampled;            // log-probabilities before the update, of what is replayed, too
    std::vector<at::Tensor> rows;  // of each mini-batch of an epoch
  };

  at::Tensor Advantages() const;  // of the update
  void AddReplayed();             // to the update
  Batch TakeBatch();
  void Shuffle(Batch& batch);
  at::Tensor Objective(const Batch& batch, const at::Tensor& rows);
  int64_t epochs() const;
  double RateFactor() const;  // of the learning rate
  void LearnFromElites();
  bool keeps_elites() const;
  void KeepElites(const at::Tensor& decisions, std::span<const double> rewards);

  Policy& policy_;
  const TrainerOptions options_;
  Random draws_, shuffles_;
  std::shared_ptr<PolicyOptimizer> optimizer_;
  RewardBaseline baseline_;
  std::vector<at::Tensor> pending_;           // decisions of the update to come
  std::vector<double> rewards_, advantages_;  // theirs
  std::vector<Elite> elites_;                 // the best so far, best first
  int64_t samples_ = 0;
  bool elites_due_ = false;  // a step on them
  TrainerReport report_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_RL_TRAINER_H_
