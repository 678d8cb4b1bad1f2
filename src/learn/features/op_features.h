// What learned planners know of an op (Mars sec. 3.1): its type, and the shapes of its first input
// and of its first output, divided by the largest dimension of any shape of the graph.
#ifndef PLACEWRIGHT_LEARN_FEATURES_OP_FEATURES_H_
#define PLACEWRIGHT_LEARN_FEATURES_OP_FEATURES_H_

#include <array>
#include <cstddef>

#include "graph/graph.h"

namespace placewright {

// Dimensions of a shape that count: the last ones, aligned at the end, 0 where there are fewer.
inline constexpr size_t kShapeDimensions = 4;
using ShapeFeatures = std::array<float, kShapeDimensions>;

struct OpFeatures {
  size_t type = 0;                  // vocabulary::IndexOf
  ShapeFeatures input{}, output{};  // in [0, 1]
};

// Deviation: the paper does not say which of several inputs and outputs, nor how ranks are brought
// together. Graphs without a single dimension have shapes of zeros.
IdVector<OpId, OpFeatures> FeaturesOfOps(const Graph& graph);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_FEATURES_OP_FEATURES_H_
