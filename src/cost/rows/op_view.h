// One op as the work rules see it: its tensors, arguments and attributes, whichever format it came
// from. Everything here tolerates malformed ops: an absent tensor is nullptr, never a crash.
#ifndef PLACEWRIGHT_COST_ROWS_OP_VIEW_H_
#define PLACEWRIGHT_COST_ROWS_OP_VIEW_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace placewright {

class OpView {
 public:
  OpView(const Graph& graph, OpId op) : OpView(graph, graph.op(op)) {}
  // `op` must outlive it; its tensors are the graph's.
  OpView(const Graph& graph, const Op& op) : graph_(graph), op_(op) {}

  const Op& op() const { return op_; }
  size_t input_count() const { return op_.inputs.size(); }
  size_t output_count() const { return op_.outputs.size(); }
  const Tensor* input(size_t i) const;
  const Tensor* output(size_t i) const;

  // Positional argument i, or nullptr.
  const Value* Arg(size_t i) const;
  // The tensor at argument position i ("%k"); without recorded arguments, input i.
  const Tensor* TensorArg(size_t i) const;
  const Value* Attribute(std::string_view name) const;
  // The integers of a list, or of a lone integer; nullopt for anything else.
  static std::optional<std::vector<int64_t>> Integers(const Value* value);
  static int64_t IntegerOr(const Value* value, int64_t otherwise);
  static bool BoolOr(const Value* value, bool otherwise);  // an integer: whether it is not 0

  // Bytes of all distinct input units; an expanded (stride 0) tensor counts what it touches.
  // `first` skips the inputs before it.
  int64_t InputBytes(size_t first = 0) const;
  // Bytes of all outputs, and of inputs that are written without being returned.
  int64_t OutputBytes() const;

 private:
  const Graph& graph_;
  const Op& op_;
};

// Elements of a shape, saturating.
int64_t Elements(const std::vector<int64_t>& shape, size_t first_dim = 0);
inline int64_t Elements(const Tensor& tensor) { return Elements(tensor.shape); }
// Bytes that reading the tensor touches: less than `bytes` where a stride is 0.
int64_t TouchedBytes(const Tensor& tensor);
int64_t BytesOrZero(const Tensor* tensor);

}  // namespace placewright

#endif  // PLACEWRIGHT_COST_ROWS_OP_VIEW_H_
