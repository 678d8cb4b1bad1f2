#include "sharding/batch_norm_call.h"

#include <string_view>

namespace placewright {
namespace {

// Reads the arguments of one op.
class NormArguments {
 public:
  explicit NormArguments(const Op& op) : op_(op) {}

  // The input at a position, or -1.
  int32_t Input(size_t position, std::string_view name) const {
    const Value* const value = At(position, name);
    const InputRef* const input = value == nullptr ? nullptr : value->AsInput();
    const bool there = input != nullptr && input->index >= 0 &&
                       static_cast<size_t>(input->index) < op_.inputs.size();
    return there ? input->index : -1;
  }
  std::optional<double> Number(size_t position, std::string_view name) const {
    const Value* const value = At(position, name);
    if (value == nullptr) return std::nullopt;
    if (const double* number = value->AsDouble()) return *number;
    if (const int64_t* number = value->AsInt()) return static_cast<double>(*number);
    return std::nullopt;
  }

 private:
  const Value* At(size_t position, std::string_view name) const {
    if (position < op_.args.size()) return &op_.args[position];
    for (const NamedValue& named : op_.attributes) {
      if (named.name == name) return &named.value;
    }
    return nullptr;
  }

  const Op& op_;
};

}  // namespace

std::optional<BatchNormCall> BatchNormCallOf(const Op& op) {
  const NormArguments arguments(op);
  BatchNormCall call;
  const bool without = op.type == "aten._native_batch_norm_legit.no_stats";
  const bool forward = op.type == "aten.native_batch_norm.default" ||
                       op.type == "aten._native_batch_norm_legit.default" || without;
  call.backward = op.type == "aten.native_batch_norm_backward.default";
  if (!forward && !call.backward) return std::nullopt;
  call.grad = call.backward ? arguments.Input(0, "grad_out") : -1;
  const size_t first = call.backward ? 1 : 0;
  call.x = arguments.Input(first, "input");
  call.weight = arguments.Input(first + 1, "weight");
  if (forward) call.bias = arguments.Input(2, "bias");
  if (!without) {
    call.running_mean = arguments.Input(3, "running_mean");
    call.running_var = arguments.Input(4, "running_var");
  }
  if (call.backward) {
    call.save_mean = arguments.Input(5, "save_mean");
    call.save_invstd = arguments.Input(6, "save_invstd");
    if (call.grad < 0 || call.save_mean < 0 || call.save_invstd < 0) return std::nullopt;
  }
  const auto momentum = forward ? arguments.Number(without ? 4 : 6, "momentum") : 0;
  const auto eps = arguments.Number(call.backward ? 8 : without ? 5 : 7, "eps");
  if (call.x < 0 || !momentum || !eps) return std::nullopt;
  call.momentum = *momentum;
  call.eps = *eps;
  return call;
}

}  // namespace placewright
