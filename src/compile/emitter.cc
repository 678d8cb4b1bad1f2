#include "compile/emitter.h"

#include <fmt/format.h>

namespace placewright {

Emitter::Emitter(const Graph& original, const Cluster& cluster)
    : original_(original),
      cluster_(cluster),
      builder_(original.name(), std::string(original.format())) {
  builder_.set_batch(original.batch());
}

std::string Emitter::FreshName(const std::string& name) {
  const int count = names_[name]++;
  return count == 0 ? name : FreshName(fmt::format("{}#{}", name, count));
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
  // "placewright.all_reduce.default" of "grad@gpu1": "grad@gpu1.all_reduce"
  const size_t dot = type.find('.');
  const std::string word = type.substr(dot + 1, type.rfind('.') - dot - 1);
  spec.name = FreshName(fmt::format("{}.{}@{}", model.name.substr(0, model.name.find('@')), word,
                                    device_name(device)));
  spec.type = std::move(type);
  const DType dtype = model.dtype;
  if (model.producer.valid()) spec.phase = builder_.added().ops[model.producer].phase;
  spec.inputs = std::move(inputs);
  spec.args = std::move(args);
  spec.outputs = {{.name = spec.name, .dtype = dtype, .shape = std::move(shape)}};
  PW_ASSIGN(const std::vector<TensorId> outputs, Add(std::move(spec), device, OpId()));
  return outputs.front();
}

Result<TensorId> Emitter::Overwrite(TensorId written, TensorId value, DeviceId device) {
  const Tensor& model = tensor(written);
  OpSpec spec;
  spec.name = FreshName(fmt::format("{}.overwrite@{}", model.name.substr(0, model.name.find('@')),
                                    device_name(device)));
  spec.type = value.valid() ? "aten.copy_.default" : "aten.zero_.default";
  if (model.producer.valid()) spec.phase = builder_.added().ops[model.producer].phase;
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
  PW_ASSIGN(const TensorId id,
            builder_.AddInput(FreshName(name), like.kind, like.dtype, std::move(shape)));
  if (like.below > 0) builder_.SetBelow(id, like.below);
  inputs_.push_back({original, id, place, interval});
  return id;
}

Status Emitter::Join(CollectiveKind kind, Bytes bytes, const std::vector<TensorId>& made) {
  std::vector<OpId> members;
  for (const TensorId id : made) members.push_back(tensor(id).producer);
  const std::string name = builder_.added().ops[members.front()].name;
  PW_RETURN_IF_ERROR(builder_.AddCollective(name, std::move(members)));
  collectives_.push_back({kind, bytes});
  return Ok();
}

Result<DistributedStep> Emitter::Finish(std::vector<TensorId> outputs) && {
  builder_.SetOutputs(std::move(outputs));
  auto graph = std::move(builder_).Build();
  if (!graph.ok()) return graph.error();
  return DistributedStep{graph.Take(), std::move(placement_), std::move(origin_),
                         std::move(collectives_), std::move(inputs_)};
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
