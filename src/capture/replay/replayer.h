// Runs a recorded step again, op by op, through LibTorch's boxed dispatcher below autograd: the
// proof that a recorded graph holds the step. Everything is kept to the end; the executor of plans
// is another.
#ifndef PLACEWRIGHT_CAPTURE_REPLAY_REPLAYER_H_
#define PLACEWRIGHT_CAPTURE_REPLAY_REPLAYER_H_

#include <ATen/core/Tensor.h>

#include <span>
#include <utility>
#include <vector>

#include "aten/boxed_call.h"
#include "base/result.h"
#include "graph/graph.h"

namespace placewright {

class Replayer {
 public:
  // Looks up the operators of all ops; `graph` must outlive it. Errors: kUnknownName (no such
  // operator in this LibTorch), kField (arguments that do not fit its schema).
  static Result<Replayer> Create(const Graph& graph);

  // Runs the ops in `order`, a topological order over data and order edges and over the chain of
  // the ops that draw random numbers. `inputs`: a tensor for every input of the graph; the ops
  // write in them. Returns all tensors. Errors: kNotRecordable (LibTorch refuses an op).
  Result<IdVector<TensorId, at::Tensor>> Run(
      std::span<const std::pair<TensorId, at::Tensor>> inputs, std::span<const OpId> order) const;

 private:
  explicit Replayer(const Graph& graph) : graph_(&graph) {}
  void RunOp(OpId id, IdVector<TensorId, at::Tensor>& tensors) const;

  const Graph* graph_;
  IdVector<OpId, BoxedCall> calls_;
  IdVector<OpId, std::vector<int32_t>> inputs_;  // numbers of tensors
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CAPTURE_REPLAY_REPLAYER_H_
