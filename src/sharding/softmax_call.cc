#include "sharding/softmax_call.h"

#include <algorithm>
#include <string_view>

namespace placewright {

std::optional<SoftmaxCall> SoftmaxCallOf(const Op& op) {
  const std::string_view type = op.type;
  SoftmaxCall call;
  call.logarithm = type.starts_with("aten._log_softmax");
  call.backward = type.ends_with("_backward_data.default");
  const bool is = type == "aten._softmax.default" || type == "aten._log_softmax.default" ||
                  type == "aten._softmax_backward_data.default" ||
                  type == "aten._log_softmax_backward_data.default";
  const size_t tensors = call.backward ? 2 : 1;
  if (!is || op.inputs.size() != tensors || op.outputs.size() != 1 || !op.writes.empty()) {
    return std::nullopt;
  }
  if (op.args.size() != tensors + 2 || !op.attributes.empty()) return std::nullopt;
  for (size_t i = 0; i < tensors; ++i) {
    const InputRef* const input = op.args[i].AsInput();
    if (input == nullptr || static_cast<size_t>(input->index) != i) return std::nullopt;
  }
  const int64_t* const dimension = op.args[tensors].AsInt();
  if (dimension == nullptr) return std::nullopt;
  call.dimension = *dimension;
  return call;
}

bool HasSynchronisedAxis(const OpRule& rule) {
  return std::any_of(rule.axes.begin(), rule.axes.end(),
                     [](const RuleAxis& axis) { return axis.parts == Parts::kSynchronised; });
}

}  // namespace placewright
