#include "formats/onnx/tensor_bytes.h"

#include <cstdint>
#include <cstring>

#include "formats/onnx/tensor_value.h"

namespace placewright::onnx_import {
namespace {

using onnx::TensorProto;

// Items of a typed field as elements of type T; the machine is little endian, as files are.
template <class T, class Field>
std::string Pack(const Field& field) {
  std::string bytes(static_cast<size_t>(field.size()) * sizeof(T), '\0');
  char* to = bytes.data();
  for (const auto& item : field) {
    const T element = static_cast<T>(item);
    std::memcpy(to, &element, sizeof(T));
    to += sizeof(T);
  }
  return bytes;
}

}  // namespace

std::optional<std::string> TensorBytes(const TensorProto& tensor) {
  const auto element = ElementTypeOf(tensor.data_type());
  if (!element || element->bits < 8 || tensor.data_location() == TensorProto::EXTERNAL) {
    return std::nullopt;
  }
  if (tensor.has_raw_data()) return tensor.raw_data();
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
    case TensorProto::COMPLEX64: return Pack<float>(tensor.float_data());
    case TensorProto::DOUBLE:
    case TensorProto::COMPLEX128: return Pack<double>(tensor.double_data());
    case TensorProto::INT64: return Pack<int64_t>(tensor.int64_data());
    case TensorProto::UINT64: return Pack<uint64_t>(tensor.uint64_data());
    case TensorProto::UINT32: return Pack<uint32_t>(tensor.uint64_data());
    case TensorProto::INT32: return Pack<int32_t>(tensor.int32_data());
    case TensorProto::INT16:
    case TensorProto::UINT16:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16: return Pack<uint16_t>(tensor.int32_data());
    default: return Pack<uint8_t>(tensor.int32_data());
  }
}

}  // namespace placewright::onnx_import
