#include "formats/onnx/tensor_value.h"

#include <fmt/format.h>

#include <cstring>

namespace placewright::onnx_import {
namespace {

using onnx::TensorProto;

// Newer element types than the installed schema knows: TensorProto.DataType of IR 9 to 11.
constexpr int32_t kFloat8First = 17, kFloat8Last = 20;
constexpr int32_t kUint4 = 21, kInt4 = 22, kFloat4 = 23, kFloat8Scale = 24;
constexpr int32_t kUint2 = 25, kInt2 = 26;

// Items that the typed data field of a tensor must hold for `elements` elements.
int64_t TypedItemsWanted(int32_t type, const ElementType& element, int64_t elements) {
  if (type == TensorProto::COMPLEX64 || type == TensorProto::COMPLEX128) {
    return SaturatingMultiply(2, elements);
  }
  // Sub-byte elements are packed, one byte to an int32.
  return element.bits > 0 && element.bits < 8 ? StoredBytes(element, elements) : elements;
}

int64_t TypedItemsStored(const TensorProto& tensor) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
    case TensorProto::COMPLEX64: return tensor.float_data_size();
    case TensorProto::DOUBLE:
    case TensorProto::COMPLEX128: return tensor.double_data_size();
    case TensorProto::INT64: return tensor.int64_data_size();
    case TensorProto::UINT32:
    case TensorProto::UINT64: return tensor.uint64_data_size();
    case TensorProto::STRING: return tensor.string_data_size();
    default: return tensor.int32_data_size();
  }
}

template <class T>
std::vector<T> RawItems(const std::string& bytes, int64_t count) {
  std::vector<T> items(static_cast<size_t>(count));
  if (bytes.size() < items.size() * sizeof(T)) return {};
  if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size() * sizeof(T));
  return items;
}

template <class T, class Field>
std::vector<T> Items(const std::string* raw, const Field& field, int64_t count) {
  if (raw != nullptr) return RawItems<T>(*raw, count);
  return std::vector<T>(field.begin(), field.end());
}

template <class T, class U>
void Assign(const std::vector<T>& from, std::vector<U>* to) {
  to->assign(from.begin(), from.end());
}

}  // namespace

std::optional<ElementType> ElementTypeOf(int32_t onnx_type) {
  switch (onnx_type) {
    case TensorProto::FLOAT: return ElementType{DType::kF32, 32};
    case TensorProto::UINT8: return ElementType{DType::kU8, 8};
    case TensorProto::INT8: return ElementType{DType::kI8, 8};
    case TensorProto::UINT16: return ElementType{DType::kU16, 16};
    case TensorProto::INT16: return ElementType{DType::kI16, 16};
    case TensorProto::INT32: return ElementType{DType::kI32, 32};
    case TensorProto::INT64: return ElementType{DType::kI64, 64};
    case TensorProto::STRING: return ElementType{DType::kString, 0};
    case TensorProto::BOOL: return ElementType{DType::kBool, 8};
    case TensorProto::FLOAT16: return ElementType{DType::kF16, 16};
    case TensorProto::DOUBLE: return ElementType{DType::kF64, 64};
    case TensorProto::UINT32: return ElementType{DType::kU32, 32};
    case TensorProto::UINT64: return ElementType{DType::kU64, 64};
    case TensorProto::COMPLEX64: return ElementType{DType::kC64, 64};
    case TensorProto::COMPLEX128: return ElementType{DType::kC128, 128};
    case TensorProto::BFLOAT16: return ElementType{DType::kBF16, 16};
    case kUint4:
    case kInt4:
    case kFloat4: return ElementType{DType::kOpaque, 4};
    case kUint2:
    case kInt2: return ElementType{DType::kOpaque, 2};
    case kFloat8Scale: return ElementType{DType::kU8, 8};
    default: break;
  }
  if (onnx_type >= kFloat8First && onnx_type <= kFloat8Last) return ElementType{DType::kU8, 8};
  return std::nullopt;
}

std::optional<int64_t> ElementCount(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    count = SaturatingMultiply(count, dim);
  }
  return count;
}

