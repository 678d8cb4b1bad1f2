#include "aten/boxed_call.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>
#include <fmt/format.h>

#include <algorithm>

#include "aten/dtype_names.h"
#include "aten/torch_version.h"
#include "base/text.h"

namespace placewright {
namespace {

// "aten.mm.default" -> ("aten::mm", "").
c10::OperatorName NameOf(std::string_view target) {
  const size_t first = target.find('.'), last = target.rfind('.');
  if (first == target.npos || first == last) return {std::string(target), ""};
  std::string name =
      fmt::format("{}::{}", target.substr(0, first), target.substr(first + 1, last - first - 1));
  std::string overload(target.substr(last + 1));
  if (overload == "default") overload.clear();
  return {std::move(name), std::move(overload)};
}

Error AtOp(ErrorCode code, const Op& op, std::string message) {
  return MakeError(code, std::move(message), "op " + Printable(op.name, 80));
}

// The arguments in the order of the schema; nullptr where the op does not state one.
Result<std::vector<const Value*>> Arrange(const c10::FunctionSchema& schema, const Op& op) {
  std::vector<const Value*> arguments;
  size_t position = 0, named = 0;
  for (const c10::Argument& declared : schema.arguments()) {
    const Value* value = nullptr;
    if (!declared.kwarg_only() && position < op.args.size()) {
      value = &op.args[position++];
    } else {
      for (const NamedValue& attribute : op.attributes) {
        if (attribute.name == declared.name()) value = &attribute.value;
      }
      named += value != nullptr ? 1 : 0;
    }
    if (value == nullptr && !declared.default_value()) {
      return AtOp(ErrorCode::kField, op, "it has no argument \"" + declared.name() + "\"");
    }
    arguments.push_back(value);
  }
  if (position < op.args.size() || named < op.attributes.size()) {
    return AtOp(ErrorCode::kField, op, "it has more arguments than " + schema.name() + " takes");
  }
  return arguments;
}

}  // namespace

bool DrawsRandomNumbers(const c10::OperatorHandle& op) {
  for (const c10::Argument& argument : op.schema().arguments()) {
    if (argument.name() == "generator") return true;
  }
  return op.hasTag(at::Tag::nondeterministic_seeded);
}

// What an argument is, from the value that the op states.
class BoxedCall::Maker {
 public:
  static Argument Make(const c10::Type& type, const Value& value) {
    using Kind = Argument::Kind;
    if (const auto* optional = type.castRaw<c10::OptionalType>()) {
      return value.IsNone() ? Argument() : Make(*optional->getElementType(), value);
    }
    if (const InputRef* input = value.AsInput()) return {Kind::kTensor, {}, {input->index}};
    if (const Value::List* list = value.AsList()) {
      return List(*type.castRaw<c10::ListType>()->getElementType(), *list);
    }
    return {Kind::kConstant, Constant(type.kind(), value), {}};
  }

 private:
  static c10::IValue Constant(c10::TypeKind kind, const Value& value) {
    if (const std::string* text = value.AsString()) return Text(kind, *text);
    if (kind == c10::TypeKind::TensorType) return Number(value);
    if (const bool* flag = value.AsBool()) return *flag;
    if (const double* number = value.AsDouble()) return *number;
    if (const int64_t* number = value.AsInt()) {
      if (kind == c10::TypeKind::FloatType) return static_cast<double>(*number);
      return *number;
    }
    return {};
  }

  // A number of the host in the place of a tensor.
  static c10::IValue Number(const Value& value) {
    if (const bool* flag = value.AsBool()) return at::native::wrapped_scalar_tensor(*flag);
    if (const double* number = value.AsDouble()) {
      return at::native::wrapped_scalar_tensor(*number);
    }
    if (const int64_t* number = value.AsInt()) return at::native::wrapped_scalar_tensor(*number);
    return at::Tensor();
  }

  static c10::IValue Text(c10::TypeKind kind, const std::string& text) {
    if (const auto type = ScalarTypeOf(text)) return static_cast<int64_t>(*type);
    if (const auto layout = LayoutOf(text)) return static_cast<int64_t>(*layout);
    if (const auto format = MemoryFormatOf(text)) return static_cast<int64_t>(*format);
    if (kind == c10::TypeKind::DeviceObjType) return c10::Device(text);
    return text;
  }

  static std::vector<int32_t> InputsOf(const Value::List& list) {
    std::vector<int32_t> inputs;
    for (const Value& item : list) {
      inputs.push_back(item.AsInput() ? item.AsInput()->index : Argument::kUndefined);
    }
    return inputs;
  }

