#include "learn/features/op_features.h"

#include <algorithm>

#include "learn/features/vocabulary.h"

namespace placewright {
namespace {

ShapeFeatures Normalize(const std::vector<int64_t>& shape, int64_t largest) {
  ShapeFeatures features{};
  const size_t count = std::min(shape.size(), kShapeDimensions);
  for (size_t i = 1; i <= count; ++i) {
    features[kShapeDimensions - i] = static_cast<float>(
        static_cast<double>(shape[shape.size() - i]) / static_cast<double>(largest));
  }
  return features;
}

}  // namespace

IdVector<OpId, OpFeatures> FeaturesOfOps(const Graph& graph) {
  int64_t largest = 1;
  for (TensorId id : graph.tensors()) {
    for (const int64_t size : graph.tensor(id).shape) largest = std::max(largest, size);
  }
  IdVector<OpId, OpFeatures> features(graph.op_count());
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    OpFeatures& of_op = features[id];
    of_op.type = vocabulary::IndexOf(op.type);
    if (!op.inputs.empty()) of_op.input = Normalize(graph.tensor(op.inputs[0]).shape, largest);
    if (!op.outputs.empty()) of_op.output = Normalize(graph.tensor(op.outputs[0]).shape, largest);
  }
  return features;
}

}  // namespace placewright
