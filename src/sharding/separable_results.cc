#include "sharding/separable_results.h"

#include <string_view>

namespace placewright {
namespace {

// convolution_backward(grad, x, w, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
// output_mask)
constexpr std::string_view kSeparable = "aten.convolution_backward.default";
constexpr size_t kArguments = 11;

bool IsOf(const Graph& graph, TensorId output, const GradientMask& mask) {
  const auto result = static_cast<size_t>(graph.tensor(output).output_index);
  return result < mask.size() && mask[result];
}

}  // namespace

std::optional<GradientMask> SeparableResults(const Op& op) {
  if (op.type != kSeparable || op.args.size() != kArguments) return std::nullopt;
  const Value::List* const list = op.args[kMaskOfResults].AsList();
  GradientMask mask{};
  if (list == nullptr || list->size() != mask.size()) return std::nullopt;
  for (size_t i = 0; i < mask.size(); ++i) {
    const bool* const wanted = (*list)[i].AsBool();
    if (wanted == nullptr) return std::nullopt;
    mask[i] = *wanted;
  }
  return mask;
}

Op WithResults(const Graph& graph, const Op& op, const GradientMask& mask) {
  Op part = op;
  Value::List list;
  for (const bool wanted : mask) list.push_back(Value(wanted));
  part.args[kMaskOfResults] = Value(list);
  part.outputs.clear();
  for (const TensorId output : op.outputs) {
    if (IsOf(graph, output, mask)) part.outputs.push_back(output);
  }
  return part;
}

OpRule RuleWithResults(const Graph& graph, const Op& op, const OpRule& rule,
                       const GradientMask& mask) {
  OpRule part = rule;
  part.outputs.clear();
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (IsOf(graph, op.outputs[i], mask)) part.outputs.push_back(rule.outputs[i]);
  }
  return part;
}

}  // namespace placewright
