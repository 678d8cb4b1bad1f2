#include "formats/onnx/shapes/shape_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "formats/onnx/attributes.h"
#include "formats/onnx/shapes/fold_rules.h"

namespace placewright::onnx_import {
namespace {

using Dims = std::vector<int64_t>;

// The values of an integer input of rank 0 or 1, if known.
std::optional<Dims> IntsOf(const KnownTensor* input) {
  if (input == nullptr || !input->value || input->value->is_real()) return std::nullopt;
  return input->value->ints;
}

// Output 0 has the type of input 0 (type names as OpType gives them).
bool KeepsFirstInput(const onnx::NodeProto& node, size_t outputs) {
  constexpr std::array<std::string_view, 16> kTypes = {
      "MeanVarianceNormalization",
      "Gelu",
      "Mish",
      "Swish",
      "GroupNormalization",
      "RMSNormalization",
      "LayerNormalization",
      "SimplifiedLayerNormalization",
      "com.microsoft.Gelu",
      "com.microsoft.FastGelu",
      "com.microsoft.QuickGelu",
      "com.microsoft.BiasGelu",
      "com.microsoft.SkipLayerNormalization",
      "com.microsoft.SkipSimplifiedLayerNormalization",
      "com.microsoft.RotaryEmbedding",
      "com.microsoft.GroupNorm"};
  return outputs == 1 && std::find(kTypes.begin(), kTypes.end(), OpType(node)) != kTypes.end();
}

std::optional<Dims> ReducedShape(const onnx::NodeProto& node, const Dims& shape,
                                 const std::optional<Dims>& axes) {
  std::vector<bool> reduced(shape.size(), false);
  if (!axes || axes->empty()) {
    if (IntAttribute(node, "noop_with_empty_axes", 0) != 0) return shape;
    reduced.assign(shape.size(), true);
  }
  for (const int64_t given : axes.value_or(Dims())) {
    const auto axis = Axis(given, shape.size());
    if (!axis) return std::nullopt;
    reduced[*axis] = true;
  }
  Dims dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!reduced[i]) {
      dims.push_back(shape[i]);
    } else if (IntAttribute(node, "keepdims", 1) != 0) {
      dims.push_back(1);
    }
  }
  return dims;
}

// num_outputs equal parts, the last one smaller where they do not come out even.
std::vector<Dims> EvenParts(const onnx::NodeProto& node, const Dims& shape) {
  const auto axis = Axis(IntAttribute(node, "axis", 0), shape.size());
  const int64_t parts = node.output_size();
  if (!axis || parts == 0 || shape[*axis] >= kMaxQuantity) return {};
  const int64_t each = (shape[*axis] + parts - 1) / parts;
  const int64_t last = shape[*axis] - each * (parts - 1);
  if (last < 0) return {};
  std::vector<Dims> out(static_cast<size_t>(parts), shape);
  for (Dims& dims : out) dims[*axis] = each;
  out.back()[*axis] = last;
  return out;
}

std::optional<Dims> PaddedShape(const Dims& shape, const Dims& pads, const Dims& axes) {
  if (pads.size() != 2 * axes.size()) return std::nullopt;
  Dims dims = shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = Axis(axes[i], shape.size());
    const int64_t before = pads[i], after = pads[axes.size() + i];
    constexpr int64_t kMax = int64_t{1} << 56;
    if (!axis || before < -kMax || before > kMax || after < -kMax || after > kMax ||
        dims[*axis] > kMax) {
      return std::nullopt;
    }
    dims[*axis] += before + after;
    if (dims[*axis] < 0) return std::nullopt;
  }
  return dims;
}

std::vector<Dims> EinsumOutput(const onnx::NodeProto& node,
                               const std::vector<const KnownTensor*>& inputs) {
  const auto* equation = FindAttribute(node, "equation");
  std::vector<Dims> operands;
  for (const KnownTensor* input : inputs) {
    const auto shape = input == nullptr ? std::nullopt : StaticShape(input->type);
    if (!shape) return {};
    operands.push_back(*shape);
  }
  const auto dims = equation == nullptr ? std::nullopt : EinsumShape(equation->s(), operands);
  return dims ? std::vector<Dims>{*dims} : std::vector<Dims>();
}

}  // namespace

std::string SchemaType(const onnx::NodeProto& node) {
  if (IsOp(node, "GreaterOrEqual")) return "Greater";
  if (IsOp(node, "LessOrEqual")) return "Less";
  return node.op_type();
}

bool InferByOwnRule(const onnx::NodeProto& node, const std::vector<const KnownTensor*>& inputs,
                    std::vector<KnownTensor>* outputs) {
  if (inputs.empty() || inputs[0] == nullptr || !inputs[0]->type.has_tensor_type()) return false;
  const auto shape = StaticShape(inputs[0]->type);
  const int32_t element = inputs[0]->type.tensor_type().elem_type();
  if (!shape) return false;
  if (KeepsFirstInput(node, outputs->size())) {
    FillGaps(inputs[0]->type, &(*outputs)[0].type);
    return true;
  }
  if (!IsDefaultDomain(node.domain())) return false;
  const std::string_view type = node.op_type();
  if (type == "Dropout" && outputs->size() == 2) {
    FillGaps(inputs[0]->type, &(*outputs)[0].type);
    FillGaps(TensorType(onnx::TensorProto::BOOL, *shape), &(*outputs)[1].type);
    return true;
  }
  const KnownTensor* second = inputs.size() > 1 ? inputs[1] : nullptr;
  std::vector<Dims> shapes;
  if (type.substr(0, 6) == "Reduce" && inputs.size() == 2) {
    const auto axes = IntsOf(second);
    if (second != nullptr && !axes) return false;
    const auto dims = ReducedShape(node, *shape, axes);
    if (dims) shapes = {*dims};
  } else if (type == "Einsum") {
    shapes = EinsumOutput(node, inputs);
  } else if (type == "Split" && FindAttribute(node, "num_outputs") != nullptr) {
    shapes = EvenParts(node, *shape);
  } else if (type == "Pad" && inputs.size() == 4) {
    const auto pads = IntsOf(second), axes = IntsOf(inputs[3]);
    const auto dims = pads && axes ? PaddedShape(*shape, *pads, *axes) : std::nullopt;
    if (dims) shapes = {*dims};
  }
  if (shapes.size() != outputs->size()) return false;
  for (size_t i = 0; i < shapes.size(); ++i) {
    FillGaps(TensorType(element, shapes[i]), &(*outputs)[i].type);
  }
  return true;
}

}  // namespace placewright::onnx_import
