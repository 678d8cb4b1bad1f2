#include "formats/onnx/weightless.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "formats/onnx/attributes.h"

namespace placewright::onnx_import {
namespace {

constexpr std::string_view kParameterPrefix = "param/";

// Inputs [first, last] of that op are weights.
struct WeightOperands {
  std::string_view type;
  int first, last;
};
constexpr std::array kWeightOperands = {
    WeightOperands{"Conv", 1, 2},
    WeightOperands{"ConvTranspose", 1, 2},
    WeightOperands{"ConvInteger", 1, 1},
    WeightOperands{"QLinearConv", 3, 8},
    WeightOperands{"Gemm", 1, 2},
    WeightOperands{"MatMul", 1, 1},
    WeightOperands{"MatMulInteger", 1, 1},
    WeightOperands{"BatchNormalization", 1, 4},
    WeightOperands{"InstanceNormalization", 1, 2},
    WeightOperands{"GroupNormalization", 1, 2},
    WeightOperands{"LayerNormalization", 1, 2},
    WeightOperands{"LSTM", 1, 3},
    WeightOperands{"GRU", 1, 3},
    WeightOperands{"RNN", 1, 3},
    WeightOperands{"PRelu", 1, 1},
    WeightOperands{"Gather", 0, 0},
};

bool IsRearrangement(const onnx::NodeProto& node) {
  constexpr std::array<std::string_view, 7> kTypes = {
      "Reshape", "Transpose", "Identity", "Squeeze", "Unsqueeze", "Flatten", "Cast"};
  return IsDefaultDomain(node.domain()) &&
         std::find(kTypes.begin(), kTypes.end(), node.op_type()) != kTypes.end();
}

bool IsWeightlessNode(const onnx::NodeProto& node) {
  return IsOp(node, "ConstantOfShape") && node.input_size() == 1 && node.output_size() == 1;
}

// Tensors that are a weight operand of some op.
std::unordered_set<std::string_view> WeightNames(const onnx::GraphProto& graph) {
  std::unordered_set<std::string_view> names;
  for (const auto& node : graph.node()) {
    if (!IsDefaultDomain(node.domain())) continue;
    for (const WeightOperands& row : kWeightOperands) {
      if (node.op_type() != row.type) continue;
      for (int i = row.first; i <= row.last && i < node.input_size(); ++i) {
        names.insert(node.input(i));
      }
    }
  }
  // What is rearranged into a weight is one, too. A sorted file needs one pass from its end; chains
  // against the file's order are followed a few steps only.
  for (int pass = 0; pass < 4; ++pass) {
    for (int i = graph.node_size(); i-- > 0;) {
      const auto& node = graph.node(i);
      if (IsRearrangement(node) && node.output_size() > 0 && node.input_size() > 0 &&
          names.count(node.output(0)) > 0) {
        names.insert(node.input(0));
      }
    }
  }
  return names;
}

}  // namespace

std::vector<bool> FindWeightlessParameters(const onnx::GraphProto& graph) {
  std::vector<bool> found(static_cast<size_t>(graph.node_size()), false);
  bool named = false;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& node = graph.node(static_cast<int>(i));
    const bool prefixed =
        std::string_view(node.name()).substr(0, kParameterPrefix.size()) == kParameterPrefix;
    found[i] = IsWeightlessNode(node) && prefixed;
    named = named || found[i];
  }
  if (named) return found;
  const auto weights = WeightNames(graph);
  for (size_t i = 0; i < found.size(); ++i) {
    const auto& node = graph.node(static_cast<int>(i));
    found[i] = IsWeightlessNode(node) && weights.count(node.output(0)) > 0;
  }
  return found;
}

}  // namespace placewright::onnx_import
