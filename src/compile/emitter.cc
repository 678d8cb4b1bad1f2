#include "compile/emitter.h"

#include <fmt/format.h>

namespace placewright {

Emitter::Emitter(const Graph& original, const Cluster& cluster)
    : original_(original),
      cluster_(cluster),
      builder_(original.name(), std::string(original.format())) {
  builder_.set_batch(original.batch());
}

std::string Emitter::NameLike(const Tensor& model, std::string_view word, DeviceId device) {
  // "grad@gpu1" becomes "grad.all_reduce@gpu1". Instances of the original's ops have no such names, unless
  // an op of the original is called so.
  std::string base = fmt::format("{}.{}", model.name.substr(0, model.name.find('@')), word);
  if (original_.FindOp(base).valid() || original_.FindTensor(base).valid()) base += "'";
  return FreshName(fmt::format("{}@{}", base, device_name(device)));
}

std::string Emitter::FreshName(std::string name) {
  const std::string base = name;
  for (int count = names_[name]++; count > 0; count = names_[name]++) {
    name = fmt::format("{}#{}", base, names_[base] - 1);
  }
  return name;
}

void Emitter::TakeModule(const Tensor& model, OpSpec& spec) const {
  if (model.producer.valid()) {
    spec.phase = builder_.added().ops[model.producer].phase;
    spec.module = builder_.stated_module(model.producer).value_or("");
  }
  spec.in_root = spec.module.empty();
}

Result<std::vector<TensorId>> Emitter::Add(OpSpec spec, DeviceId device, OpId origin) {
  auto outputs = builder_.AddOp(std::move(spec));
  if (!outputs.ok()) return outputs.error();
  placement_.push_back(device);
  origin_.push_back(origin);
  return outputs;
}

Result<TensorId> Emitter::AddLike(std::string type, std::vector<TensorId> inputs,
                                  std::vector<Value> args, std::vector<int64_t> shape,
                                  TensorId like, DeviceId device) {
  const Tensor& model = tensor(like);
  OpSpec spec;
  const size_t dot = type.find('.');
  spec.name = NameLike(model, type.substr(dot + 1, type.rfind('.') - dot - 1), device);
  spec.type = std::move(type);
  const DType dtype = model.dtype;
  TakeModule(model, spec);
  spec.inputs = std::move(inputs);
  spec.args = std::move(args);
  spec.outputs = {{.name = spec.name, .dtype = dtype, .shape = std::move(shape)}};
  PW_ASSIGN(const std::vector<TensorId> outputs, Add(std::move(spec), device, OpId()));
  return outputs.front();
}

Result<OpId> Emitter::AddReader(std::string type, std::vector<TensorId> inputs,
                                std::vector<Value> args, DeviceId device) {
  const Tensor& model = tensor(inputs.front());
  OpSpec spec;
  const size_t dot = type.find('.');
  spec.name = NameLike(model, type.substr(dot + 1, type.rfind('.') - dot - 1), device);
  spec.type = std::move(type);
  TakeModule(model, spec);
  spec.inputs = std::move(inputs);
  spec.args = std::move(args);
  PW_RETURN_IF_ERROR(Add(std::move(spec), device, OpId()));
  return OpId(placement_.size() - 1);
}

Result<TensorId> Emitter::AddViewOf(TensorId view, TensorId base, DeviceId device) {
  const Tensor& model = tensor(view);
  const Op& op = builder_.added().ops[model.producer];
  const OpId origin = origin_[model.producer];
  OpSpec spec;
  spec.name = FreshName(fmt::format("{}@{}", op.name, device_name(device)));
  spec.type = std::string(op.type);
  TakeModule(model, spec);
  spec.inputs = {base};
  spec.args = op.args;
  spec.attributes = op.attributes;
  OutputSpec output{.name = spec.name, .dtype = model.dtype, .shape = model.shape};
  if (model.name != op.name) output.name = fmt::format("{}:{}", spec.name, model.output_index);
  output.alias = AliasKind::kView;
  output.alias_of = 0;
  output.output_index = model.output_index;
  spec.outputs = {output};
  PW_ASSIGN(const std::vector<TensorId> outputs, Add(std::move(spec), device, origin));
  return outputs.front();
}

Result<TensorId> Emitter::Overwrite(TensorId written, TensorId value, DeviceId device) {
  const Tensor& model = tensor(written);
  OpSpec spec;
  spec.name = NameLike(model, "overwrite", device);
  spec.type = value.valid() ? "aten.copy_.default" : "aten.zero_.default";
  TakeModule(model, spec);
  spec.inputs = {written};
  if (value.valid()) spec.inputs.push_back(value);
  spec.args = References(spec.inputs.size());
  OutputSpec output{.name = spec.name, .dtype = model.dtype, .shape = model.shape};
  output.alias = AliasKind::kInPlace;
  output.alias_of = 0;
  spec.outputs = {output};
  PW_ASSIGN(const std::vector<TensorId> outputs, Add(std::move(spec), device, OpId()));
  return outputs.front();
}

Result<TensorId> Emitter::AddInput(std::string name, TensorId original, const AxisPlace& place,
                                   Interval interval) {
  const Tensor& like = original_.tensor(original);
  std::vector<int64_t> shape = like.shape;
  if (place.dimension >= 0) {
    shape[static_cast<size_t>(place.dimension)] = place.outer * interval.length() * place.inner;
  }
  // Two axes of one dimension may have parts of the same bounds.
  if (place.dimension >= 0) name = FreshName(std::move(name));
  PW_ASSIGN(const TensorId id,
            builder_.AddInput(std::move(name), like.kind, like.dtype, std::move(shape)));
  if (like.below > 0) builder_.SetBelow(id, like.below);
  inputs_.push_back({original, id, place, interval});
  return id;
}

Status Emitter::Join(const std::vector<TensorId>& made) {
  std::vector<OpId> members;
  for (const TensorId id : made) members.push_back(tensor(id).producer);
  return Join(std::move(members));
}

Status Emitter::Join(std::vector<OpId> members) {
  const std::string name = builder_.added().ops[members.front()].name;
  return builder_.AddCollective(name, std::move(members));
}

Result<DistributedStep> Emitter::Finish(std::vector<TensorId> outputs) && {
  builder_.SetOutputs(std::move(outputs));
  auto graph = std::move(builder_).Build();
  if (!graph.ok()) return graph.error();
  return DistributedStep{graph.Take(), std::move(placement_), std::move(origin_),
                         std::move(inputs_)};
}

std::vector<Value> References(size_t count) {
  std::vector<Value> args;
  for (size_t i = 0; i < count; ++i) args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
  return args;
}

Value IntegerList(const std::vector<int64_t>& numbers) {
  Value::List list;
  for (const int64_t number : numbers) list.push_back(Value(number));
  return Value(list);
}

}  // namespace placewright
