// Evaluates the small sub-graphs that compute shapes (Shape, Gather, Concat, Cast, Range, ...), so
// that Reshape, Expand, Slice and their like have known targets. Follows the ONNX operator
// specifications; opset differences (attribute or input) are distinguished by what the node
// carries.
//
// Deviation: integer overflow, division by zero and indices out of range leave the value unknown.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SHAPES_FOLD_H_
#define PLACEWRIGHT_FORMATS_ONNX_SHAPES_FOLD_H_

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "formats/onnx/tensor_value.h"

namespace placewright::onnx_import {

// One input of a node to fold: its value if known, and its static shape if known.
struct FoldInput {
  const SmallTensor* value = nullptr;
  const std::vector<int64_t>* shape = nullptr;
  bool present = false;  // false: an absent optional input
};

// The values of all outputs, or nothing if the node is of no foldable type, lacks a value, or would
// exceed kMaxFoldedElements. Never fails otherwise.
std::optional<std::vector<SmallTensor>> Fold(const onnx::NodeProto& node,
                                             const std::vector<FoldInput>& inputs);

// The value of a Constant node, if it is small and foldable.
std::optional<SmallTensor> ConstantValue(const onnx::NodeProto& node);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SHAPES_FOLD_H_
