// What a sampled placement is worth (Mars eq. 7, EAGLE eq. 4):
//
//   R_t = -sqrt(r_t)                        r_t: its step time
//   B_t = (1 - mu) R_t + mu B_(t-1),  B_1 = R_1
//   A_t = R_t - B_t
//
// A placement that does not fit counts as a step of a fixed length. Deviation: the papers' 100 s are
// thousands of steps of a small model, and with mu = 0.99 one early failure drowns all differences;
// the default is ten times the step on one device without a memory limit. That step is also the
// unit of r_t, a second in the papers: what an entropy bonus weighs would depend on the model.
#ifndef PLACEWRIGHT_LEARN_RL_REWARD_H_
#define PLACEWRIGHT_LEARN_RL_REWARD_H_

#include <optional>

#include "search/evaluator.h"

namespace placewright {

// Which times count.
struct RewardScale {
  Nanos unit = Nanos(1'000'000'000);       // r_t counts in these
  Nanos invalid = Nanos(100'000'000'000);  // of a placement that does not fit
};

// R_t.
double RewardOf(const Evaluation& evaluation, const RewardScale& scale);

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
