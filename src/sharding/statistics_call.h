// Ops that need a number for each row, over all elements of it: norms and extrema, and what is normalised by such numbers
// (layer norms). Several ops can compute them in parts of the dimensions that they are over (compile/rewrites/statistics.h).
#ifndef PLACEWRIGHT_SHARDING_STATISTICS_CALL_H_
#define PLACEWRIGHT_SHARDING_STATISTICS_CALL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace placewright {

struct StatisticsCall {
  enum Kind : uint8_t {
    kNorm,  // of vectors, of order 2, 1, 0 (how many are not 0), inf or -inf
    kMax,
    kMin,
    kLayerNorm,
    kLayerNormBackward,
    kRmsNorm,
    kRmsNormBackward
  };
  Kind kind = kNorm;
  std::vector<int64_t> dimensions;  // of x, ascending: what it is over
  bool keeps = false;               // these are there in results of rows, with size 1
  double eps = 0;
  double order = 2;  // of kNorm
  // Inputs, or -1.
  int32_t x = 0, grad = -1, mean = -1, rstd = -1, weight = -1, bias = -1;

  bool backward() const { return kind == kLayerNormBackward || kind == kRmsNormBackward; }
  bool normalizes() const { return kind >= kLayerNorm; }
  bool centers() const { return kind == kLayerNorm || kind == kLayerNormBackward; }
};

// Nothing where the op is none of these, or has other arguments than its operator. Of the inputs' shapes `ranks` the numbers
// of dimensions.
std::optional<StatisticsCall> StatisticsCallOf(const Op& op, const std::vector<size_t>& ranks);
std::optional<StatisticsCall> StatisticsCallOf(const Graph& graph, OpId op);

}  // namespace placewright

#endif  // PLACEWRIGHT_SHARDING_STATISTICS_CALL_H_
