// They are the interpreter's own, and do not pass LibTorch's dispatcher.
#include "capture/script/script_ops.h"

#include <ATen/ops/empty_strided.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <string>
#include <utility>

#include "aten/failure.h"
#include "capture/recorder/arguments.h"
#include "capture/recorder/dispatch.h"
#include "capture/script/recurrent_layers.h"

namespace placewright {
namespace {

using torch::jit::Stack;

void EnterModule(Stack& stack) {
  const std::string path = torch::jit::pop(stack).toStringRef();
  if (CallHandler* handler = CurrentHandler()) handler->EnterModule(path);
}

void LeaveModule(Stack& /*stack*/) {
  if (CallHandler* handler = CurrentHandler()) handler->LeaveModule();
}

void Turn(Stack& /*stack*/) {
  if (CallHandler* handler = CurrentHandler()) handler->CountTurn();
}

void BeginTensor(Stack& /*stack*/) {
  if (CurrentHandler() != nullptr) {
    c10::impl::tls_set_dispatch_key_included(kRecorderKey, false);
  }
}

// On meta the tensor loses its content, but for a number that LibTorch keeps on the host.
void EndTensor(Stack& stack) {
  const CallHandler* handler = CurrentHandler();
  if (handler == nullptr) return;
  const at::Tensor made = torch::jit::pop(stack).toTensor();
  const bool keep = !handler->OnMeta() || made.is_meta() || IsHostNumber(made);
  torch::jit::push(stack, keep ? made
                               : at::empty_strided(made.sizes(), made.strides(),
                                                   made.options().device(at::kMeta)));
  c10::impl::tls_set_dispatch_key_included(kRecorderKey, true);
}

void ReadValues(Stack& /*stack*/) {
  CallHandler* handler = CurrentHandler();
  if (handler == nullptr) return;
  const Error error = MakeError(ErrorCode::kDataDependent,
                                "the step makes a list of what a tensor holds", "op tolist");
  handler->KeepFailure(error);
  throw TorchFailure(error);
}

// Nothing of these may be moved or left out.
constexpr auto kKept = c10::AliasAnalysisKind::CONSERVATIVE;

// As LibTorch declares the overload `input` of a recurrent layer.
torch::jit::Operator RecurrentLayer(const std::string& name, torch::jit::Operation run) {
  const bool lstm = name == "lstm";
  return torch::jit::Operator(
      "placewright::" + name + "(Tensor input, Tensor" + (lstm ? "[]" : "") +
          " hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
          "bool bidirectional, bool batch_first) -> (Tensor, Tensor" +
          (lstm ? ", Tensor)" : ")"),
      std::move(run), kKept);
}

}  // namespace

void RegisterScriptOps() {
  static const torch::jit::RegisterOperators operators({
      torch::jit::Operator("placewright::enter_module(str path) -> ()", EnterModule, kKept),
      torch::jit::Operator("placewright::leave_module() -> ()", LeaveModule, kKept),
      torch::jit::Operator("placewright::turn() -> ()", Turn, kKept),
      torch::jit::Operator("placewright::begin_tensor() -> ()", BeginTensor, kKept),
      torch::jit::Operator("placewright::end_tensor(Tensor made) -> Tensor", EndTensor, kKept),
      torch::jit::Operator("placewright::read_values() -> ()", ReadValues, kKept),
      RecurrentLayer("lstm", RunLstm),
      RecurrentLayer("gru", RunGru),
      RecurrentLayer("rnn_tanh", RunTanhRnn),
      RecurrentLayer("rnn_relu", RunReluRnn),
  });
}

}  // namespace placewright
