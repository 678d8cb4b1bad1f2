#include "aten/boxed_call.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>
#include <fmt/format.h>

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

class ArgumentMaker {
 public:
  ArgumentMaker(const Op& op, const IdVector<TensorId, at::Tensor>& tensors)
      : op_(op), tensors_(tensors) {}

  c10::IValue Make(const c10::Type& type, const Value& value) const {
    if (const auto* optional = type.castRaw<c10::OptionalType>()) {
      return value.IsNone() ? c10::IValue() : Make(*optional->getElementType(), value);
    }
    if (const InputRef* input = value.AsInput()) return Tensor(*input);
    if (const Value::List* list = value.AsList()) {
      return List(*type.castRaw<c10::ListType>()->getElementType(), *list);
    }
    if (const std::string* text = value.AsString()) return Text(type.kind(), *text);
    if (type.kind() == c10::TypeKind::TensorType) return Number(value);
    if (const bool* flag = value.AsBool()) return *flag;
    if (const double* number = value.AsDouble()) return *number;
    if (const int64_t* number = value.AsInt()) {
      if (type.kind() == c10::TypeKind::FloatType) return static_cast<double>(*number);
      return *number;
    }
    return c10::IValue();
  }

 private:
  const at::Tensor& Tensor(InputRef input) const {
    return tensors_[op_.inputs[static_cast<size_t>(input.index)]];
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

  c10::IValue List(const c10::Type& element, const Value::List& list) const {
    switch (element.kind()) {
      case c10::TypeKind::TensorType: {
        c10::List<at::Tensor> tensors;
        for (const Value& item : list) {
          tensors.push_back(item.AsInput() ? Tensor(*item.AsInput()) : at::Tensor());
        }
        return tensors;
      }
      case c10::TypeKind::OptionalType: {
        c10::List<TorchOptional<at::Tensor>> tensors;
        for (const Value& item : list) {
          tensors.push_back(item.AsInput() ? TorchOptional<at::Tensor>(Tensor(*item.AsInput()))
                                           : TorchOptional<at::Tensor>());
        }
        return tensors;
      }
      case c10::TypeKind::FloatType: {
        c10::List<double> numbers;
        for (const Value& item : list) {
          numbers.push_back(item.AsDouble() ? *item.AsDouble()
                                            : static_cast<double>(*item.AsInt()));
        }
        return numbers;
      }
      case c10::TypeKind::BoolType: {
        c10::List<bool> flags;
        for (const Value& item : list) flags.push_back(*item.AsBool());
        return flags;
      }
      default: {
        c10::List<int64_t> numbers;
        for (const Value& item : list) numbers.push_back(*item.AsInt());
        return numbers;
      }
    }
  }

  const Op& op_;
  const IdVector<TensorId, at::Tensor>& tensors_;
};

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

Result<BoxedCall> BoxedCall::Create(const Op& op) {
  const auto handle = c10::Dispatcher::singleton().findSchema(NameOf(op.type));
  if (!handle) {
    return AtOp(ErrorCode::kUnknownName, op,
                "this LibTorch has no operator " + Printable(op.type, 80));
  }
  PW_ASSIGN(std::vector<const Value*> arguments, Arrange(handle->schema(), op));
  return BoxedCall(op, *handle, std::move(arguments));
}

std::vector<at::Tensor> BoxedCall::Run(const IdVector<TensorId, at::Tensor>& tensors) const {
  const c10::FunctionSchema& schema = handle_.schema();
  const ArgumentMaker maker(*op_, tensors);
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const c10::Argument& declared = schema.arguments()[i];
    stack.push_back(arguments_[i] == nullptr ? *declared.default_value()
                                             : maker.Make(*declared.real_type(), *arguments_[i]));
  }
  handle_.callBoxed(&stack);
  std::vector<at::Tensor> results;
  for (const c10::IValue& result : stack) {
    if (result.isTensor()) results.push_back(result.toTensor());
    if (!result.isTensorList()) continue;
    for (const at::Tensor& tensor : result.toTensorVector()) results.push_back(tensor);
  }
  return results;
}

}  // namespace placewright
