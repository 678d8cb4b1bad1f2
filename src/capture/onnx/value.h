// The tensors of a program while it runs: traced ones, which LibTorch computes in the step, and
// those known while the step is recorded.
#ifndef PLACEWRIGHT_CAPTURE_ONNX_VALUE_H_
#define PLACEWRIGHT_CAPTURE_ONNX_VALUE_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program/imported_model.h"

namespace placewright::lowering {

// A traced tensor; or a host tensor, on the CPU, with content and outside of the step: constants of
// the file, shapes, and what follows from these alone; or a list of either; or nothing.
class Value {
 public:
  class Source;

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

  // Of a traced tensor: how to know what it holds, if that follows from inputs of given content and from
  // host tensors alone; else nullptr.
  const std::shared_ptr<Source>& source() const { return source_; }
  void SetSource(std::shared_ptr<Source> source) { source_ = std::move(source); }

 private:
  at::Tensor tensor_;
  // Shared by all copies, so that a constant enters the step once.
  std::shared_ptr<at::Tensor> constant_;
  std::shared_ptr<const std::vector<Value>> list_;
  std::shared_ptr<Source> source_;
};

// An output of a node over sources and host tensors, or an input whose content was given. Computed when
// somebody asks (Interpreter::ContentOf). Holds no traced tensor: whether a tensor is still in use
// decides what autograd records.
class Value::Source {
 public:
  static constexpr int kMaxDepth = 500;  // nodes one behind the other

  std::string input;  // name of the given input; "" for a node's output
  const ImportedNode* node = nullptr;
  size_t output = 0;
  std::vector<Value> inputs;  // host tensors, and values that have nothing but a source
  int depth = 0;
  at::Tensor content;  // once it is known
};

// What tensors of the step hold that have no content there (below OnMeta).
class Contents {
 public:
  void Add(const at::Tensor& in_step, const at::Tensor& content);
  // Undefined for a tensor that was not added.
  at::Tensor Of(const at::Tensor& in_step) const;

 private:
  // By storage: a recorder holds tensors that share it.
  std::unordered_map<const c10::StorageImpl*, std::pair<at::Tensor, at::Tensor>> kept_;
};

// While it lives, constants that enter the step of this thread are added to `contents`, if that is not
// nullptr.
class KeepConstants {
 public:
  explicit KeepConstants(Contents* contents);
  ~KeepConstants();
  KeepConstants(const KeepConstants&) = delete;
  KeepConstants& operator=(const KeepConstants&) = delete;

 private:
  Contents* outer_;
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
// A constant of the program: a host tensor, if it is small enough to be computed with ahead, else one of
// the step, which has its content only below KeepConstants. Undefined where LibTorch has no such type.
Value ConstantOf(const ImportedTensor& tensor);
at::Tensor HostInts(const std::vector<int64_t>& values);

}  // namespace placewright::lowering

#endif  // PLACEWRIGHT_CAPTURE_ONNX_VALUE_H_