int64_t StoredBytes(const ElementType& type, int64_t elements) {
  if (type.bits >= 8) return SaturatingMultiply(elements, type.bits / 8);
  return (elements / 8) * type.bits + ((elements % 8) * type.bits + 7) / 8;
}

bool IsFoldable(int32_t onnx_type) {
  return onnx_type == TensorProto::INT64 || onnx_type == TensorProto::INT32 ||
         onnx_type == TensorProto::BOOL || onnx_type == TensorProto::FLOAT ||
         onnx_type == TensorProto::DOUBLE;
}

Status CheckTensor(const TensorProto& tensor, const std::string& place) {
  const auto element = ElementTypeOf(tensor.data_type());
  if (!element) {
    return MakeError(ErrorCode::kField, fmt::format("unknown element type {}", tensor.data_type()),
                     place, "Export the model with element types of IR 11 or older.");
  }
  const auto count = ElementCount({tensor.dims().begin(), tensor.dims().end()});
  if (!count) {
    return MakeError(ErrorCode::kField, "a dimension of the tensor is negative", place);
  }
  const int64_t bytes = StoredBytes(*element, *count);
  if (bytes >= kMaxQuantity) {
    return MakeError(ErrorCode::kFileCorrupt, "the tensor's dimensions claim 2^60 bytes or more",
                     place);
  }
  if (tensor.data_location() == TensorProto::EXTERNAL) return Ok();
  const bool raw = tensor.has_raw_data();
  const int64_t wanted = raw ? bytes : TypedItemsWanted(tensor.data_type(), *element, *count);
  const int64_t stored =
      raw ? static_cast<int64_t>(tensor.raw_data().size()) : TypedItemsStored(tensor);
  if (wanted != stored) {
    return MakeError(ErrorCode::kFileCorrupt,
                     fmt::format("the tensor's dimensions ask for {} {}, the file holds {}", wanted,
                                 raw ? "bytes" : "items", stored),
                     place);
  }
  return Ok();
}

std::optional<SmallTensor> ReadSmallTensor(const TensorProto& tensor, const std::string* external) {
  SmallTensor out;
  out.type = tensor.data_type();
  out.dims.assign(tensor.dims().begin(), tensor.dims().end());
  const auto count = ElementCount(out.dims);
  if (!IsFoldable(out.type) || !count || *count > kMaxFoldedElements) return std::nullopt;
  const std::string* raw = external;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (external == nullptr) return std::nullopt;
  } else {
    raw = tensor.has_raw_data() ? &tensor.raw_data() : nullptr;
  }
  switch (out.type) {
    case TensorProto::INT64: out.ints = Items<int64_t>(raw, tensor.int64_data(), *count); break;
    case TensorProto::INT32:
      Assign(Items<int32_t>(raw, tensor.int32_data(), *count), &out.ints);
      break;
    case TensorProto::BOOL:
      Assign(Items<uint8_t>(raw, tensor.int32_data(), *count), &out.ints);
      break;
    case TensorProto::FLOAT:
      Assign(Items<float>(raw, tensor.float_data(), *count), &out.reals);
      break;
    default: out.reals = Items<double>(raw, tensor.double_data(), *count); break;
  }
  if (static_cast<int64_t>(out.size()) != *count) return std::nullopt;
  return out;
}

TensorProto ToProto(const SmallTensor& tensor) {
  TensorProto proto;
  proto.set_data_type(tensor.type);
  for (const int64_t dim : tensor.dims) proto.add_dims(dim);
  switch (tensor.type) {
    case TensorProto::INT64:
      proto.mutable_int64_data()->Add(tensor.ints.begin(), tensor.ints.end());
      break;
    case TensorProto::FLOAT:
      proto.mutable_float_data()->Add(tensor.reals.begin(), tensor.reals.end());
      break;
    case TensorProto::DOUBLE:
      proto.mutable_double_data()->Add(tensor.reals.begin(), tensor.reals.end());
      break;
    default: proto.mutable_int32_data()->Add(tensor.ints.begin(), tensor.ints.end()); break;
  }
  return proto;
}

}  // namespace placewright::onnx_import
