// Tensors of an ONNX file: element types, checked sizes, and the contents of the small integer and
// float tensors that shapes are computed from.
#ifndef PLACEWRIGHT_FORMATS_ONNX_TENSOR_VALUE_H_
#define PLACEWRIGHT_FORMATS_ONNX_TENSOR_VALUE_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace placewright::onnx_import {

// What an ONNX element type is in the graph. Types below one byte have no DType of their own: they
// become kOpaque with `bits` deciding the bytes.
struct ElementType {
  DType dtype = DType::kOpaque;
  int bits = 8;  // of one element; 0 for strings
};
// TensorProto.DataType values up to IR 11; nothing for undefined or unknown ones.
std::optional<ElementType> ElementTypeOf(int32_t onnx_type);

// Product of the dimensions, saturating at kMaxQuantity; nothing if one is negative.
std::optional<int64_t> ElementCount(const std::vector<int64_t>& dims);

// Bytes of that many elements, rounded up to whole bytes; saturates at kMaxQuantity.
int64_t StoredBytes(const ElementType& type, int64_t elements);

// No larger tensor is evaluated: shapes and index lists are far smaller.
inline constexpr int64_t kMaxFoldedElements = 1024;
// No tensor of a model has more dimensions.
inline constexpr size_t kMaxRank = 64;

// The content of a small tensor: `ints` for int32, int64 and bool, `reals` for float and double
// (a float's values are rounded to float). Row-major; the used vector has as many items as `dims`
// says.
struct SmallTensor {
  int32_t type = onnx::TensorProto::INT64;
  std::vector<int64_t> dims;
  std::vector<int64_t> ints;
  std::vector<double> reals;

  bool is_real() const {
    return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE;
  }
  size_t size() const { return is_real() ? reals.size() : ints.size(); }
};

// True for the element types that SmallTensor can hold.
bool IsFoldable(int32_t onnx_type);

// Errors: kField (a negative dimension, an unknown element type), kFileCorrupt (as many data as the
// dimensions say are not there). External data is not looked at. Never allocates by claimed sizes.
Status CheckTensor(const onnx::TensorProto& tensor, const std::string& place);

// The content of a checked tensor if it is small, of a foldable type and stored in the file;
// `external` are its bytes if it was stored outside.
std::optional<SmallTensor> ReadSmallTensor(const onnx::TensorProto& tensor,
                                           const std::string* external = nullptr);
onnx::TensorProto ToProto(const SmallTensor& tensor);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_TENSOR_VALUE_H_
