// The tensors of a program while it runs: traced ones, which LibTorch computes in the step, and
// those known while the step is recorded.
#ifndef PLACEWRIGHT_CAPTURE_ONNX_VALUE_H_
#define PLACEWRIGHT_CAPTURE_ONNX_VALUE_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "program/imported_model.h"

namespace placewright::lowering {

// A traced tensor; or a host tensor, on the CPU, with content and outside of the step: constants of
// the file, shapes, and what follows from these alone; or a list of either; or nothing.
class Value {
 public:
  Value() = default;
  Value(at::Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT: traced tensors are values
  static Value Host(at::Tensor tensor);
  static Value List(std::vector<Value> items);

  bool defined() const { return tensor_.defined() || list_ != nullptr; }
  bool is_host() const { return constant_ != nullptr; }
  const std::vector<Value>* list() const { return list_.get(); }
  // As it is: with content where is_host().
  const at::Tensor& tensor() const { return tensor_; }
  // As a tensor of the step. A host tensor of equal elements becomes `full`, any other a constant
  // that the step finds there (below OnMeta without content); each once.
  at::Tensor InStep() const;
  // The only element of a host tensor.
  std::optional<at::Scalar> Number() const;

 private:
  at::Tensor tensor_;
  // Shared by all copies, so that a constant enters the step once.
  std::shared_ptr<at::Tensor> constant_;
  std::shared_ptr<const std::vector<Value>> list_;
};

// What runs while it lives is computed at once and recorded nowhere.
class OutsideStep {
 public:
  OutsideStep();
  ~OutsideStep();
  OutsideStep(const OutsideStep&) = delete;
  OutsideStep& operator=(const OutsideStep&) = delete;

 private:
  struct Guards;
  std::unique_ptr<Guards> guards_;
};

// LibTorch's type for a type of the graph; unsigned types that it has not become the next larger
// signed one. Nothing for texts and opaque tensors.
std::optional<at::ScalarType> TorchType(DType dtype);
// For an element type of ONNX (TensorProto.DataType), as in the attribute `to` of Cast.
std::optional<at::ScalarType> TorchTypeOfOnnx(int64_t type);
// The tensor with its content; undefined where the program does not carry it. `tensor.bytes` must
// be as long as type and shape say.
at::Tensor HostTensor(const ImportedTensor& tensor);
// A constant of the step of unknown content; undefined where LibTorch has no such type.
at::Tensor UnknownConstant(const ImportedTensor& tensor);
at::Tensor HostInts(const std::vector<int64_t>& values);

}  // namespace placewright::lowering

#endif  // PLACEWRIGHT_CAPTURE_ONNX_VALUE_H_
