// Copying a graph op by op into another, for rewrites of whole graphs (internal to the module).
#ifndef PLACEWRIGHT_TRANSFORMS_OP_COPY_H_
#define PLACEWRIGHT_TRANSFORMS_OP_COPY_H_

#include <memory>
#include <span>
#include <string_view>

#include "graph/graph.h"
#include "graph/graph_builder.h"

namespace placewright {

// "torch.bfloat16": a type as recorded graphs write it.
std::string_view WordOf(DType dtype);

// A tensor that no op makes, with what is known of its values; `dtype`: its own, or another.
Result<TensorId> CopyInput(const Graph& graph, TensorId input, DType dtype, GraphBuilder& builder);
inline Result<TensorId> CopyInput(const Graph& graph, TensorId input, GraphBuilder& builder) {
  return CopyInput(graph, input, graph.tensor(input).dtype, builder);
}

// The op with what it says, reads, writes, views and waits for. `made` [tensor]: what the tensors of `graph`
// are in the other.
OpSpec CopyOfOp(const Graph& graph, OpId op, const IdVector<TensorId, TensorId>& made);

// What ops of `step` hold, once the copies are there: a copy of the op holds the copy of the tensor that stands nearest
// before it, the last of several that are there in its place. `tensor_of`, `op_of`: as below. `released`: storages that
// backward ops have no use for as forward ops made them.
void HoldCopies(const Graph& step, std::span<const TensorId> tensor_of, std::span<const OpId> op_of,
                const IdVector<StorageId, bool>& released, GraphBuilder& builder);

// A step that has all ops of `step`, and more: its groups are kept, its outputs and how its sizes follow the batch are
// those of `step`. By tensor and op of the new graph, in the order in which they were added: what they are, or are copies
// of; of an op none, if it has no numbers that follow the batch. `released`: as above. Errors: those of the builder.
Result<std::unique_ptr<Graph>> FinishCopy(const Graph& step, GraphBuilder builder,
                                          const IdVector<TensorId, TensorId>& made,
                                          std::span<const TensorId> tensor_of,
                                          std::span<const OpId> op_of,
                                          const IdVector<StorageId, bool>& released = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_TRANSFORMS_OP_COPY_H_
