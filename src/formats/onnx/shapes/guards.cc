#include "formats/onnx/shapes/guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "formats/onnx/attributes.h"

namespace placewright::onnx_import {
namespace {

using onnx::AttributeProto;
using onnx::OpSchema;

// Dimensions and products of dimensions stay far from overflow in libonnx's own arithmetic.
constexpr int64_t kMaxElements = int64_t{1} << 56;
constexpr int64_t kMaxSetting = int64_t{1} << 31;

std::string CheckArity(const onnx::NodeProto& node, const OpSchema& schema) {
  if (node.input_size() < schema.min_input() || node.input_size() > schema.max_input()) {
    return fmt::format("{} inputs, the operator takes {} to {}", node.input_size(),
                       schema.min_input(), schema.max_input());
  }
  if (node.output_size() < schema.min_output() || node.output_size() > schema.max_output()) {
    return fmt::format("{} outputs, the operator has {} to {}", node.output_size(),
                       schema.min_output(), schema.max_output());
  }
  return "";
}

// Every input that is required must be there, and every one that is there must have a type.
std::string CheckInputs(const onnx::NodeProto& node, const OpSchema& schema,
                        const std::vector<const KnownTensor*>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& formal = schema.inputs()[std::min(i, schema.inputs().size() - 1)];
    if (inputs[i] == nullptr) {
      if (!node.input(static_cast<int>(i)).empty()) return fmt::format("input {} is unknown", i);
      if (formal.GetOption() == OpSchema::Optional) continue;
      return fmt::format("input {} is absent", i);
    }
    const onnx::TypeProto& type = inputs[i]->type;
    if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) {
      return fmt::format("the type of input {} is unknown", i);
    }
    const auto shape = StaticShape(type);
    const auto count = shape ? ElementCount(*shape) : std::nullopt;
    if (shape && (shape->size() > kMaxRank || !count || *count > kMaxElements ||
                  std::any_of(shape->begin(), shape->end(),
                              [](int64_t dim) { return dim > kMaxElements; }))) {
      return fmt::format("the size of input {} is impossible", i);
    }
  }
  return "";
}

std::string CheckAttributeTypes(const onnx::NodeProto& node, const OpSchema& schema) {
  for (const auto& [name, formal] : schema.attributes()) {
    const AttributeProto* attribute = FindAttribute(node, name);
    if (attribute == nullptr) {
      if (formal.required) return fmt::format("attribute {} is missing", name);
    } else if (attribute->type() != formal.type) {
      return fmt::format("attribute {} has the wrong type", name);
    } else if (attribute->ref_attr_name() != "") {
      return fmt::format("attribute {} refers to a function's parameter", name);
    } else if (attribute->has_t() && !CheckTensor(attribute->t(), "").ok()) {
      return fmt::format("the tensor of attribute {} is damaged", name);
    }
  }
  return "";
}

template <class Range>
bool AllWithin(const Range& values, int64_t min, int64_t max) {
  return std::all_of(values.begin(), values.end(),
                     [&](int64_t value) { return value >= min && value <= max; });
}

// Settings that inference functions divide by, multiply with or count to.
std::string CheckSettings(const onnx::NodeProto& node) {
  constexpr std::array<std::string_view, 8> kPositive = {
      "kernel_shape", "strides",     "dilations",    "group",
      "blocksize",    "hidden_size", "pooled_shape", "num_outputs"};
  // Positions that may lie anywhere (they are clamped), and plain data.
  constexpr std::array<std::string_view, 6> kFree = {"starts", "ends",      "start",
                                                     "end",    "value_int", "value_ints"};
  const auto among = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& attribute : node.attribute()) {
    if (among(kFree, attribute.name())) continue;
    const int64_t min = among(kPositive, attribute.name()) ? 1 : -kMaxSetting;
    const int64_t max = attribute.name() == "num_scan_inputs" ? node.input_size() : kMaxSetting;
    const bool scalar_wrong =
        attribute.type() == AttributeProto::INT && (attribute.i() < min || attribute.i() > max);
    if (scalar_wrong || !AllWithin(attribute.ints(), min, max)) {
      return fmt::format("attribute {} has an impossible value", attribute.name());
    }
  }
  return "";
}

