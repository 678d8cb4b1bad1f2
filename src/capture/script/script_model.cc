#include "capture/script/script_model.h"

#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <fmt/format.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/jit_exception.h>

#include <optional>
#include <unordered_set>

#include "aten/dtype_names.h"
#include "aten/failure.h"
#include "base/text.h"
#include "capture/recorder/arguments.h"
#include "capture/script/traceback.h"

namespace placewright {
namespace {

// Holds parameters and buffers, and is never run.
class Part : public Module {};

// The part at the path before the last dot of `name`, made where there is none; `name` loses it.
torch::nn::Module& HolderOf(torch::nn::Module& root, std::string& name) {
  torch::nn::Module* holder = &root;
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
    const std::string part = name.substr(0, dot);
    name.erase(0, dot + 1);
    const auto children = holder->named_children();
    const std::shared_ptr<torch::nn::Module>* known = children.find(part);
    holder = known != nullptr ? known->get()
                              : holder->register_module(part, std::make_shared<Part>()).get();
  }
  return *holder;
}

void Flatten(const c10::IValue& value, Model::Tensors& tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors.push_back(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) Flatten(item, tensors);
  } else if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) Flatten(item, tensors);
  } else if (value.isGenericDict()) {
    for (const auto& item : value.toGenericDict()) Flatten(item.value(), tensors);
  } else if (value.isObject()) {
    for (const c10::IValue& item : value.toObjectRef().slots()) Flatten(item, tensors);
  }
}

std::string Describe(const ScriptArgument& argument) {
  const std::optional<DType> dtype = DTypeOf(argument.type);
  return fmt::format("{}={}[{}]", Printable(argument.name, 80),
                     dtype ? ToString(*dtype) : std::string_view("?"),
                     fmt::join(argument.sizes, ","));
}

}  // namespace

ScriptModel::ScriptModel(torch::jit::Module module, std::vector<ScriptArgument> arguments,
                         LossKind loss)
    : OutsideModel(loss), module_(std::move(module)), arguments_(std::move(arguments)) {
  std::unordered_set<const void*> known;  // tied ones stand under the first of their names
  for (const auto& item : module_.named_parameters()) {
    if (!known.insert(item.value.unsafeGetTensorImpl()).second) continue;
    std::string name = item.name;
    torch::nn::Module& holder = HolderOf(*this, name);
    holder.register_parameter(name, item.value, item.value.requires_grad());
  }
  for (const auto& item : module_.named_buffers()) {
    if (!item.value.defined() || !known.insert(item.value.unsafeGetTensorImpl()).second) continue;
    std::string name = item.name;
    torch::nn::Module& holder = HolderOf(*this, name);
    holder.register_buffer(name, item.value);
  }
}

std::vector<NamedTensor> ScriptModel::MakeInputs() const {
  std::vector<NamedTensor> inputs;
  for (const ScriptArgument& argument : arguments_) {
    if (!argument.given) continue;
    at::Tensor tensor;
    if (c10::isFloatingType(argument.type)) {
      tensor = at::randn(argument.sizes).to(argument.type);
    } else {
      const bool flag = argument.type == c10::ScalarType::Bool;
      tensor = at::randint(flag ? 2 : argument.below, argument.sizes, at::kLong).to(argument.type);
    }
    inputs.push_back({argument.name, tensor});
  }
  return inputs;
}

int64_t ScriptModel::LimitOf(const std::string& input) const {
  for (const ScriptArgument& argument : arguments_) {
    // 1, which zeros need, is what was not stated.
    if (argument.given && argument.name == input && argument.below > 1) return argument.below;
  }
  return 0;
}

void ScriptModel::train(bool on) {
  Module::train(on);
  module_.train(on);
}

Model::Tensors ScriptModel::RunModel(const Tensors& inputs) {
  std::vector<c10::IValue> stack;
  size_t next = 0;
  for (const ScriptArgument& argument : arguments_) {
    stack.push_back(argument.given ? c10::IValue(inputs.at(next++)) : argument.otherwise);
  }
  const torch::jit::GraphOptimizerEnabledGuard as_it_stands(false);
  c10::IValue result;
  try {
    result = module_.forward(std::move(stack));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const torch::jit::JITException& error) {
    throw TorchFailure(Stopped(
        MakeError(ErrorCode::kNotRecordable, "the code raises " + RaisedMessage(error.what())),
        error.what()));
  } catch (const std::exception& error) {
    const std::string message = RaisedMessage(error.what());
    if (message == "std::bad_alloc") throw std::bad_alloc();
    throw TorchFailure(Stopped(ErrorFromLibTorch(message), error.what()));
  }
  Tensors outputs;
  Flatten(result, outputs);
  const CallHandler* handler = CurrentHandler();
  if (handler != nullptr && handler->OnMeta()) {
    for (at::Tensor& output : outputs) {  // numbers that follow from sizes
      if (IsHostNumber(output)) output = at::scalar_tensor(output.item(), output.scalar_type());
    }
  }
  if (!outputs.empty()) return outputs;
  throw TorchFailure(
      MakeError(ErrorCode::kNotRecordable, "the module's forward function returns no tensor"));
}

// Every exception reaches us as a text of the interpreter; errors of ours were kept.
Error ScriptModel::Stopped(Error error, const std::string& traceback) const {
  const CallHandler* handler = CurrentHandler();
  if (handler != nullptr && handler->failure()) error = *handler->failure();
  if (error.code == ErrorCode::kInterrupted) return error;
  const auto add = [&](const std::string& text) {
    error.place += (error.place.empty() || text.empty() ? "" : ", ") + text;
  };
  const bool says_module = error.place.find(" in module ") != error.place.npos;
  if (handler != nullptr && !says_module && !handler->ModulePath().empty()) {
    add("module " + Printable(handler->ModulePath(), 200));
  }
  add(PlaceInCode(traceback));
  if (error.code == ErrorCode::kNotRecordable && error.remedy.empty()) {
    std::vector<std::string> given;
    for (const ScriptArgument& argument : arguments_) {
      if (argument.given) given.push_back(Describe(argument));
    }
    error.remedy = fmt::format("Check sizes and types of the inputs ({}), or fix the code there.",
                               fmt::join(given, " "));
  }
  return error;
}

}  // namespace placewright
