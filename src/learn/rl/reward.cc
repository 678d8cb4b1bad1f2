#include "learn/rl/reward.h"

#include <cmath>

namespace placewright {

double RewardOf(const Evaluation& evaluation, Nanos invalid) {
  return -std::sqrt(Seconds(evaluation.feasible ? evaluation.step_time : invalid));
}

double RewardBaseline::Advantage(double reward) {
  value_ = value_ ? (1 - mu_) * reward + mu_ * *value_ : reward;
  return reward - *value_;
}

}  // namespace placewright
