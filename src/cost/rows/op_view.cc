#include "cost/rows/op_view.h"

#include <algorithm>

namespace placewright {

const Tensor* OpView::input(size_t i) const {
  return i < op_.inputs.size() ? &graph_.tensor(op_.inputs[i]) : nullptr;
}

const Tensor* OpView::output(size_t i) const {
  return i < op_.outputs.size() ? &graph_.tensor(op_.outputs[i]) : nullptr;
}

const Value* OpView::Arg(size_t i) const { return i < op_.args.size() ? &op_.args[i] : nullptr; }

const Tensor* OpView::TensorArg(size_t i) const {
  if (op_.args.empty()) return input(i);
  const Value* value = Arg(i);
  const InputRef* reference = value ? value->AsInput() : nullptr;
  if (reference == nullptr || reference->index < 0) return nullptr;
  return input(static_cast<size_t>(reference->index));
}

const Value* OpView::Attribute(std::string_view name) const {
  for (const NamedValue& attribute : op_.attributes) {
    if (attribute.name == name) return &attribute.value;
  }
  return nullptr;
}

std::optional<std::vector<int64_t>> OpView::Integers(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const int64_t* one = value->AsInt()) return std::vector<int64_t>{*one};
  const Value::List* list = value->AsList();
  if (list == nullptr) return std::nullopt;
  std::vector<int64_t> integers;
  integers.reserve(list->size());
  for (const Value& item : *list) {
    const int64_t* integer = item.AsInt();
    if (integer == nullptr) return std::nullopt;
    integers.push_back(*integer);
  }
  return integers;
}

int64_t OpView::IntegerOr(const Value* value, int64_t otherwise) {
  const int64_t* integer = value ? value->AsInt() : nullptr;
  return integer ? *integer : otherwise;
}

bool OpView::BoolOr(const Value* value, bool otherwise) {
  if (value == nullptr) return otherwise;
  if (const bool* stated = value->AsBool()) return *stated;
  if (const int64_t* integer = value->AsInt()) return *integer != 0;
  return otherwise;
}

int64_t OpView::InputBytes(size_t first) const {
  int64_t bytes = 0;
  for (size_t i = first; i < op_.inputs.size(); ++i) {
    const auto begin = op_.inputs.begin() + static_cast<std::ptrdiff_t>(first);
    const auto here = op_.inputs.begin() + static_cast<std::ptrdiff_t>(i);
    if (i - first < 64 && std::find(begin, here, op_.inputs[i]) != here) continue;
    bytes = SaturatingAdd(bytes, TouchedBytes(*input(i)));
  }
  return bytes;
}

int64_t OpView::OutputBytes() const {
  int64_t bytes = 0;
  for (TensorId id : op_.outputs) bytes = SaturatingAdd(bytes, TouchedBytes(graph_.tensor(id)));
  for (TensorId written : op_.writes) {
    const Tensor& target = graph_.tensor(written);
    const bool returned = std::any_of(op_.outputs.begin(), op_.outputs.end(), [&](TensorId id) {
      return graph_.tensor(id).storage == target.storage;
    });
    if (!returned) bytes = SaturatingAdd(bytes, TouchedBytes(target));
  }
  return bytes;
}

int64_t Elements(const std::vector<int64_t>& shape, size_t first_dim) {
  int64_t count = 1;
  for (size_t d = first_dim; d < shape.size(); ++d) {
    count = SaturatingMultiply(count, std::max<int64_t>(shape[d], 0));
  }
  return count;
}

int64_t TouchedBytes(const Tensor& tensor) {
  const bool has_hull = tensor.length.count > 0;
  return has_hull ? std::min(tensor.bytes.count, tensor.length.count) : tensor.bytes.count;
}

int64_t BytesOrZero(const Tensor* tensor) { return tensor ? TouchedBytes(*tensor) : 0; }

}  // namespace placewright