bool IsAnyOf(const onnx::NodeProto& node, std::initializer_list<std::string_view> types) {
  return std::find(types.begin(), types.end(), node.op_type()) != types.end();
}

// Axis-like attributes must lie within the rank of the first input.
std::string CheckAxes(const onnx::NodeProto& node, const std::vector<const KnownTensor*>& inputs) {
  if (inputs.empty() || inputs[0] == nullptr || !inputs[0]->type.has_tensor_type() ||
      !inputs[0]->type.tensor_type().has_shape()) {
    return "";
  }
  const int64_t rank = inputs[0]->type.tensor_type().shape().dim_size();
  for (const auto& attribute : node.attribute()) {
    int64_t min = -rank, max = rank - 1;
    if (attribute.name() == "axis") {
      if (IsAnyOf(node, {"QuantizeLinear", "DequantizeLinear"})) continue;
      if (IsAnyOf(node, {"Flatten"})) max = rank;
      if (IsAnyOf(node, {"OneHot"})) min = -rank - 1, max = rank;
    } else if (attribute.name() == "axes") {
      if (attribute.ints_size() > static_cast<int>(kMaxRank)) return "too many axes";
      if (IsAnyOf(node, {"Unsqueeze"})) {
        min = -rank - attribute.ints_size();
        max = rank + attribute.ints_size() - 1;
      }
    } else if (attribute.name() == "perm") {
      if (attribute.ints_size() != rank) return "attribute perm does not fit the rank";
    } else if (attribute.name() != "batch_axis" && attribute.name() != "time_axis" &&
               attribute.name() != "batch_dims") {
      continue;
    }
    const bool scalar = attribute.type() == AttributeProto::INT;
    if ((scalar && (attribute.i() < min || attribute.i() > max)) ||
        !AllWithin(attribute.ints(), min, max)) {
      return fmt::format("attribute {} lies outside the rank {}", attribute.name(), rank);
    }
  }
  return "";
}

// The rank of input `i` if it is a tensor of known rank, else -1.
int RankOf(const std::vector<const KnownTensor*>& inputs, size_t i) {
  if (i >= inputs.size() || inputs[i] == nullptr || !inputs[i]->type.has_tensor_type() ||
      !inputs[i]->type.tensor_type().has_shape()) {
    return -1;
  }
  return inputs[i]->type.tensor_type().shape().dim_size();
}

// Convolutions and poolings walk over their spatial settings, recurrent ops over three dimensions.
std::string CheckRanks(const onnx::NodeProto& node, const std::vector<const KnownTensor*>& inputs) {
  const int rank = RankOf(inputs, 0);
  if (IsAnyOf(node, {"LSTM", "GRU", "RNN"})) {
    for (size_t i = 0; i < std::min<size_t>(inputs.size(), 3); ++i) {
      if (RankOf(inputs, i) >= 0 && RankOf(inputs, i) != 3) {
        return fmt::format("input {} has rank {}, not 3", i, RankOf(inputs, i));
      }
    }
    return "";
  }
  const bool convolution =
      IsAnyOf(node, {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "DeformConv"});
  const bool pooling = IsAnyOf(node, {"MaxPool", "AveragePool", "LpPool", "MaxUnpool"});
  if ((!convolution && !pooling) || rank < 0) return "";
  if (rank < 3) return fmt::format("input 0 has rank {}, fewer than 3", rank);
  const int weight = RankOf(inputs, node.op_type() == "QLinearConv" ? 3 : 1);
  if (convolution && weight >= 0 && weight != rank) {
    return fmt::format("the weight has rank {}, the input {}", weight, rank);
  }
  for (const auto& attribute : node.attribute()) {
    const int wanted = attribute.name() == "pads" ? 2 * (rank - 2) : rank - 2;
    if (attribute.type() == AttributeProto::INTS && attribute.ints_size() != wanted) {
      return fmt::format("attribute {} has {} items, not {}", attribute.name(),
                         attribute.ints_size(), wanted);
    }
  }
  return "";
}

