#include "transforms/op_copy.h"

#include <algorithm>
#include <utility>

namespace placewright {
namespace {

bool IsWrittenBy(const Op& op, TensorId input) {
  return std::find(op.writes.begin(), op.writes.end(), input) != op.writes.end();
}

// Fresh, or a view of an input, or an input that was written.
std::vector<OutputSpec> OutputsOfCopy(const Graph& graph, const Op& op) {
  std::vector<OutputSpec> outputs;
  for (const TensorId id : op.outputs) {
    const Tensor& tensor = graph.tensor(id);
    OutputSpec spec{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
    spec.output_index = tensor.output_index;
    if (tensor.dtype == DType::kOpaque) spec.opaque_bytes = tensor.bytes;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (graph.tensor(op.inputs[i]).storage != tensor.storage) continue;
      spec.alias = IsWrittenBy(op, op.inputs[i]) ? AliasKind::kInPlace : AliasKind::kView;
      spec.alias_of = static_cast<int32_t>(i);
      break;
    }
    outputs.push_back(std::move(spec));
  }
  return outputs;
}

void AddUnreturnedWrites(const Op& op, OpSpec& spec) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool returned =
        std::any_of(spec.outputs.begin(), spec.outputs.end(), [&](const OutputSpec& output) {
          return output.alias == AliasKind::kInPlace && output.alias_of == static_cast<int32_t>(i);
        });
    if (IsWrittenBy(op, op.inputs[i]) && !returned) spec.writes.push_back(static_cast<int32_t>(i));
  }
}

}  // namespace

std::string_view WordOf(DType dtype) {
  switch (dtype) {
    case DType::kF64: return "torch.float64";
    case DType::kF16: return "torch.float16";
    case DType::kBF16: return "torch.bfloat16";
    case DType::kI64: return "torch.int64";
    case DType::kI32: return "torch.int32";
    case DType::kBool: return "torch.bool";
    default: return "torch.float32";
  }
}

Result<TensorId> CopyInput(const Graph& graph, TensorId input, DType dtype, GraphBuilder& builder) {
  const Tensor& tensor = graph.tensor(input);
  const Bytes opaque = dtype == DType::kOpaque ? graph.storage(tensor.storage).bytes : Bytes(0);
  PW_ASSIGN(const TensorId copy,
            builder.AddInput(tensor.name, tensor.kind, dtype, tensor.shape, opaque));
  if (tensor.below > 0) builder.SetBelow(copy, tensor.below);
  return copy;
}

OpSpec CopyOfOp(const Graph& graph, OpId id, const IdVector<TensorId, TensorId>& made) {
  const Op& op = graph.op(id);
  OpSpec spec;
  spec.name = op.name;
  spec.type = std::string(op.type);
  spec.phase = op.phase;
  spec.module = graph.module_path(op.module);
  spec.in_root = spec.module.empty();
  for (const TensorId input : op.inputs) spec.inputs.push_back(made[input]);
  spec.args = op.args;
  spec.attributes = op.attributes;
  spec.outputs = OutputsOfCopy(graph, op);
  AddUnreturnedWrites(op, spec);
  for (const OpId earlier : op.after) spec.after.push_back(graph.op(earlier).name);
  return spec;
}

namespace {

void KeepGroups(const Graph& step, GraphBuilder& builder) {
  IdVector<GroupId, OpId> last(step.group_count());
  for (const OpId op : step.ops()) {
    OpId& earlier = last[step.group(op)];
    if (earlier.valid()) builder.Colocate(step.op(earlier).name, step.op(op).name);
    earlier = op;
  }
}

BatchScaling LawsOfCopies(const BatchScaling& laws, std::span<const TensorId> tensor_of,
                          std::span<const OpId> op_of) {
  BatchScaling copied{laws.sizes, laws.reason, {}, {}, laws.smaller};
  if (!laws.reason.empty()) return copied;
  const auto add = [](auto& rows, const auto& laws_of, auto id) {
    if (id.valid()) {
      const auto items = laws_of[id];
      rows.items.insert(rows.items.end(), items.begin(), items.end());
    }
    rows.offsets.push_back(static_cast<int32_t>(rows.items.size()));
  };
  for (const TensorId id : tensor_of) add(copied.dimensions, laws.dimensions, id);
  for (const OpId op : op_of) add(copied.arguments, laws.arguments, op);
  return copied;
}

}  // namespace

void HoldCopies(const Graph& step, std::span<const TensorId> tensor_of, std::span<const OpId> op_of,
                const IdVector<StorageId, bool>& released, GraphBuilder& builder) {
  const Csr<OpId, TensorId> held = step.Held();
  if (held.items.empty()) return;
  IdVector<TensorId, TensorId> nearest(step.tensor_count());
  const GraphData& copies = builder.added();
  for (const OpId id : IdRange<OpId>(op_of.size())) {
    const OpId of = op_of[id.index()];
    const Phase phase = copies.ops[id].phase;
    for (const TensorId tensor : of.valid() ? held[of] : std::span<const TensorId>()) {
      const TensorId copy = nearest[tensor];
      if (!copy.valid()) continue;
      const StorageId storage = step.tensor(tensor).storage;
      const bool given_up = !released.empty() && released[storage] && phase == Phase::kBackward &&
                            copies.ops[copies.tensors[copy].producer].phase == Phase::kForward;
      if (!given_up) builder.Hold(copy, id);
    }
    for (const TensorId made : copies.ops[id].outputs) {
      const TensorId tensor = tensor_of[made.index()];
      if (tensor.valid()) nearest[tensor] = made;
    }
  }
}

Result<std::unique_ptr<Graph>> FinishCopy(const Graph& step, GraphBuilder builder,
                                          const IdVector<TensorId, TensorId>& made,
                                          std::span<const TensorId> tensor_of,
                                          std::span<const OpId> op_of,
                                          const IdVector<StorageId, bool>& released) {
  HoldCopies(step, tensor_of, op_of, released, builder);
  KeepGroups(step, builder);
  std::vector<TensorId> outputs;
  for (const TensorId id : step.outputs()) outputs.push_back(made[id]);
  builder.SetOutputs(std::move(outputs));
  PW_ASSIGN(Graph built, std::move(builder).Build());
  if (step.batch_scaling() != nullptr) {
    const BatchScaling laws = LawsOfCopies(*step.batch_scaling(), tensor_of, op_of);
    PW_ASSIGN(built, WithBatchScaling(std::move(built), laws));
  }
  return std::make_unique<Graph>(std::move(built));
}

}  // namespace placewright
