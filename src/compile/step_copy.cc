#include "compile/step_copy.h"

#include "compile/op_copy.h"

namespace placewright {

StepCopy::StepCopy(DistributedStep step)
    : step_(std::move(step)),
      builder_(step_.graph.name(), std::string(step_.graph.format())),
      made_(step_.graph.tensor_count()),
      copy_(step_.graph.op_count()),
      names_(step_.graph.op_count()) {
  builder_.set_batch(graph().batch());
}

Status StepCopy::CopyInputs() {
  for (const TensorId id : graph().tensors()) {
    if (graph().tensor(id).producer.valid()) continue;
    PW_ASSIGN(made_[id], CopyInput(graph(), id, builder_));
  }
  for (DistributedStep::InputPiece& piece : step_.inputs) piece.piece = made_[piece.piece];
  return Ok();
}

OpSpec StepCopy::SpecOf(OpId op) const {
  OpSpec spec = CopyOfOp(graph(), op, made_);
  spec.after.clear();
  for (const OpId earlier : graph().op(op).after) {
    spec.after.insert(spec.after.end(), names_[earlier].begin(), names_[earlier].end());
  }
  return spec;
}

Status StepCopy::CopyOp(OpId op) {
  PW_ASSIGN(const std::vector<TensorId> outputs, Add(SpecOf(op), op, step_.origin[op], op));
  copy_[op] = last();
  if (!step_.in_kernel.empty()) in_kernel_.back() = step_.in_kernel[op.index()];
  for (size_t i = 0; i < outputs.size(); ++i) made_[graph().op(op).outputs[i]] = outputs[i];
  return Ok();
}

Result<std::vector<TensorId>> StepCopy::Add(OpSpec spec, OpId like, OpId origin, OpId replaced) {
  if (replaced.valid()) names_[replaced].push_back(spec.name);
  PW_ASSIGN(std::vector<TensorId> outputs, builder_.AddOp(std::move(spec)));
  placement_.push_back(step_.placement[like]);
  origin_.push_back(origin);
  in_kernel_.push_back(false);
  return outputs;
}

Status StepCopy::CopyCollectives() {
  for (const CollectiveId id : graph().collectives()) {
    const Collective& collective = graph().collective(id);
    if (!copy_[collective.members.front()].valid()) continue;
    std::vector<OpId> members;
    for (const OpId member : collective.members) members.push_back(copy_[member]);
    PW_RETURN_IF_ERROR(builder_.AddCollective(collective.name, std::move(members)));
  }
  return Ok();
}

Result<DistributedStep> StepCopy::Finish() && {
  PW_RETURN_IF_ERROR(CopyCollectives());
  std::vector<TensorId> outputs;
  for (const TensorId id : graph().outputs()) outputs.push_back(made_[id]);
  builder_.SetOutputs(std::move(outputs));
  PW_ASSIGN(Graph built, std::move(builder_).Build());
  return DistributedStep{std::move(built), std::move(placement_), std::move(origin_),
                         std::move(step_.inputs), std::move(in_kernel_)};
}

}  // namespace placewright
