// What a sampled placement is worth (Mars eq. 7, EAGLE eq. 4):
//
//   R_t = -sqrt(r_t)                        r_t: its step time in seconds
//   B_t = (1 - mu) R_t + mu B_(t-1),  B_1 = R_1
//   A_t = R_t - B_t
//
// A placement that does not fit counts as a step of a fixed length. Deviation: the papers' 100 s are
// thousands of steps of a small model, and with mu = 0.99 one early failure drowns all differences;
// the default is ten times the step on one device without a memory limit, which callers give.
#ifndef PLACEWRIGHT_LEARN_RL_REWARD_H_
#define PLACEWRIGHT_LEARN_RL_REWARD_H_

#include <optional>

#include "search/evaluator.h"

namespace placewright {

// R_t. `invalid`: the time that counts where a placement does not fit.
double RewardOf(const Evaluation& evaluation, Nanos invalid);

// B_t, the exponential moving average of rewards.
class RewardBaseline {
 public:
  explicit RewardBaseline(double mu = 0.99) : mu_(mu) {}
  // A_t of the next reward.
  double Advantage(double reward);
  const std::optional<double>& value() const { return value_; }
  void Restore(std::optional<double> value) { value_ = value; }  // of a checkpoint

 private:
  double mu_;
  std::optional<double> value_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_RL_REWARD_H_
