// How the sizes of a step follow its batch size, as recordings at three sizes proved it: which
// dimensions of which tensors, and which numbers among the arguments of which ops.
//
// A number that is not listed is the same at every batch. With value v at batch b it is at batch n
//   v + slope * (n - b)     exactly; integers, and real numbers with a whole value
//   v * f(n) / f(b)         where f is a product of terms linear in the batch, each to a power:
//                           n, 1 / n, 1 / (n - 1) of an unbiased variance, n (n - 1) of pairs, ...
// Integers follow a product exactly; real ones are held to the recordings up to 2^-51 of their
// value, and are to the last bit what a fraction of few digits becomes (batch_product.h).
//
// A dimension with slope 1 per sample is a batch dimension in the narrow sense; one with slope 384
// holds a batch dimension flattened with another of 384 (samples of 384 tokens each).
#ifndef PLACEWRIGHT_GRAPH_BATCH_BATCH_SCALING_H_
#define PLACEWRIGHT_GRAPH_BATCH_BATCH_SCALING_H_

#include <placewright/base/ids.h>
#include <placewright/graph/csr.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace placewright {

// (a n + b)^(halves / 2), with a >= 1, a and b without a common divisor, halves not 0.
struct BatchTerm {
  int64_t a = 1;
  int64_t b = 0;
  int32_t halves = 2;
  friend bool operator==(const BatchTerm&, const BatchTerm&) = default;
};
// No two terms of the same a and b; the smallest |b / a| first, then the negative one.
using BatchProduct = std::vector<BatchTerm>;

struct DimensionLaw {
  int32_t dimension = 0;
  int64_t slope = 0;  // elements per sample; 0 where the size follows a product
  BatchProduct product = {};
  friend bool operator==(const DimensionLaw&, const DimensionLaw&) = default;
};

struct ArgumentLaw {
  int32_t number = 0;  // position among the op's numbers, as VisitNumbers counts (numbers.h)
  int64_t slope = 0;   // 0 where the number follows a product
  BatchProduct product = {};
  friend bool operator==(const ArgumentLaw&, const ArgumentLaw&) = default;
};

struct BatchScaling {
  std::array<int64_t, 3> sizes{};  // batch sizes of the recordings, the first one's first
  // Why the step stands for the batch that it was recorded at alone; empty: it scales. Nothing is
  // listed below then.
  std::string reason;
  Csr<TensorId, DimensionLaw> dimensions;  // of every tensor, ascending
  Csr<OpId, ArgumentLaw> arguments;        // of every op, ascending
  // A size below all of `sizes` at which a further recording agreed with the laws; 0: there is
  // none.
  int64_t smaller = 0;

  // Down to which batch the laws are those of recordings, not of an extension of them.
  int64_t SmallestProven() const {
    return smaller > 0 ? smaller : std::min({sizes[0], sizes[1], sizes[2]});
  }
  friend bool operator==(const BatchScaling&, const BatchScaling&) = default;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_GRAPH_BATCH_BATCH_SCALING_H_
