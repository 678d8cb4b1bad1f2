#include "step_by_hand.h"

#include <utility>

#include "base/check.h"

namespace placewright::tests {
namespace {

std::vector<Value> ArgumentsOf(size_t inputs, const std::vector<Value>& more) {
  std::vector<Value> args;
  for (size_t i = 0; i < inputs; ++i) args.emplace_back(InputRef{static_cast<int32_t>(i)});
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

}  // namespace

Value ListOf(const std::vector<int64_t>& numbers) {
  Value::List list;
  for (const int64_t number : numbers) list.emplace_back(number);
  return Value(std::move(list));
}

TensorId GraphByHand::Input(const std::string& name, TensorKind kind, Shape shape, DType dtype) {
  return builder_.AddInput(name, kind, dtype, std::move(shape)).Take();
}

TensorId GraphByHand::Add(const std::string& name, const std::string& type,
                          std::vector<TensorId> inputs, Shape shape, std::vector<Value> more,
                          AliasKind alias) {
  OpSpec op{.name = name, .type = type, .phase = phase_};
  op.args = ArgumentsOf(inputs.size(), more);
  op.inputs = std::move(inputs);
  op.outputs = {{.name = name, .shape = std::move(shape), .alias = alias}};
  if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
  return builder_.AddOp(std::move(op)).Take()[0];
}

Graph GraphByHand::Build(std::vector<TensorId> outputs) && {
  builder_.SetOutputs(std::move(outputs));
  return std::move(builder_).Build().Take();
}

StepByHand::StepByHand(const Graph& original) : original_(original) {}

TensorId StepByHand::Input(const std::string& name, size_t device, const TensorBox& box) {
  TensorId whole;
  for (const TensorId id : original_.tensors()) {
    if (original_.tensor(id).name == name) whole = id;
  }
  PW_CHECK(whole.valid());
  const Tensor& tensor = original_.tensor(whole);
  Shape shape = ShapeOf(tensor.shape, box);
  const TensorId piece =
      builder_.AddInput(name + "@" + std::to_string(device), tensor.kind, tensor.dtype, shape)
          .Take();
  shapes_[piece] = std::move(shape);
  step_.inputs.push_back({whole, piece, box});
  return piece;
}

TensorId StepByHand::Add(OpSpec spec, size_t device, OpId origin) {
  const Shape shape = spec.outputs[0].shape;
  spec.outputs[0].name = spec.name;
  const TensorId made = builder_.AddOp(std::move(spec)).Take()[0];
  shapes_[made] = shape;
  makers_[made] = OpId(step_.placement.size());
  step_.placement.push_back(DeviceId(device));
  step_.origin.push_back(origin);
  return made;
}

TensorId StepByHand::Run(const std::string& op, size_t device, std::vector<TensorId> inputs,
                         Shape shape) {
  const OpId origin = original_.FindOp(op);
  PW_CHECK(origin.valid());
  const Op& stated = original_.op(origin);
  const std::vector<Value> more(stated.args.begin() + static_cast<ptrdiff_t>(inputs.size()),
                                stated.args.end());
  return RunAs(op, std::string(stated.type), device, std::move(inputs), std::move(shape), more);
}

TensorId StepByHand::RunAs(const std::string& op, const std::string& type, size_t device,
                           std::vector<TensorId> inputs, Shape shape,
                           const std::vector<Value>& more) {
  const OpId origin = original_.FindOp(op);
  PW_CHECK(origin.valid());
  const Op& stated = original_.op(origin);
  OpSpec spec{.name = op + "@" + std::to_string(device), .type = type, .phase = stated.phase};
  spec.args = ArgumentsOf(inputs.size(), more);
  spec.inputs = std::move(inputs);
  spec.outputs = {{.shape = std::move(shape)}};
  const Tensor& output = original_.tensor(stated.outputs[0]);
  spec.outputs[0].dtype = output.dtype;
  const bool shared =
      !stated.inputs.empty() && original_.tensor(stated.inputs[0]).storage == output.storage;
  if (shared) {
    spec.outputs[0].alias = stated.writes.empty() ? AliasKind::kView : AliasKind::kInPlace;
    spec.outputs[0].alias_of = 0;
  }
  return Add(std::move(spec), device, origin);
}

TensorId StepByHand::Move(const std::string& name, const std::string& type, size_t device,
                          std::vector<TensorId> inputs, Shape shape,
                          const std::vector<int64_t>& numbers) {
  OpSpec spec{.name = name + "@" + std::to_string(device)};
  spec.type = type.find('.') == std::string::npos ? "placewright." + type + ".default" : type;
  std::vector<Value> more;
  for (const int64_t number : numbers) more.emplace_back(number);
  const bool list = type == "concat" || type == "add_n";
  if (list) {
    spec.args = {Value(Value::List(ArgumentsOf(inputs.size(), {})))};
    spec.args.insert(spec.args.end(), more.begin(), more.end());
  } else {
    spec.args = ArgumentsOf(inputs.size(), more);
  }
  spec.inputs = std::move(inputs);
  spec.outputs = {{.shape = std::move(shape)}};
  return Add(std::move(spec), device, OpId());
}

void StepByHand::Together(const std::vector<TensorId>& made) {
  std::vector<OpId> members;
  for (const TensorId id : made) members.push_back(makers_.at(id));
  PW_CHECK(builder_.AddCollective("c" + std::to_string(collectives_++), std::move(members)).ok());
}

DistributedStep StepByHand::Build(std::vector<TensorId> outputs) && {
  builder_.SetOutputs(std::move(outputs));
  step_.graph = std::move(builder_).Build().Take();
  return std::move(step_);
}

OpId OpCalled(const DistributedStep& step, const std::string& name) {
  const OpId op = step.graph.FindOp(name);
  PW_CHECK(op.valid());
  return op;
}

}  // namespace placewright::tests
