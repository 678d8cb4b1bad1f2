#include "learn/rl/reward.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace placewright {

double RewardOf(const Evaluation& evaluation, const RewardScale& scale) {
  const Nanos time = evaluation.feasible ? evaluation.step_time : scale.invalid;
  const double reward =
      -std::sqrt(static_cast<double>(time.count) / static_cast<double>(scale.unit.count));
  if (evaluation.feasible || !scale.graded) return reward;
  return reward * (1 + static_cast<double>(evaluation.TotalOver().count) /
                           static_cast<double>(scale.graded->count));
}

double RewardBaseline::Advantage(double reward) {
  ++rewards_;
  if (mu_ == 1) {
    const double before = value_.value_or(reward);
    value_ = before + (reward - before) / static_cast<double>(rewards_);
    return reward - before;
  }
  value_ = value_ ? (1 - mu_) * reward + mu_ * *value_ : reward;
  return reward - *value_;
}

std::vector<double> RankedAdvantages(std::span<const double> rewards) {
  const size_t n = rewards.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return rewards[a] < rewards[b]; });
  std::vector<double> ranks(n);
  double squares = 0;
  for (size_t first = 0, last = 0; first < n; first = last) {
    while (last < n && rewards[order[last]] == rewards[order[first]]) ++last;
    const double rank = static_cast<double>(first + last - 1) - static_cast<double>(n - 1);
    for (size_t i = first; i < last; ++i) ranks[order[i]] = rank;
    squares += rank * rank * static_cast<double>(last - first);
  }
  if (squares == 0) return ranks;
  const double scale = std::sqrt(static_cast<double>(n) / squares);
  for (double& rank : ranks) rank *= scale;
  return ranks;
}

}  // namespace placewright
