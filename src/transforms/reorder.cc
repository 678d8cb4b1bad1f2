#include "transforms/reorder.h"

#include <string>
#include <utility>
#include <vector>

#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "transforms/op_copy.h"

namespace placewright {
namespace {

template <class Row, class Item, class Old>
Csr<Row, Item> Reordered(const Csr<Row, Item>& rows, const std::vector<Old>& old_of) {
  Csr<Row, Item> reordered;
  for (const Old old : old_of) {
    const auto items = rows[old];
    reordered.items.insert(reordered.items.end(), items.begin(), items.end());
    reordered.offsets.push_back(static_cast<int32_t>(reordered.items.size()));
  }
  return reordered;
}

}  // namespace

Result<Graph> WithOrder(const Graph& graph, std::span<const OpId> order) {
  GraphBuilder builder(graph.name(), std::string(graph.format()));
  builder.set_batch(graph.batch());
  IdVector<TensorId, TensorId> made(graph.tensor_count());
  std::vector<TensorId> tensors;  // by the new id
  for (const TensorId id : graph.tensors()) {
    if (graph.tensor(id).producer.valid()) continue;
    PW_ASSIGN(made[id], CopyInput(graph, id, builder));
    tensors.push_back(id);
  }
  IdVector<GroupId, OpId> last(graph.group_count());
  for (const OpId id : order) {
    PW_ASSIGN(const std::vector<TensorId> outputs, builder.AddOp(CopyOfOp(graph, id, made)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      made[graph.op(id).outputs[i]] = outputs[i];
      tensors.push_back(graph.op(id).outputs[i]);
    }
    OpId& earlier = last[graph.group(id)];
    if (earlier.valid()) builder.Colocate(graph.op(earlier).name, graph.op(id).name);
    earlier = id;
  }
  HoldCopies(graph, tensors, order, {}, builder);
  std::vector<TensorId> outputs;
  for (const TensorId id : graph.outputs()) outputs.push_back(made[id]);
  builder.SetOutputs(std::move(outputs));
  PW_ASSIGN(Graph built, std::move(builder).Build());
  const BatchScaling* const laws = graph.batch_scaling();
  if (laws == nullptr) return built;
  BatchScaling kept{laws->sizes, laws->reason, {}, {}, laws->smaller};
  if (laws->reason.empty()) {
    kept.dimensions = Reordered(laws->dimensions, tensors);
    kept.arguments = Reordered(laws->arguments, std::vector<OpId>(order.begin(), order.end()));
  }
  return WithBatchScaling(std::move(built), std::move(kept));
}

}  // namespace placewright
