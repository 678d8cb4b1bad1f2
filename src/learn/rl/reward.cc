#include "learn/rl/reward.h"

#include <cmath>

namespace placewright {

double RewardOf(const Evaluation& evaluation, const RewardScale& scale) {
  const Nanos time = evaluation.feasible ? evaluation.step_time : scale.invalid;
  return -std::sqrt(static_cast<double>(time.count) / static_cast<double>(scale.unit.count));
}

double RewardBaseline::Advantage(double reward) {
  value_ = value_ ? (1 - mu_) * reward + mu_ * *value_ : reward;
  return reward - *value_;
}

}  // namespace placewright