// Constants that become dimensions must not overflow when multiplied.
std::string CheckTargets(const onnx::NodeProto& node,
                         const std::vector<const KnownTensor*>& inputs) {
  if (!IsAnyOf(node, {"Reshape", "Expand", "ConstantOfShape", "Tile", "Resize", "Upsample", "Pad",
                      "Unsqueeze", "Squeeze", "RandomUniform", "TopK", "OneHot", "MaxUnpool"})) {
    return "";
  }
  for (size_t i = IsAnyOf(node, {"ConstantOfShape"}) ? 0 : 1; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !inputs[i]->value) continue;
    const SmallTensor& value = *inputs[i]->value;
    int64_t product = 1;
    for (const int64_t item : value.ints) {
      if (item < -kMaxSetting || item > kMaxElements) return "an impossible dimension is asked for";
      product = SaturatingMultiply(product, std::max<int64_t>(item < 0 ? -item : item, 1));
    }
    for (const double item : value.reals) {
      if (!(item >= -1e6 && item <= 1e6)) return "an impossible factor is asked for";
    }
    if (value.size() > kMaxRank || product > kMaxElements) {
      return "impossible dimensions are asked for";
    }
  }
  return "";
}

// What libonnx does not look at: extents that a product sums over must be equal. A batch that is
// written into a Reshape shows here when another one is asked for.
std::string CheckSummed(const onnx::NodeProto& node,
                        const std::vector<const KnownTensor*>& inputs) {
  const bool gemm = IsAnyOf(node, {"Gemm"}), convolution = IsAnyOf(node, {"Conv"});
  if ((!gemm && !convolution) || inputs.size() < 2) return "";
  std::array<std::optional<std::vector<int64_t>>, 2> shapes;
  for (size_t i = 0; i < 2; ++i) {
    if (inputs[i] != nullptr) shapes[i] = StaticShape(inputs[i]->type);
    if (!shapes[i] || shapes[i]->size() < 2 || (gemm && shapes[i]->size() > 2)) return "";
  }
  const std::vector<int64_t>&a = *shapes[0], &b = *shapes[1];
  int64_t left = a[1], right = b[1];
  if (gemm) {
    if (IntAttribute(node, "transA", 0) != 0) left = a[0];
    if (IntAttribute(node, "transB", 0) == 0) right = b[0];
  } else {
    right = SaturatingMultiply(right, IntAttribute(node, "group", 1));
  }
  if (left == right) return "";
  return fmt::format("{} and {} cannot be multiplied: {} are summed with {}",
                     Describe(inputs[0]->type), Describe(inputs[1]->type), left, right);
}

}  // namespace

std::string UnsafeToInfer(const onnx::NodeProto& node, const OpSchema& schema,
                          const std::vector<const KnownTensor*>& inputs) {
  std::string wrong = CheckArity(node, schema);
  if (wrong.empty()) wrong = CheckInputs(node, schema, inputs);
  if (wrong.empty()) wrong = CheckAttributeTypes(node, schema);
  if (wrong.empty()) wrong = CheckSettings(node);
  if (wrong.empty()) wrong = CheckAxes(node, inputs);
  if (wrong.empty()) wrong = CheckRanks(node, inputs);
  if (wrong.empty()) wrong = CheckTargets(node, inputs);
  if (wrong.empty()) wrong = CheckSummed(node, inputs);
  return wrong;
}

}  // namespace placewright::onnx_import