  static Argument List(const c10::Type& element, const Value::List& list) {
    using Kind = Argument::Kind;
    switch (element.kind()) {
      case c10::TypeKind::TensorType: return {Kind::kTensors, {}, InputsOf(list)};
      case c10::TypeKind::OptionalType: return {Kind::kOptionalTensors, {}, InputsOf(list)};
      case c10::TypeKind::FloatType: {
        c10::List<double> numbers;
        for (const Value& item : list) {
          numbers.push_back(item.AsDouble() ? *item.AsDouble()
                                            : static_cast<double>(*item.AsInt()));
        }
        return {Kind::kConstant, numbers, {}};
      }
      case c10::TypeKind::BoolType: {
        c10::List<bool> flags;
        for (const Value& item : list) flags.push_back(*item.AsBool());
        return {Kind::kConstant, flags, {}};
      }
      default: {
        c10::List<int64_t> numbers;
        for (const Value& item : list) numbers.push_back(*item.AsInt());
        return {Kind::kConstant, numbers, {}};
      }
    }
  }
};

Result<BoxedCall> BoxedCall::Create(const Op& op) {
  const auto handle = c10::Dispatcher::singleton().findSchema(NameOf(op.type));
  if (!handle) {
    Error error = AtOp(ErrorCode::kUnknownName, op,
                       fmt::format("LibTorch {}, which runs here, has no operator {}",
                                   kTorchVersion, Printable(op.type, 80)));
    error.remedy =
        "Run it by the version that recorded it, or a newer one: build with "
        "PLACEWRIGHT_TORCH=DIR ./run (DIR: the folder of that PyTorch, as `python3 -c 'import "
        "torch; print(torch.__path__[0])'` says), or record the step with this one.";
    return error;
  }
  const c10::FunctionSchema& schema = handle->schema();
  PW_ASSIGN(const std::vector<const Value*> values, Arrange(schema, op));
  std::vector<Argument> arguments;
  for (size_t i = 0; i < values.size(); ++i) {
    const c10::Argument& declared = schema.arguments()[i];
    if (values[i] == nullptr) {
      arguments.push_back({Argument::Kind::kConstant, *declared.default_value(), {}});
    } else {
      arguments.push_back(Maker::Make(*declared.real_type(), *values[i]));
    }
  }
  return BoxedCall(*handle, std::move(arguments));
}

BoxedCall::BoxedCall(c10::OperatorHandle handle, std::vector<Argument> arguments)
    : handle_(std::move(handle)), arguments_(std::move(arguments)) {
  const std::string& name = handle_.schema().name();
  takes_contiguous_ =
      name == "aten::native_group_norm" || name == "aten::native_group_norm_backward";
}

void BoxedCall::SetDevice(c10::Device device) {
  const c10::FunctionSchema& schema = handle_.schema();
  const bool reads_tensors = std::any_of(
      arguments_.begin(), arguments_.end(),
      [](const Argument& argument) { return argument.kind != Argument::Kind::kConstant; });
  for (size_t i = 0; i < arguments_.size(); ++i) {
    c10::IValue& constant = arguments_[i].constant;
    if (arguments_[i].kind != Argument::Kind::kConstant) continue;
    const c10::Type* type = schema.arguments()[i].real_type().get();
    if (const auto* optional = type->castRaw<c10::OptionalType>()) {
      type = optional->getElementType().get();
    }
    if (type->kind() != c10::TypeKind::DeviceObjType) continue;
    // Without a device an op that reads tensors takes theirs.
    if (constant.isDevice() || !reads_tensors) constant = device;
  }
}

void BoxedCall::Run(std::span<const at::Tensor> tensors, std::span<const int32_t> place,
                    std::vector<at::Tensor>& results) const {
  const auto input = [&](int32_t index) -> const at::Tensor& {
    return tensors[static_cast<size_t>(place[static_cast<size_t>(index)])];
  };
  // One stack for each call: operators may call others, and so this one.
  torch::jit::Stack stack;
  stack.reserve(arguments_.size());
  for (const Argument& argument : arguments_) {
    switch (argument.kind) {
      case Argument::Kind::kConstant: stack.push_back(argument.constant); break;
      case Argument::Kind::kTensor: {
        const at::Tensor& tensor = input(argument.inputs.front());
        stack.emplace_back(takes_contiguous_ ? tensor.contiguous() : tensor);
        break;
      }
      case Argument::Kind::kTensors: {
        c10::List<at::Tensor> list;
        for (const int32_t index : argument.inputs) {
          list.push_back(index == Argument::kUndefined ? at::Tensor() : input(index));
        }
        stack.emplace_back(std::move(list));
        break;
      }
      case Argument::Kind::kOptionalTensors: {
        c10::List<TorchOptional<at::Tensor>> list;
        for (const int32_t index : argument.inputs) {
          list.push_back(index == Argument::kUndefined ? TorchOptional<at::Tensor>()
                                                       : TorchOptional<at::Tensor>(input(index)));
        }
        stack.emplace_back(std::move(list));
        break;
      }
    }
  }
  handle_.callBoxed(&stack);
  results.clear();
  for (c10::IValue& result : stack) {
    if (result.isTensor()) {
      results.push_back(std::move(result).toTensor());
    } else if (result.isTensorList()) {
      for (const at::Tensor& tensor : result.toTensorVector()) results.push_back(tensor);
    }
  }
}

}  // namespace placewright
