#include "capture/onnx/node_call.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <fmt/format.h>

#include <algorithm>

#include "aten/failure.h"
#include "base/text.h"
#include "capture/onnx/interpreter.h"

namespace placewright::lowering {
namespace {

std::string InputPlace(const ImportedNode& node, size_t i) {
  const std::string name = i < node.inputs.size() ? node.inputs[i] : "";
  return name.empty() ? fmt::format("input {}", i)
                      : fmt::format("input {} ('{}')", i, Printable(name));
}

}  // namespace

at::Tensor NodeCall::In(size_t i) const {
  if (!Has(i)) Invalid(fmt::format("{} is missing", InputPlace(node, i)));
  if (!inputs[i].tensor().defined()) Invalid(InputPlace(node, i) + " is a list, not a tensor");
  return on_host ? inputs[i].tensor() : inputs[i].InStep();
}

at::Tensor NodeCall::Known(size_t i) const {
  if (!Has(i)) Invalid(fmt::format("{} is missing", InputPlace(node, i)));
  if (const at::Tensor content = interpreter.ContentOf(inputs[i]); content.defined())
    return content;
  throw TorchFailure(MakeError(
      ErrorCode::kDataDependent,
      fmt::format("{} of {} must be known while the step is recorded, but is computed from what "
                  "the model's inputs hold",
                  InputPlace(node, i), OperatorName(node)),
      node.place,
      "Give the inputs that it depends on with --inputs FILE.safetensors, or export the model so "
      "that "
      "its sizes, axes, indices of slices and conditions follow from shapes and constants alone."));
}

Ints NodeCall::KnownInts(size_t i) const {
  const at::Tensor known = Known(i);
  const OutsideStep outside;
  const at::Tensor flat = known.to(at::kLong).contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

int64_t NodeCall::KnownInt(size_t i) const {
  const Ints values = KnownInts(i);
  if (values.size() != 1) Invalid(fmt::format("{} is not one number", InputPlace(node, i)));
  return values[0];
}

double NodeCall::KnownReal(size_t i) const {
  const at::Tensor known = Known(i);
  if (known.numel() != 1) Invalid(fmt::format("{} is not one number", InputPlace(node, i)));
  const OutsideStep outside;
  return known.item().toDouble();
}

at::Tensor NodeCall::Operand(size_t i, const at::Tensor& beside) const {
  if (!on_host && Has(i) && inputs[i].is_host() && beside.defined()) {
    const std::optional<at::Scalar> number = inputs[i].Number();
    const bool same_kind = inputs[i].tensor().scalar_type() == beside.scalar_type();
    if (number && same_kind && inputs[i].tensor().dim() <= beside.dim()) {
      return at::native::wrapped_scalar_tensor(*number);
    }
  }
  return In(i);
}

const std::vector<Value>& NodeCall::ListIn(size_t i) const {
  if (!Has(i)) Invalid(fmt::format("{} is missing", InputPlace(node, i)));
  if (inputs[i].list() == nullptr) Invalid(InputPlace(node, i) + " is a tensor, not a list");
  return *inputs[i].list();
}

int64_t NodeCall::Int(const char* name, int64_t otherwise) const {
  const auto* value = FindImportedAttribute<int64_t>(node, name);
  return value == nullptr ? otherwise : *value;
}

double NodeCall::Real(const char* name, double otherwise) const {
  const auto* value = FindImportedAttribute<double>(node, name);
  return value == nullptr ? otherwise : *value;
}

std::string NodeCall::Text(const char* name, std::string_view otherwise) const {
  const auto* value = FindImportedAttribute<std::string>(node, name);
  return value == nullptr ? std::string(otherwise) : *value;
}

std::optional<Ints> NodeCall::IntList(const char* name) const {
  const auto* value = FindImportedAttribute<Ints>(node, name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::vector<double>> NodeCall::RealList(const char* name) const {
  const auto* value = FindImportedAttribute<std::vector<double>>(node, name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::vector<std::string> NodeCall::TextList(const char* name) const {
  const auto* value = FindImportedAttribute<std::vector<std::string>>(node, name);
  return value == nullptr ? std::vector<std::string>() : *value;
}

const ImportedGraph& NodeCall::Graph(const char* name) const {
  const auto* value = FindImportedAttribute<std::shared_ptr<const ImportedGraph>>(node, name);
  if (value == nullptr) Invalid(fmt::format("the sub-graph \"{}\" is missing", name));
  return **value;
}

std::optional<Ints> NodeCall::IntsOf(const char* name, size_t i, int64_t since) const {
  if (version < since) return IntList(name);
  if (!Has(i)) return std::nullopt;
  return KnownInts(i);
}

bool NodeCall::CountsFromFront(size_t i) const {
  if (!Has(i) || !inputs[i].is_host()) return false;
  const OutsideStep outside;
  return !inputs[i].tensor().lt(0).any().item<bool>();
}

at::Tensor NodeCall::FromFront(const at::Tensor& indices, int64_t size) const {
  if (on_host) return at::where(at::lt(indices, 0), at::add(indices, size), indices);
  return at::remainder(indices, std::max<int64_t>(1, size));
}

int64_t NodeCall::Axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) {
    Invalid(fmt::format("axis {} of a tensor of {} dimensions", axis, rank));
  }
  return axis < 0 ? axis + rank : axis;
}

Ints NodeCall::Axes(const Ints& axes, int64_t rank) const {
  Ints out;
  for (const int64_t axis : axes) {
    out.push_back(Axis(axis, rank));
    if (std::count(out.begin(), out.end(), out.back()) > 1) {
      Invalid(fmt::format("axis {} is named twice", axis));
    }
  }
  return out;
}

void NodeCall::Unsupported(const std::string& what) const {
  throw TorchFailure(MakeError(
      ErrorCode::kOnnxOperator,
      fmt::format("operator {}: {} is not supported", Printable(OperatorName(node), 80), what),
      node.place));
}

void NodeCall::Invalid(const std::string& what) const {
  throw TorchFailure(MakeError(ErrorCode::kField,
                               fmt::format("{}: {}", Printable(OperatorName(node), 80), what),
                               node.place, "Export the model again."));
}

void NodeCall::CheckSizes(const Ints& sizes) const {
  int64_t count = 8;  // bytes of the largest usual element
  for (const int64_t size : sizes) {
    if (size < 0) Invalid(fmt::format("a result with a dimension of {}", size));
    count = SaturatingMultiply(count, size);
  }
  if (count >= kMaxQuantity) Invalid("a result of 2^60 bytes or more");
  if (on_host && count / 8 > Interpreter::kMaxHostElements) throw TooLargeForHost{};
}

}  // namespace placewright::lowering
