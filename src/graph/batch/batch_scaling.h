// How the sizes of a step follow its batch size, as recordings at three sizes proved it: which
// dimensions of which tensors, and which numbers among the arguments of which ops.
//
// A number that is not listed is the same at every batch. With value v at batch b it is at batch n
//   kLinear        v + slope * (n - b), exactly; integers, and real ones with a whole value
//   kProportional  v * n / b
//   kInverse       v * b / n
//                  where v is 1 / k, k an integer, and b divides k * n:
//                  1 / (k * n / b), to the last bit
// Real numbers under the last two laws are held to the recordings up to 2^-51 of their value.
//
// A dimension with slope 1 per sample is a batch dimension in the narrow sense; one with slope 384
// holds a batch dimension flattened with another of 384 (samples of 384 tokens each).
#ifndef PLACEWRIGHT_GRAPH_BATCH_BATCH_SCALING_H_
#define PLACEWRIGHT_GRAPH_BATCH_BATCH_SCALING_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/ids.h"
#include "graph/csr.h"

namespace placewright {

enum class SizeScaling : uint8_t { kLinear, kProportional, kInverse };

struct DimensionSlope {
  int32_t dimension = 0;
  int64_t slope = 0;  // elements per sample; never 0
  friend bool operator==(const DimensionSlope&, const DimensionSlope&) = default;
};

struct ArgumentLaw {
  int32_t number = 0;  // position among the op's numbers, as VisitNumbers counts (numbers.h)
  SizeScaling law = SizeScaling::kLinear;
  int64_t slope = 0;  // kLinear: never 0; else 0
  friend bool operator==(const ArgumentLaw&, const ArgumentLaw&) = default;
};

struct BatchScaling {
  std::array<int64_t, 3> sizes{};  // batch sizes of the recordings, the first one's first
  // Why the step stands for the batch that it was recorded at alone; empty: it scales. Nothing is
  // listed below then.
  std::string reason;
  Csr<TensorId, DimensionSlope> dimensions;  // of every tensor, ascending
  Csr<OpId, ArgumentLaw> arguments;          // of every op, ascending
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
