#include "compile/wide_floats.h"

#include <string>
#include <utility>
#include <vector>

#include "transforms/op_copy.h"

namespace placewright {
namespace {

DType Widened(DType dtype) { return dtype == DType::kF32 ? DType::kF64 : dtype; }

void Widen(Value& value) {
  if (Value::List* const list = value.AsList()) {
    for (Value& item : *list) Widen(item);
  } else if (value == Value(std::string("torch.float32"))) {
    value = Value(std::string("torch.float64"));
  }
}

}  // namespace

Result<Graph> WithWideFloats(const Graph& graph) {
  GraphBuilder builder(graph.name(), std::string(graph.format()));
  builder.set_batch(graph.batch());
  IdVector<TensorId, TensorId> made(graph.tensor_count());
  for (const TensorId id : graph.tensors()) {
    if (graph.tensor(id).producer.valid()) continue;
    PW_ASSIGN(made[id], CopyInput(graph, id, Widened(graph.tensor(id).dtype), builder));
  }
  for (const OpId id : graph.ops()) {
    OpSpec spec = CopyOfOp(graph, id, made);
    spec.device = DeviceId(graph.group(id).index());  // groups of a compiled step stay as they are
    for (OutputSpec& output : spec.outputs) output.dtype = Widened(output.dtype);
    for (Value& value : spec.args) Widen(value);
    for (NamedValue& named : spec.attributes) Widen(named.value);
    PW_ASSIGN(const std::vector<TensorId> outputs, builder.AddOp(std::move(spec)));
    for (size_t i = 0; i < outputs.size(); ++i) made[graph.op(id).outputs[i]] = outputs[i];
  }
  for (const CollectiveId id : graph.collectives()) {
    const Collective& collective = graph.collective(id);
    PW_RETURN_IF_ERROR(builder.AddCollective(collective.name, collective.members));
  }
  std::vector<TensorId> outputs;
  for (const TensorId id : graph.outputs()) outputs.push_back(made[id]);
  builder.SetOutputs(std::move(outputs));
  return std::move(builder).Build();
}

}  // namespace placewright
