// Whether a claim holds, from paired runs: the mean logarithm of ratios with a 95% interval of
// Student's t, and the verdicts of a table's claims together, corrected by Holm's method.
#ifndef PLACEWRIGHT_BENCH_HARNESS_TABLES_VERDICT_H_
#define PLACEWRIGHT_BENCH_HARNESS_TABLES_VERDICT_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace placewright {

// With its 95% interval of Student's t; of fewer than two numbers that is infinite. `error`: of the mean.
struct MeanWithInterval {
  double mean = 0, low = 0, high = 0, error = 0;
};
MeanWithInterval MeanOf(std::span<const double> numbers);  // at least one

// Of n paired logarithms of ratios. With n < 2 there is no interval: low and high are infinite.
struct PairedRatio {
  size_t n = 0;
  double ratio = 1;          // exp of the mean
  double low = 0, high = 0;  // 95% interval of the ratio
  double p = 1;              // two-sided, of a mean of 0
};
PairedRatio CompareRatios(std::span<const double> logarithms);

// kIndistinct is what a table says of methods that all stop far above the best plan known (table_result.h).
enum class Verdict { kHolds, kFails, kUndecided, kIndistinct };
std::string_view ToString(Verdict verdict);

// Of claims that each ratio is below 1. Those with n < 5 are undecided; of the others, in the order of p, the k-th
// smallest is decided where p <= 0.05 / (m - k + 1) and all before it are (Holm 1979). m counts all claims, so that
// a verdict does not depend on which others have their runs already.
std::vector<Verdict> JudgeTogether(std::span<const PairedRatio> claims);

// P(|T| > t) of Student's t with `degrees` >= 1 degrees of freedom, t >= 0.
double StudentTail(double t, int degrees);
// t with P(|T| > t) = 0.05.
double StudentQuantile(int degrees);

}  // namespace placewright

#endif  // PLACEWRIGHT_BENCH_HARNESS_TABLES_VERDICT_H_
