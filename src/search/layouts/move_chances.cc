#include "search/layouts/move_chances.h"

#include <numeric>

namespace placewright {
namespace {

constexpr double kFixedShare = 0.3;
constexpr double kFirstBetter = 1, kFirstTried = 20;

}  // namespace

MoveChances::MoveChances(const Weights& weights, bool learns) : learns_(learns), fixed_(weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : fixed_) weight /= sum;
}

MoveKind MoveChances::Draw(Random& random) const {
  Weights chances = fixed_;
  if (learns_) {
    Weights rates{};
    double sum = 0;
    for (size_t k = 0; k < kKinds; ++k) {
      if (fixed_[k] > 0) rates[k] = (better_[k] + kFirstBetter) / (tried_[k] + kFirstTried);
      sum += rates[k];
    }
    for (size_t k = 0; k < kKinds; ++k) {
      chances[k] = kFixedShare * fixed_[k] + (1 - kFixedShare) * rates[k] / sum;
    }
  }
  double point = random.Unit();
  size_t last = 0;  // of those that may be drawn: chances may sum to a little less than one
  for (size_t k = 0; k < kKinds; ++k) {
    if (chances[k] <= 0) continue;
    last = k;
    if (point < chances[k]) break;
    point -= chances[k];
  }
  return static_cast<MoveKind>(last);
}

void MoveChances::Count(MoveKind kind, bool better) {
  const auto k = static_cast<size_t>(kind);
  tried_[k] += 1;
  better_[k] += better ? 1 : 0;
}

}  // namespace placewright
