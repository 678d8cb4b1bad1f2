#include "step_editor.h"

#include <algorithm>
#include <utility>

namespace placewright::tests {
namespace {

bool Writes(const Op& op, TensorId id) {
  return std::find(op.writes.begin(), op.writes.end(), id) != op.writes.end();
}

}  // namespace

OpSpec SpecOf(const Graph& graph, const Op& op) {
  OpSpec spec{.name = op.name, .type = std::string(op.type), .phase = op.phase};
  spec.module = graph.module_path(op.module);
  spec.in_root = spec.module.empty();
  spec.inputs = op.inputs;
  spec.args = op.args;
  spec.attributes = op.attributes;
  std::vector<bool> returned(op.inputs.size(), false);
  for (const TensorId id : op.outputs) {
    const Tensor& tensor = graph.tensor(id);
    OutputSpec output{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
    output.output_index = tensor.output_index;
    for (size_t i = op.inputs.size(); i-- > 0;) {
      if (graph.tensor(op.inputs[i]).storage != tensor.storage) continue;
      output.alias = Writes(op, op.inputs[i]) ? AliasKind::kInPlace : AliasKind::kView;
      output.alias_of = static_cast<int32_t>(i);
    }
    if (output.alias == AliasKind::kInPlace) returned[static_cast<size_t>(output.alias_of)] = true;
    spec.outputs.push_back(std::move(output));
  }
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const bool unreturned = Writes(op, op.inputs[i]) && !returned[i];
    if (unreturned) spec.writes.push_back(static_cast<int32_t>(i));
  }
  return spec;
}

StepEditor::StepEditor(const DistributedStep& step)
    : inputs(step.inputs),
      step_(step),
      outputs_(step.graph.outputs().begin(), step.graph.outputs().end()) {
  for (const OpId id : step.graph.ops()) {
    const Op& op = step.graph.op(id);
    ops.push_back({SpecOf(step.graph, op), op.outputs, step.placement[id], step.origin[id]});
  }
  for (const CollectiveId id : step.graph.collectives()) {
    collectives.push_back(step.graph.collective(id).members);
  }
}

void StepEditor::Replace(TensorId from, TensorId to) {
  for (EditedOp& edited : ops) {
    std::replace(edited.spec.inputs.begin(), edited.spec.inputs.end(), from, to);
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

bool StepEditor::IsRead(TensorId id) const {
  return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end() ||
         std::any_of(ops.begin(), ops.end(), [&](const EditedOp& edited) {
           const std::vector<TensorId>& read = edited.spec.inputs;
           return !edited.removed && std::find(read.begin(), read.end(), id) != read.end();
         });
}

std::optional<DistributedStep> StepEditor::Build() const {
  const Graph& graph = step_.graph;
  GraphBuilder builder(graph.name(), std::string(graph.format()));
  builder.set_batch(graph.batch());
  IdVector<TensorId, TensorId> made(graph.tensor_count());
  IdVector<OpId, OpId> made_ops(graph.op_count());
  DistributedStep built;
  for (DistributedStep::InputPiece input : inputs) {
    const Tensor& tensor = graph.tensor(input.piece);
    auto added = builder.AddInput(tensor.name, tensor.kind, tensor.dtype, tensor.shape);
    if (!added.ok()) return std::nullopt;
    made[input.piece] = added.value();
    input.piece = added.value();
    built.inputs.push_back(input);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].removed) continue;
    OpSpec spec = ops[i].spec;
    for (TensorId& input : spec.inputs) {
      input = made[input];
      if (!input.valid()) return std::nullopt;  // made later, or no more
    }
    const auto outputs = builder.AddOp(std::move(spec));
    if (!outputs.ok()) return std::nullopt;
    for (size_t k = 0; k < outputs.value().size(); ++k)
      made[ops[i].outputs[k]] = outputs.value()[k];
    made_ops[OpId(i)] = OpId(built.placement.size());
    built.placement.push_back(ops[i].device);
    built.origin.push_back(ops[i].origin);
  }
  for (size_t i = 0; i < collectives.size(); ++i) {
    std::vector<OpId> members;
    for (const OpId member : collectives[i]) members.push_back(made_ops[member]);
    if (members.empty()) continue;
    const bool gone =
        std::any_of(members.begin(), members.end(), [](OpId member) { return !member.valid(); });
    if (gone || !builder.AddCollective("c" + std::to_string(i), std::move(members)).ok()) {
      return std::nullopt;
    }
  }
  std::vector<TensorId> outputs;
  for (const TensorId id : outputs_) {
    if (!made[id].valid()) return std::nullopt;
    outputs.push_back(made[id]);
  }
  builder.SetOutputs(std::move(outputs));
  auto result = std::move(builder).Build();
  if (!result.ok()) return std::nullopt;
  built.graph = result.Take();
  return built;
}

}  // namespace placewright::tests
