// What is known about the tensors of one ONNX graph while shapes are worked out.
#ifndef PLACEWRIGHT_FORMATS_ONNX_SHAPES_TYPES_H_
#define PLACEWRIGHT_FORMATS_ONNX_SHAPES_TYPES_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/onnx/tensor_value.h"

namespace placewright::onnx_import {

struct KnownTensor {
  onnx::TypeProto type;              // possibly partial: no shape, or dimensions without a value
  std::optional<SmallTensor> value;  // for shape computations
  bool constant = false;             // the same in every run: initializer, parameter, Constant
  bool assumed = false;              // its shape, or a shape it follows from, is an assumption
  bool assumption = false;           // its own shape is
  std::string failure;               // why inference found no shape, if it tried
};

// The tensors of a graph by name; names of an enclosing graph are seen from its sub-graphs. Names
// are views into the model, which must outlive the table.
class TypeTable {
 public:
  explicit TypeTable(const TypeTable* outer = nullptr) : outer_(outer) {}
  const KnownTensor* Find(std::string_view name) const;
  void Set(std::string_view name, KnownTensor tensor);
  // 0 for the model's graph, 1 for a sub-graph of its nodes, ...
  int depth() const { return outer_ == nullptr ? 0 : outer_->depth() + 1; }

 private:
  const TypeTable* outer_;
  std::unordered_map<std::string_view, KnownTensor> tensors_;
};

// The static shape of a dense or sparse tensor type; nothing if any dimension has no value.
std::optional<std::vector<int64_t>> StaticShape(const onnx::TypeProto& type);
// True if shape and element type of a tensor, or the element type of a sequence, optional or map
// are known: enough to give it a size.
bool IsComplete(const onnx::TypeProto& type);
onnx::TypeProto TensorType(int32_t element_type, const std::vector<int64_t>& shape);
// "f32 [batch, 3, 224, ?]" for messages.
std::string Describe(const onnx::TypeProto& type);
// Takes over what `known` knows and `type` does not (dimensions only where ranks agree).
void FillGaps(const onnx::TypeProto& known, onnx::TypeProto* type);

}  // namespace placewright::onnx_import

#endif  // PLACEWRIGHT_FORMATS_ONNX_SHAPES_TYPES_H_
