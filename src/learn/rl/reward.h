// What a sampled placement is worth (Mars eq. 7, EAGLE eq. 4):
//
//   R_t = -sqrt(r_t)                        r_t: its step time
//   B_t = (1 - mu) R_t + mu B_(t-1),  B_1 = R_1
//   A_t = R_t - B_t
//
// With mu = 1, B_t is the mean of all rewards before R_t (GDP sec. 4.1).
//
// A placement that does not fit counts as a step of a fixed length. Deviation: the papers' 100 s are
// thousands of steps of a small model, and with mu = 0.99 one early failure drowns all differences;
// the default is ten times the step on one device without a memory limit. That step is also the
// unit of r_t, a second in the papers: what an entropy bonus weighs would depend on the model. And
// R_t of what does not fit may grow with what it lacks: a policy that has come to draw nothing that
// fits would otherwise see no difference between its samples, and stay there.
#ifndef PLACEWRIGHT_LEARN_RL_REWARD_H_
#define PLACEWRIGHT_LEARN_RL_REWARD_H_

#include <optional>
#include <span>
#include <vector>

#include "search/evaluator.h"

namespace placewright {

// Which times count.
struct RewardScale {
  Nanos unit = Nanos(1'000'000'000);       // r_t counts in these
  Nanos invalid = Nanos(100'000'000'000);  // of a placement that does not fit
  // Where stated, R_t of one that does not fit is 1 + (bytes that it lacks) / graded times as large.
  std::optional<Bytes> graded;
};

// R_t.
double RewardOf(const Evaluation& evaluation, const RewardScale& scale);

// B_t: the exponential moving average of rewards, or their mean.
class RewardBaseline {
 public:
  explicit RewardBaseline(double mu = 0.99) : mu_(mu) {}
  // A_t of the next reward.
  double Advantage(double reward);
  const std::optional<double>& value() const { return value_; }
  // Of a checkpoint after so many rewards.
  void Restore(std::optional<double> value, int64_t rewards) {
    value_ = value;
    rewards_ = rewards;
  }

 private:
  double mu_;
  int64_t rewards_ = 0;
  std::optional<double> value_;
};

// The rewards of an update by their ranks alone: evenly spaced with mean 0 and variance 1, equal ones sharing
// the mean of their ranks; all 0 where all are equal. One placement that does not fit then takes no
// more room than one that is a little slower, and it is no matter in what unit rewards are
// (fitness shaping: Wierstra et al., Natural Evolution Strategies, JMLR 2014, sec. 3.1).
std::vector<double> RankedAdvantages(std::span<const double> rewards);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_RL_REWARD_H_
