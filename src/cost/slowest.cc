#include "cost/slowest.h"

#include <cmath>

namespace placewright {
namespace {

constexpr double kVariation = 0.08, kWhiskers = 5.396;

double NormalQuantile(double probability) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const double below = std::erfc(-middle / std::sqrt(2.0)) / 2;
    (below < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double SlowestOf(int32_t devices) {
  if (devices <= 1) return 1;
  const double factor =
      1 + kVariation / kWhiskers * NormalQuantile((devices - 0.375) / (devices + 0.25));
  return std::round(factor * 1e4) / 1e4;  // the same on every machine
}

}  // namespace placewright
