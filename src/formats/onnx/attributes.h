// Reading a node's attributes with defaults, as the operator specifications state them.
#ifndef PLACEWRIGHT_FORMATS_ONNX_ATTRIBUTES_H_
#define PLACEWRIGHT_FORMATS_ONNX_ATTRIBUTES_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/value.h"

namespace placewright::onnx_import {

// The attribute of that name, or nullptr.
const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, std::string_view name);
// The integer attribute, or `otherwise` if it is absent or of another type.
int64_t IntAttribute(const onnx::NodeProto& node, std::string_view name, int64_t otherwise);
// The integer list, or nothing if it is absent or of another type.
std::optional<std::vector<int64_t>> IntsAttribute(const onnx::NodeProto& node,
                                                  std::string_view name);

// True for the operators of the ONNX standard itself (domain "" or "ai.onnx").
bool IsDefaultDomain(std::string_view domain);
bool IsOp(const onnx::NodeProto& node, std::string_view type);  // of the default domain
// "Conv", or "com.microsoft.FusedGelu" for other domains.
std::string OpType(const onnx::NodeProto& node);

// All attributes, in file order. Tensors become "<tensor f32 [64, 3]>", sub-graphs
// "<graph: 12 nodes>", lists of more than 1,024 items "<5000 ints>", strings that are no UTF-8 or
// longer than 4,096 bytes "<9000 bytes>".
std::vector<NamedValue> NamedAttributes(const onnx::NodeProto& node);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_ATTRIBUTES_H_
