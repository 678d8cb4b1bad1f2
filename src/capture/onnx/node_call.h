// One node of a program as the function that lowers it sees it: inputs, attributes with defaults,
// and the ways to refuse.
#ifndef PLACEWRIGHT_CAPTURE_ONNX_NODE_CALL_H_
#define PLACEWRIGHT_CAPTURE_ONNX_NODE_CALL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/onnx/value.h"
#include "program/imported_model.h"

namespace placewright::lowering {

class Interpreter;

// Results of a node, by output; those behind the last are absent.
using Values = std::vector<Value>;
using Ints = std::vector<int64_t>;

struct NodeCall {
  const ImportedNode& node;
  const Values& inputs;
  int64_t version;  // of the node's operator set
  bool training;    // a training step is recorded, whatever the node's own mode
  bool on_host;     // all inputs are host tensors, and so will the results be
  Interpreter& interpreter;

  bool Has(size_t i) const { return i < inputs.size() && inputs[i].defined(); }
  bool Wants(size_t output) const {
    return output < node.outputs.size() && !node.outputs[output].empty();
  }
  // Input i to be computed with. Refuses an absent one.
  at::Tensor In(size_t i) const;
  // Undefined where it is absent.
  at::Tensor InOrNone(size_t i) const { return Has(i) ? In(i) : at::Tensor(); }
  // Its content, which must be known while the step is recorded (kDataDependent).
  at::Tensor Known(size_t i) const;
  Ints KnownInts(size_t i) const;
  // The one number that it holds, if that is known.
  std::optional<at::Scalar> Number(size_t i) const {
    return Has(i) ? inputs[i].Number() : std::nullopt;
  }
  int64_t KnownInt(size_t i) const;
  double KnownReal(size_t i) const;
  // The input to be computed with in broadcasting operators: one known number where its rank is no
  // larger than that of `beside`, so that no tensor of the step is needed for it.
  at::Tensor Operand(size_t i, const at::Tensor& beside) const;
  const std::vector<Value>& ListIn(size_t i) const;

  int64_t Int(const char* name, int64_t otherwise) const;
  double Real(const char* name, double otherwise) const;
  std::string Text(const char* name, std::string_view otherwise) const;
  std::optional<Ints> IntList(const char* name) const;
  std::optional<std::vector<double>> RealList(const char* name) const;
  std::vector<std::string> TextList(const char* name) const;
  const ImportedGraph& Graph(const char* name) const;
  // The attribute, or since operator set `since` the input i, which may be absent.
  std::optional<Ints> IntsOf(const char* name, size_t i, int64_t since) const;

  // Whether input i is an index that counts from the front, as far as that is known.
  bool CountsFromFront(size_t i) const;
  // Indices into a dimension of that size, those from behind as ones from the front.
  at::Tensor FromFront(const at::Tensor& indices, int64_t size) const;

  // An axis counted from the front. Refuses one outside [-rank, rank).
  int64_t Axis(int64_t axis, int64_t rank) const;
  Ints Axes(const Ints& axes, int64_t rank) const;

  // kOnnxOperator: what of the operator is not supported, for example "mode \"cubic\"".
  [[noreturn]] void Unsupported(const std::string& what) const;
  // kField: a node that contradicts its operator.
  [[noreturn]] void Invalid(const std::string& what) const;
  // Refuses sizes that no tensor can have; on the host, those that are too large to be computed
  // ahead (the node is then traced).
  void CheckSizes(const Ints& sizes) const;
};

// Thrown by CheckSizes on the host.
struct TooLargeForHost {};

}  // namespace placewright::lowering

#endif  // PLACEWRIGHT_CAPTURE_ONNX_NODE_CALL_H_
