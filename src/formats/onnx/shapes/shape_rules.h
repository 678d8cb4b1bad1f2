// Shape rules of our own, for operators of which the installed libonnx cannot infer the shape:
// because their definition is newer (opset 18 to 23), lies outside ONNX but is simple, or because
// libonnx is silent. Source: the ONNX operator specifications and ONNX Runtime's list of contrib
// operators.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SHAPES_SHAPE_RULES_H_
#define PLACEWRIGHT_FORMATS_ONNX_SHAPES_SHAPE_RULES_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx/shapes/types.h"

namespace placewright::onnx_import {

// True if a rule of this file applied; it then has filled the outputs' gaps.
//   Reduce* with axes as an input (opset 18; ReduceSum 13), Split with num_outputs (18), Pad with
//   axes (18); Gelu, Mish, Swish, GroupNormalization, RMSNormalization, LayerNormalization and
//   their like: output 0 has the type of input 0; Dropout with its mask; Einsum.
bool InferByOwnRule(const onnx::NodeProto& node, const std::vector<const KnownTensor*>& inputs,
                    std::vector<KnownTensor>* outputs);

// The operator whose inference function serves for that one, too: "Greater" for "GreaterOrEqual",
// ...; otherwise the type itself. ONNX's own domain only.
std::string SchemaType(const onnx::NodeProto& node);

// The shape that an Einsum equation gives ("bij,bjk->bik", with "..." and implicit outputs);
// nothing if the equation does not fit the shapes.
std::optional<std::vector<int64_t>> EinsumShape(std::string_view equation,
                                                const std::vector<std::vector<int64_t>>& operands);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SHAPES_SHAPE_RULES_H_
