#include "capture/recorder/arguments.h"

#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>

#include "aten/dtype_names.h"
#include "aten/failure.h"

namespace placewright {
namespace {

[[noreturn]] void Refuse(const TorchCall& call, const c10::Argument& argument,
                         const std::string& reason) {
  throw TorchFailure(MakeError(ErrorCode::kNotRecordable,
                               "the argument \"" + argument.name() + "\" " + reason,
                               "op " + call.schema().name()));
}

// The type of what an optional holds, else the type.
const c10::Type& Plain(const c10::Type& type) {
  const auto* optional = type.castRaw<c10::OptionalType>();
  return optional == nullptr ? type : *optional->getElementType();
}

class ArgumentReader {
 public:
  ArgumentReader(const TorchCall& call, const std::function<bool(const at::Tensor&)>& is_number)
      : call_(call), is_number_(is_number) {}

  Value Read(const c10::Argument& argument, const c10::IValue& value) {
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (!written && value.isTensor() && IsHostNumber(value.toTensor()) &&
        is_number_(value.toTensor())) {
      return Number(value.toTensor());
    }
    const c10::Type& type = Plain(*argument.real_type());
    if (value.isNone()) return Value();
    if (value.isTensor()) return Tensor(value.toTensor());
    if (value.isInt()) return Int(type.kind(), value.toInt());
    if (value.isBool()) return Value(value.toBool());
    if (value.isDouble()) return Value(value.toDouble());
    if (value.isString()) return Value(value.toStringRef());
    if (value.isDevice()) return Value(std::string("cpu"));
    if (value.isGenerator()) return Value();
    if (value.isList()) return List(argument, value);
    Refuse(call_, argument, "has a type that a graph cannot hold (" + value.tagKind() + ")");
  }

  std::vector<at::Tensor> tensors;

 private:
  Value Tensor(const at::Tensor& tensor) {
    if (!tensor.defined()) return Value();
    tensors.push_back(tensor);
    return Value(InputRef{static_cast<int32_t>(tensors.size()) - 1});
  }

  static Value Number(const at::Tensor& tensor) {
    const at::Scalar number = tensor.item();
    if (number.isBoolean()) return Value(number.toBool());
    if (number.isIntegral(false)) return Value(number.toLong());
    return Value(number.toDouble());
  }

  static Value Int(c10::TypeKind kind, int64_t value) {
    switch (kind) {
      case c10::TypeKind::ScalarTypeType: return Value(WordOf(static_cast<c10::ScalarType>(value)));
      case c10::TypeKind::LayoutType: return Value(WordOf(static_cast<c10::Layout>(value)));
      case c10::TypeKind::MemoryFormatType:
        return Value(WordOf(static_cast<c10::MemoryFormat>(value)));
      default: return Value(value);
    }
  }

  Value List(const c10::Argument& argument, const c10::IValue& value) {
    Value::List list;
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor()) {
        list.push_back(Tensor(item.toTensor()));
      } else if (item.isInt()) {
        list.emplace_back(item.toInt());
      } else if (item.isDouble()) {
        list.emplace_back(item.toDouble());
      } else if (item.isBool()) {
        list.emplace_back(item.toBool());
      } else if (item.isNone()) {
        list.emplace_back();
      } else {
        Refuse(call_, argument, "is a list of a type that a graph cannot hold");
      }
    }
    return Value(std::move(list));
  }

  const TorchCall& call_;
  const std::function<bool(const at::Tensor&)>& is_number_;
};

bool HasDefault(const TorchCall& call, const c10::Argument& argument, const Value& value) {
  if (!argument.default_value()) return false;
  static const std::function<bool(const at::Tensor&)> kNoNumbers = [](const at::Tensor&) {
    return false;
  };
  return ArgumentReader(call, kNoNumbers).Read(argument, *argument.default_value()) == value;
}

}  // namespace

bool IsHostNumber(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.dim() != 0 || !tensor.is_cpu()) return false;
  return !tensor.is_complex() && !tensor.is_quantized();
}

CallArguments ReadArguments(const TorchCall& call,
                            const std::function<bool(const at::Tensor&)>& is_number) {
  ArgumentReader reader(call, is_number);
  CallArguments arguments;
  const std::vector<c10::Argument>& declared = call.schema().arguments();
  size_t last = 0;  // behind the last positional argument that differs from its default
  for (size_t i = 0; i < declared.size(); ++i) {
    const auto first = static_cast<int32_t>(reader.tensors.size());
    Value value = reader.Read(declared[i], call.argument(i));
    if (declared[i].alias_info() != nullptr && declared[i].alias_info()->isWrite()) {
      const auto end = static_cast<int32_t>(reader.tensors.size());
      for (int32_t tensor = first; tensor < end; ++tensor) arguments.written.push_back(tensor);
    }
    const bool differs = !HasDefault(call, declared[i], value);
    if (declared[i].kwarg_only()) {
      if (differs) arguments.keyword.push_back({declared[i].name(), std::move(value)});
    } else {
      arguments.positional.push_back(std::move(value));
      if (differs) last = arguments.positional.size();
    }
  }
  arguments.positional.resize(last);
  arguments.tensors = std::move(reader.tensors);
  return arguments;
}

std::string TargetOf(const c10::FunctionSchema& schema) {
  std::string target = schema.name();
  const size_t colons = target.find("::");
  if (colons != std::string::npos) target.replace(colons, 2, ".");
  return target + "." + (schema.overload_name().empty() ? "default" : schema.overload_name());
}

std::vector<at::Tensor> ResultTensors(const TorchCall& call, bool* listed) {
  std::vector<at::Tensor> tensors;
  *listed = false;
  for (size_t i = 0; i < call.schema().returns().size(); ++i) {
    const c10::IValue& value = call.result(i);
    if (value.isTensor()) {
      tensors.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
      *listed = true;
    }
  }
  return tensors;
}

}  // namespace placewright
