#include "compile/graph_emitter.h"

#include <fmt/format.h>

namespace placewright {

GraphEmitter::GraphEmitter(const Graph& original, const Cluster& cluster)
    : original_(original),
      cluster_(cluster),
      builder_(original.name(), std::string(original.format())) {
  builder_.set_batch(original.batch());
}

std::string GraphEmitter::NameLike(const Tensor& model, std::string_view type, DeviceId device) {
  const size_t dot = type.find('.');
  const std::string_view word = type.substr(dot + 1, type.rfind('.') - dot - 1);
  // "grad@gpu1" becomes "grad.all_reduce@gpu1". Instances of the original's ops have no such names, unless
  // an op of the original is called so.
  std::string base = fmt::format("{}.{}", model.name.substr(0, model.name.find('@')), word);
  if (original_.FindOp(base).valid() || original_.FindTensor(base).valid()) base += "'";
  return FreshName(fmt::format("{}@{}", base, device_name(device)));
}

std::string GraphEmitter::FreshName(std::string name) {
  const std::string base = name;
  for (int count = names_[name]++; count > 0; count = names_[name]++) {
    name = fmt::format("{}#{}", base, names_[base] - 1);
  }
  return name;
}

void GraphEmitter::TakeModule(const Tensor& model, OpSpec& spec) const {
  if (model.producer.valid()) {
    spec.phase = builder_.added().ops[model.producer].phase;
    spec.module = builder_.stated_module(model.producer).value_or("");
  }
  spec.in_root = spec.module.empty();
}

Result<std::vector<TensorId>> GraphEmitter::Add(OpSpec spec, DeviceId device, OpId origin) {
  auto outputs = builder_.AddOp(std::move(spec));
  if (!outputs.ok()) return outputs.error();
  placement_.push_back(device);
  origin_.push_back(origin);
  in_kernel_.push_back(false);
  return outputs;
}

std::vector<std::string> GraphEmitter::NamesOf(const std::vector<OpId>& ops) const {
  std::vector<std::string> names;
  for (const OpId op : ops) names.push_back(builder_.added().ops[op].name);
  return names;
}

Status GraphEmitter::AddInstance(const InstanceKey& key, std::span<const TensorId> inputs,
                                 DeviceId device, const std::vector<OpId>& after,
                                 const MakeSpec& make, std::vector<TensorId>& made) {
  OpSpec spec = make();
  const Op& op = original_.op(key.op);
  spec.name = key.alone ? op.name : fmt::format("{}@{}", op.name, device_name(device));
  spec.phase = op.phase;
  spec.module = original_.module_path(op.module);
  spec.in_root = spec.module.empty();
  spec.inputs.assign(inputs.begin(), inputs.end());
  spec.after = NamesOf(after);
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const Tensor& like = original_.tensor(op.outputs[i]);
    // An only result may be one of several that the operator has: it is called as in the original.
    const bool numbered = op.outputs.size() > 1 || like.name != op.name;
    spec.outputs[i].name =
        numbered ? fmt::format("{}:{}", spec.name, like.output_index) : spec.name;
  }
  PW_ASSIGN(const std::vector<TensorId> outputs, Add(std::move(spec), device, key.op));
  made.insert(made.end(), outputs.begin(), outputs.end());
  return Ok();
}

Result<std::vector<TensorId>> GraphEmitter::AddOfPart(OpSpec spec, std::string_view word,
                                                      DeviceId device, OpId origin,
                                                      const std::vector<OpId>& after,
                                                      bool in_kernel) {
  const Op& op = original_.op(origin);
  spec.name = FreshName(
      fmt::format("{}{}{}@{}", op.name, word.empty() ? "" : ".", word, device_name(device)));
  spec.phase = op.phase;
  spec.module = original_.module_path(op.module);
  spec.in_root = spec.module.empty();
  spec.after = NamesOf(after);
  for (size_t i = 0; i < spec.outputs.size(); ++i) {
    // As files name them: by the operator's result, where some are not made.
    OutputSpec& output = spec.outputs[i];
    const int32_t result = output.output_index >= 0 ? output.output_index : static_cast<int32_t>(i);
    output.name = spec.outputs.size() == 1 ? spec.name : fmt::format("{}:{}", spec.name, result);
  }
  auto made = Add(std::move(spec), device, origin);
  if (made.ok()) in_kernel_.back() = in_kernel;
  return made;
}

Result<TensorId> GraphEmitter::AddLike(std::string_view type, std::vector<TensorId> inputs,
                                       std::vector<Value> args, std::vector<int64_t> shape,
                                       TensorId like, DeviceId device) {
  const Tensor& model = tensor(like);
  OpSpec spec;
  spec.name = NameLike(model, type, device);
  spec.type = std::string(type);
  const DType dtype = model.dtype;
  TakeModule(model, spec);
  spec.inputs = std::move(inputs);
  spec.args = std::move(args);
  spec.outputs = {{.name = spec.name, .dtype = dtype, .shape = std::move(shape)}};
  PW_ASSIGN(const std::vector<TensorId> outputs, Add(std::move(spec), device, OpId()));
  return outputs.front();
}

Result<OpId> GraphEmitter::AddReader(std::string_view type, std::vector<TensorId> inputs,
                                     std::vector<Value> args, DeviceId device) {
  const Tensor& model = tensor(inputs.front());
  OpSpec spec;
  spec.name = NameLike(model, type, device);
  spec.type = std::string(type);
  TakeModule(model, spec);
  spec.inputs = std::move(inputs);
  spec.args = std::move(args);
  PW_RETURN_IF_ERROR(Add(std::move(spec), device, OpId()));
  return last();
}

Result<TensorId> GraphEmitter::AddViewOf(TensorId view, TensorId base, DeviceId device) {
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

Result<TensorId> GraphEmitter::Overwrite(TensorId written, TensorId value, DeviceId device) {
  const Tensor& model = tensor(written);
  OpSpec spec;
  spec.name = NameLike(model, "placewright.overwrite.", device);
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

// "name" of all of it, "name@gpu1" of a device's, "name[0:0-4]" of a part that ops read.
Result<TensorId> GraphEmitter::AddInput(TensorId original, DeviceId device, const AxisPlace& place,
                                        Interval interval) {
  const Tensor& like = original_.tensor(original);
  std::string name = like.name;
  if (device.valid()) {
    name = fmt::format("{}@{}", name, device_name(device));
  } else if (place.dimension >= 0) {
    name = fmt::format("{}[{}:{}-{}]", name, place.dimension, interval.from, interval.to);
  }
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

Status GraphEmitter::Join(std::vector<OpId> members) {
  const std::string name = builder_.added().ops[members.front()].name;
  return builder_.AddCollective(name, std::move(members));
}

Result<DistributedStep> GraphEmitter::Finish(std::vector<TensorId> outputs) && {
  builder_.SetOutputs(std::move(outputs));
  auto graph = std::move(builder_).Build();
  if (!graph.ok()) return graph.error();
  return DistributedStep{graph.Take(), std::move(placement_), std::move(origin_),
                         std::move(inputs_), std::move(in_kernel_)};
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
