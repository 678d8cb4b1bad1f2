#include <cmath>

#include "capture/onnx/operators/operator_examples.h"

namespace placewright::lowering {
namespace {

// Of 1 and 3: mean 2, variance 1.
const double kShare = 1 / std::sqrt(1 + 1e-5);

std::vector<Example> Statistics() {
  const Given two = F({1, 1, 2}, {1, 3});
  return {
      // (x - 1) / sqrt(4) * 3 + 10
      {"BatchNormalization",
       {F({1, 1, 2}, {1, 5}), F({1}, {3}), F({1}, {10}), F({1}, {1}), F({1}, {4})},
       {F({1, 1, 2}, {10, 16})}},
      // Trains by itself: running mean 0.9 * 1 + 0.1 * 2, variance 0.9 * 4 + 0.1 * 1.
      {"BatchNormalization",
       {two, F({1}, {1}), F({1}, {0}), F({1}, {1}), F({1}, {4})},
       {F({1, 1, 2}, {-kShare, kShare}), F({1}, {1.1}), F({1}, {3.7})},
       {{"training_mode", Int(1)}}},
      {"InstanceNormalization",
       {two, F({1}, {2}), F({1}, {5})},
       {F({1, 1, 2}, {5 - 2 * kShare, 5 + 2 * kShare})}},
      {"GroupNormalization",
       {F({1, 2, 1}, {1, 3}), F({1}, {2}), F({1}, {5})},
       {F({1, 2, 1}, {5 - 2 * kShare, 5 + 2 * kShare})},
       {{"num_groups", Int(1)}},
       18},
      {"GroupNormalization",
       {F({1, 2, 1}, {1, 3}), F({2}, {2, 3}), F({2}, {5, 0})},
       {F({1, 2, 1}, {5 - 2 * kShare, 3 * kShare})},
       {{"num_groups", Int(1)}},
       21},
      {"LayerNormalization",
       {F({1, 2}, {1, 3}), F({2}, {1, 2}), F({2}, {0, 5})},
       {F({1, 2}, {-kShare, 5 + 2 * kShare}), F({1, 1}, {2}), F({1, 1}, {kShare})}},
      {"LayerNormalization",
       {F({1, 2}, {1, 3}), F({1}, {2})},
       {F({1, 2}, {-2 * kShare, 2 * kShare})}},
      {"com.microsoft.SkipLayerNormalization",
       {F({1, 2}, {0, 1}), F({1, 2}, {1, 2}), F({2}, {1, 2}), F({2}, {0, 5})},
       {F({1, 2}, {-kShare, 5 + 2 * kShare}), None(), None(), F({1, 2}, {1, 3})},
       {},
       1},
      // 1 and 7 over sqrt((1 + 49) / 2) = 5
      {"RMSNormalization", {F({1, 2}, {1, 7}), F({2}, {1, 10})}, {F({1, 2}, {0.2, 14})}, {}, 23},
      {"SimplifiedLayerNormalization",
       {F({1, 2}, {1, 7}), F({2}, {1, 10})},
       {F({1, 2}, {0.2, 14})}},
      // Neighbours among three channels, two of them in front or none: 1, then 1 + 4, then 4 + 9.
      {"LRN",
       {F({1, 3, 1}, {1, 2, 3})},
       {F({1, 3, 1},
          {1 / std::sqrt(1 + (1.0 + 4)), 2 / std::sqrt(1 + (4.0 + 9)), 3 / std::sqrt(1 + 9.0)})},
       {{"size", Int(2)}, {"alpha", Real(2)}, {"beta", Real(0.5)}, {"bias", Real(1)}}},
      {"LpNormalization", {F({1, 2}, {3, 4})}, {F({1, 2}, {0.6, 0.8})}},
      {"LpNormalization", {F({1, 2}, {3, 1})}, {F({1, 2}, {0.75, 0.25})}, {{"p", Int(1)}}},
      {"MeanVarianceNormalization", {F({1, 1, 1, 2}, {1, 3})}, {F({1, 1, 1, 2}, {-1, 1})}},
  };
}

std::vector<Example> Shares() {
  const double e = std::exp(1.0);
  return {
      {"NegativeLogLikelihoodLoss",
       {F({2, 2}, {-1, -2, -3, -4}), I({2}, {1, 0}), F({2}, {1, 2})},
       {F({2}, {4, 3})},
       {{"reduction", Word("none")}}},
      {"SoftmaxCrossEntropyLoss",
       {F({1, 2}, {0, 1}), I({1}, {1})},
       {F({}, {std::log(1 + e) - 1}), F({1, 2}, {-std::log(1 + e), 1 - std::log(1 + e)})}},
      {"Softmax", {F({1, 2}, {0, 1})}, {F({1, 2}, {1 / (1 + e), e / (1 + e)})}},
      {"Softmax", {F({2, 1}, {0, 1})}, {F({2, 1}, {1 / (1 + e), e / (1 + e)})}, {{"axis", Int(0)}}},
      // Before operator set 13 all behind the axis, 1 by itself, is one row.
      {"Softmax", {F({1, 2, 1}, {0, 1})}, {F({1, 2, 1}, {1 / (1 + e), e / (1 + e)})}, {}, 11},
      {"LogSoftmax", {F({1, 2}, {0, 1})}, {F({1, 2}, {-std::log(1 + e), 1 - std::log(1 + e)})}},
      {"Hardmax", {F({2, 2}, {1, 3, 5, 5})}, {F({2, 2}, {0, 1, 1, 0})}},
      {"Dropout", {F({2}, {1, 2}), Known(F({}, {0.5}))}, {F({2}, {1, 2}), B({2}, {1, 1})}},
      {"Dropout", {F({2}, {1, 2})}, {F({2}, {1, 2})}, {{"ratio", Real(0.9)}}, 7},
      {"Dropout",
       {F({2}, {1, 2}), Known(F({}, {0.5})), Known(B({}, {1}))},
       {F({2}, {0, 0}), B({2}, {0, 0})},
       {},
       17,
       true},
  };
}

}  // namespace

std::vector<Example> NormalizationExamples() {
  std::vector<Example> all = Statistics();
  for (const Example& example : Shares()) all.push_back(example);
  return all;
}

}  // namespace placewright::lowering
