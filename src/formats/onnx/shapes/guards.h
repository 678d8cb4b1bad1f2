// Keeps libonnx's inference functions from nodes that they do not survive. They throw on most
// malformed nodes, but some index by unchecked axes, divide by unchecked strides or follow the type
// of an input that is absent.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SHAPES_GUARDS_H_
#define PLACEWRIGHT_FORMATS_ONNX_SHAPES_GUARDS_H_

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "formats/onnx/shapes/types.h"

namespace placewright::onnx_import {

// Empty if `schema`'s inference function may be called on `node` with these inputs (nullptr for an
// absent optional one); else what is wrong with it.
std::string UnsafeToInfer(const onnx::NodeProto& node, const onnx::OpSchema& schema,
                          const std::vector<const KnownTensor*>& inputs);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SHAPES_GUARDS_H_
