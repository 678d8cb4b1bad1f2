#include "bench/harness/tables/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace placewright {

// Abramowitz and Stegun, 26.7.3 and 26.7.4: finite sums in cos^2 of arctan(t / sqrt(degrees)).
double StudentTail(double t, int degrees) {
  constexpr double kPi = 3.14159265358979323846;
  const double angle = std::atan2(t, std::sqrt(static_cast<double>(degrees)));
  const double sine = std::sin(angle), cosine = std::cos(angle), square = cosine * cosine;
  const bool odd = degrees % 2 == 1;
  double term = odd ? cosine : 1, sum = degrees == 1 ? 0 : term;
  for (int k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= square * (k - 1) / k;
    sum += term;
  }
  const double within = odd ? 2 / kPi * (angle + sine * sum) : sine * sum;
  return std::clamp(1 - within, 0.0, 1.0);
}

double StudentQuantile(int degrees) {
  double low = 0, high = 100;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (StudentTail(middle, degrees) > 0.05 ? low : high) = middle;
  }
  return high;
}

MeanWithInterval MeanOf(std::span<const double> numbers) {
  const auto n = static_cast<double>(numbers.size());
  MeanWithInterval result;
  result.mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / n;
  result.high = std::numeric_limits<double>::infinity();
  result.low = -result.high;
  if (numbers.size() < 2) return result;
  double squares = 0;
  for (const double value : numbers) squares += (value - result.mean) * (value - result.mean);
  result.error = std::sqrt(squares / (n - 1) / n);
  const double width = StudentQuantile(static_cast<int>(numbers.size()) - 1) * result.error;
  result.low = result.mean - width;
  result.high = result.mean + width;
  return result;
}

PairedRatio CompareRatios(std::span<const double> logarithms) {
  PairedRatio result;
  result.n = logarithms.size();
  if (result.n == 0) return result;
  const MeanWithInterval mean = MeanOf(logarithms);
  result.ratio = std::exp(mean.mean);
  result.low = std::exp(mean.low);
  result.high = std::exp(mean.high);
  if (result.n < 2) return result;
  if (mean.error > 0) {
    result.p = StudentTail(std::abs(mean.mean) / mean.error, static_cast<int>(result.n) - 1);
  } else {
    result.p = mean.mean == 0 ? 1 : 0;
  }
  return result;
}

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHolds: return "holds";
    case Verdict::kFails: return "fails";
    case Verdict::kUndecided: return "undecided";
    case Verdict::kIndistinct: return "cannot distinguish them";
  }
  return "";
}

std::vector<Verdict> JudgeTogether(std::span<const PairedRatio> claims) {
  constexpr size_t kEnough = 5;
  std::vector<Verdict> verdicts(claims.size(), Verdict::kUndecided);
  std::vector<size_t> order;
  for (size_t i = 0; i < claims.size(); ++i) {
    if (claims[i].n >= kEnough) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return claims[a].p < claims[b].p; });
  for (size_t k = 0; k < order.size(); ++k) {
    const PairedRatio& claim = claims[order[k]];
    if (claim.p > 0.05 / static_cast<double>(claims.size() - k)) break;
    verdicts[order[k]] = claim.ratio < 1 ? Verdict::kHolds : Verdict::kFails;
  }
  return verdicts;
}

}  // namespace placewright
