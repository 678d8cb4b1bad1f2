#include "formats/onnx/shapes/types.h"

#include <fmt/format.h>

#include "base/text.h"

namespace placewright::onnx_import {
namespace {

// The shape of a dense or sparse tensor type, or nullptr.
const onnx::TensorShapeProto* ShapeOf(const onnx::TypeProto& type) {
  if (type.has_tensor_type() && type.tensor_type().has_shape()) return &type.tensor_type().shape();
  if (type.has_sparse_tensor_type() && type.sparse_tensor_type().has_shape()) {
    return &type.sparse_tensor_type().shape();
  }
  return nullptr;
}

int32_t ElementOf(const onnx::TypeProto& type) {
  if (type.has_tensor_type()) return type.tensor_type().elem_type();
  return type.has_sparse_tensor_type() ? type.sparse_tensor_type().elem_type() : 0;
}

}  // namespace

const KnownTensor* TypeTable::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return &found->second;
  return outer_ == nullptr ? nullptr : outer_->Find(name);
}

void TypeTable::Set(std::string_view name, KnownTensor tensor) {
  tensors_[name] = std::move(tensor);
}

std::optional<std::vector<int64_t>> StaticShape(const onnx::TypeProto& type) {
  const onnx::TensorShapeProto* shape = ShapeOf(type);
  if (shape == nullptr) return std::nullopt;
  std::vector<int64_t> dims;
  for (const auto& dim : shape->dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 0) return std::nullopt;
    dims.push_back(dim.dim_value());
  }
  return dims;
}

bool IsComplete(const onnx::TypeProto& type) {
  if (type.has_sequence_type() || type.has_optional_type() || type.has_map_type()) return true;
  return ElementTypeOf(ElementOf(type)).has_value() && StaticShape(type).has_value();
}

onnx::TypeProto TensorType(int32_t element_type, const std::vector<int64_t>& shape) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(element_type);
  auto* dims = type.mutable_tensor_type()->mutable_shape();
  for (const int64_t dim : shape) dims->add_dim()->set_dim_value(dim);
  return type;
}

std::string Describe(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return "sequence";
  if (type.has_optional_type()) return "optional";
  if (type.has_map_type()) return "map";
  const auto element = ElementTypeOf(ElementOf(type));
  std::string text = element ? std::string(ToString(element->dtype)) : "unknown type";
  const onnx::TensorShapeProto* shape = ShapeOf(type);
  if (shape == nullptr) return text + " of unknown rank";
  text += " [";
  for (int i = 0; i < shape->dim_size(); ++i) {
    const auto& dim = shape->dim(i);
    text += i > 0 ? ", " : "";
    text += dim.has_dim_value()   ? fmt::format("{}", dim.dim_value())
            : dim.has_dim_param() ? Printable(dim.dim_param(), 60)
                                  : "?";
  }
  return text + "]";
}

void FillGaps(const onnx::TypeProto& known, onnx::TypeProto* type) {
  if (type->value_case() == onnx::TypeProto::VALUE_NOT_SET) {
    *type = known;
    return;
  }
  if (!type->has_tensor_type() || !known.has_tensor_type()) return;
  auto* tensor = type->mutable_tensor_type();
  const auto& source = known.tensor_type();
  if (tensor->elem_type() == 0) tensor->set_elem_type(source.elem_type());
  if (!source.has_shape()) return;
  if (!tensor->has_shape()) {
    *tensor->mutable_shape() = source.shape();
    return;
  }
  if (tensor->shape().dim_size() != source.shape().dim_size()) return;
  for (int i = 0; i < source.shape().dim_size(); ++i) {
    auto* dim = tensor->mutable_shape()->mutable_dim(i);
    if (!dim->has_dim_value() && source.shape().dim(i).has_dim_value()) {
      dim->set_dim_value(source.shape().dim(i).dim_value());
    }
  }
}

}  // namespace placewright::onnx_import
