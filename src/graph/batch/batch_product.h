// Numbers that are proportional to a product of terms linear in the batch size: what unbiased
// variances (1/(N-1)), means over all pairs (N*N), pairs without the diagonal (N*(N-1)) and their
// like follow. A product as text is Python's arithmetic: factors, each behind a `*` or a `/`; a
// factor is `N`, `(N-1)`, `(3*N-1)`, or `sqrt` of one.
#ifndef PLACEWRIGHT_GRAPH_BATCH_BATCH_PRODUCT_H_
#define PLACEWRIGHT_GRAPH_BATCH_BATCH_PRODUCT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/batch/batch_scaling.h"

namespace placewright {

// "1/(N-1)", "N*N", "N*(2*N-1)", "sqrt(N)/sqrt(N-1)"
std::string ToText(const BatchProduct& product);

// Nothing where the text is no product, or a constant.
std::optional<BatchProduct> ParseBatchProduct(std::string_view text);

// `value`, of batch `from` >= 1, at batch `to` >= 1. Nothing where a term is not positive at both,
// where an integer comes out as none, or where the result is out of range. Real numbers that are the
// nearest to a fraction p / q with p q < 2^52 come out as the nearest to the scaled fraction, if
// its numerator and denominator stay below 2^53; so do roots of fractions by products with roots.
// Others come out within a few roundings.
std::optional<int64_t> IntegerAt(int64_t value, const BatchProduct& product, int64_t from,
                                 int64_t to);
std::optional<double> RealAt(double value, const BatchProduct& product, int64_t from, int64_t to);

// The law through three numbers at three different sizes; nothing where there is none. The first
// gives its value, the second one term of any a and b, the third proves it; beside that term stand
// at most two of the known N and N - 1, in either place, and real numbers may be in proportion to
// roots of N and N - 1. Integers follow products of the second degree or more without divisors
// alone, so that what is rounded (N / 2, ceil(N / 3), the next power of two) is not taken for a law:
// batch_test.cc tries 20,000 such triples; so do real numbers that are all integers, but for N and
// 1 / N. Integers are exact, other numbers held to 2^-51 of their value. The simplest product is
// taken.
std::optional<BatchProduct> ProductThrough(const std::array<int64_t, 3>& values,
                                           const std::array<int64_t, 3>& sizes);
std::optional<BatchProduct> ProductThrough(const std::array<double, 3>& values,
                                           const std::array<int64_t, 3>& sizes);

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_BATCH_BATCH_PRODUCT_H_
