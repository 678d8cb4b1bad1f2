// The content of a stored tensor as plain bytes.
#ifndef PLACEWRIGHT_FORMATS_ONNX_TENSOR_BYTES_H_
#define PLACEWRIGHT_FORMATS_ONNX_TENSOR_BYTES_H_

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

namespace placewright::onnx_import {

// Elements of a checked tensor (CheckTensor) in row-major order, little endian, one byte for a
// boolean. Nothing for external data, for strings and for elements of less than a byte.
std::optional<std::string> TensorBytes(const onnx::TensorProto& tensor);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_TENSOR_BYTES_H_
