#include "compile/array_emitter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "compile/step_writer.h"
#include "cost/communication.h"

namespace placewright {
namespace {

// What a key begins with: how its part is described.
enum KeyWord : int32_t { kInstanceKey, kPartKey, kLikeKey, kReaderKey, kOverwriteKey };

void AppendWide(int64_t number, std::vector<int32_t>& key) {
  key.push_back(static_cast<int32_t>(number));
  key.push_back(static_cast<int32_t>(number >> 32));
}

}  // namespace

// Only errors name devices, and those come from the graph.
const std::string& ArrayEmitter::device_name(DeviceId) const {
  static const std::string kNone;
  return kNone;
}

Phase ArrayEmitter::PhaseOf(TensorId like) const {
  const OpId maker = producer(like);
  return maker.valid() ? arrays_.ops[maker].phase : Phase::kForward;
}

std::span<const PartInput> ArrayEmitter::TakeInputs(const std::vector<TensorId>& inputs) {
  types_.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto first =
        std::find(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(i), inputs[i]);
    const int32_t same = static_cast<int32_t>(first - inputs.begin());
    types_.push_back({arrays_.tensors[inputs[i]].type, same});
    key_.push_back(types_.back().type.value());
    if (same < static_cast<int32_t>(i)) key_.push_back(-1 - same);
  }
  return types_;
}

Result<std::vector<TensorId>> ArrayEmitter::AddInstance(const InstanceKey& key,
                                                        std::vector<TensorId> inputs,
                                                        DeviceId device,
                                                        const std::vector<OpId>& after,
                                                        const MakeSpec& make) {
  key_ = {kInstanceKey, key.op.value(), key.axis.value(), key.split.value()};
  AppendWide(key.length, key_);
  const auto types = TakeInputs(inputs);
  const PricedPartId part = prices_.Find(key_, types, make);
  std::vector<TensorId> made = Add(part, inputs, device, key.op, original_.op(key.op).phase);
  for (const OpId earlier : after) arrays_.after.emplace_back(earlier, last());
  return made;
}

// All that its arguments say, since views among these lie where they say.
void ArrayEmitter::AppendValue(const Value& value) {
  key_.push_back(static_cast<int32_t>(value.variant().index()));
  if (const bool* flag = value.AsBool()) key_.push_back(*flag ? 1 : 0);
  if (const int64_t* number = value.AsInt()) AppendWide(*number, key_);
  if (const double* number = value.AsDouble()) AppendWide(std::bit_cast<int64_t>(*number), key_);
  if (const InputRef* input = value.AsInput()) key_.push_back(input->index);
  if (const std::string* text = value.AsString()) AppendText(*text);
  if (const Value::List* list = value.AsList()) {
    key_.push_back(static_cast<int32_t>(list->size()));
    for (const Value& item : *list) AppendValue(item);
  }
}

void ArrayEmitter::AppendText(std::string_view text) { key_.push_back(prices_.WordOf(text)); }

PricedPartId ArrayEmitter::PartOf(OpSpec& spec) {
  key_ = {kPartKey, prices_.WordOf(spec.type), static_cast<int32_t>(spec.outputs.size()),
          static_cast<int32_t>(spec.inputs.size()), static_cast<int32_t>(spec.args.size())};
  for (const OutputSpec& output : spec.outputs) {
    key_.push_back(prices_.ContiguousType(output.dtype, output.shape).value());
    key_.push_back(static_cast<int32_t>(output.alias));
    key_.push_back(output.output_index);
  }
  for (const Value& value : spec.args) AppendValue(value);
  for (const NamedValue& named : spec.attributes) {
    AppendText(named.name);
    AppendValue(named.value);
  }
  const auto types = TakeInputs(spec.inputs);
  return prices_.Find(key_, types, [&] { return std::move(spec); });
}

TensorId ArrayEmitter::AddView(OpSpec spec, TensorId like, DeviceId device) {
  const std::vector<TensorId> inputs = spec.inputs;
  const PricedPartId part = PartOf(spec);
  return Add(part, inputs, device, OpId(), PhaseOf(like)).front();
}

Result<std::vector<TensorId>> ArrayEmitter::AddOfPart(OpSpec spec, std::string_view,
                                                      DeviceId device, OpId origin,
                                                      const std::vector<OpId>& after) {
  const std::vector<TensorId> inputs = spec.inputs;
  const PricedPartId part = PartOf(spec);
  std::vector<TensorId> made = Add(part, inputs, device, origin, original_.op(origin).phase);
  for (const OpId earlier : after) arrays_.after.emplace_back(earlier, last());
  return made;
}

Result<TensorId> ArrayEmitter::AddLike(std::string_view type, std::vector<TensorId> inputs,
                                       std::vector<Value> args, std::vector<int64_t> shape,
                                       TensorId like, DeviceId device) {
  const PartTypeId made_type = prices_.ContiguousType(dtype(like), shape);
  key_ = {kLikeKey, prices_.WordOf(type), made_type.value()};
  const auto types = TakeInputs(inputs);
  const PricedPartId part = prices_.Find(key_, types, [&] {
    OpSpec spec;
    spec.type = std::string(type);
    spec.args = std::move(args);
    spec.outputs = {{.dtype = prices_.type(made_type).dtype, .shape = std::move(shape)}};
    return spec;
  });
  return Add(part, inputs, device, OpId(), PhaseOf(like)).front();
}

Result<OpId> ArrayEmitter::AddReader(std::string_view type, std::vector<TensorId> inputs,
                                     std::vector<Value> args, DeviceId device) {
  key_ = {kReaderKey, prices_.WordOf(type)};
  const auto types = TakeInputs(inputs);
  const PricedPartId part = prices_.Find(key_, types, [&] {
    OpSpec spec;
    spec.type = std::string(type);
    spec.args = std::move(args);
    return spec;
  });
  Add(part, inputs, device, OpId(), PhaseOf(inputs.front()));
  return last();
}

Result<TensorId> ArrayEmitter::AddViewOf(TensorId view, TensorId base, DeviceId device) {
  const ArrayOp& like = arrays_.ops[producer(view)];
  return Add(like.part, {base}, device, like.origin, like.phase).front();
}

Result<TensorId> ArrayEmitter::Overwrite(TensorId written, TensorId value, DeviceId device) {
  std::vector<TensorId> inputs = {written};
  if (value.valid()) inputs.push_back(value);
  key_ = {kOverwriteKey};
  const auto types = TakeInputs(inputs);
  const PricedPartId part = prices_.Find(key_, types, [&] {
    OpSpec spec;
    spec.type = value.valid() ? "aten.copy_.default" : "aten.zero_.default";
    spec.args = References(inputs.size());
    OutputSpec output{.dtype = dtype(written), .shape = shape(written)};
    output.alias = AliasKind::kInPlace;
    output.alias_of = 0;
    spec.outputs = {output};
    return spec;
  });
  return Add(part, inputs, device, OpId(), PhaseOf(written)).front();
}

Result<TensorId> ArrayEmitter::AddInput(TensorId original, DeviceId, const AxisPlace& place,
                                        Interval interval) {
  const Tensor& like = original_.tensor(original);
  PartTypeId type;
  if (place.dimension < 0) {
    type = prices_.ContiguousType(like.dtype, like.shape);
  } else {
    std::vector<int64_t> part = like.shape;
    part[static_cast<size_t>(place.dimension)] = place.outer * interval.length() * place.inner;
    type = prices_.ContiguousType(like.dtype, part);
  }
  const Bytes bytes = SizeOf(like.dtype) > 0 ? prices_.type(type).bytes : like.bytes;
  const StorageId storage(arrays_.storages.size());
  arrays_.storages.push_back({bytes, arrays_.versions.push_back({storage, OpId()}), 1,
                              like.kind == TensorKind::kInput, DeviceId(), DeviceId()});
  return arrays_.tensors.push_back({type, storage, OpId(), Bytes(), bytes, false});
}

Status ArrayEmitter::Join(std::vector<OpId> members) {
  const std::string_view type = prices_.part(arrays_.ops[members.front()].part).op.type;
  const std::optional<CollectiveKind> kind = CollectiveKindOf(type);
  PW_CHECK(kind.has_value());
  ArrayCollective collective;
  Bytes inputs, outputs;
  DeviceId root;
  collective.members.begin = static_cast<int32_t>(arrays_.members.size());
  for (const OpId member : members) {
    ArrayOp& op = arrays_.ops[member];
    op.collective = CollectiveId(arrays_.collectives.size());
    const PricedPart& part = prices_.part(op.part);
    for (const PartInput& input : part.inputs) {
      inputs = std::max(inputs, prices_.type(input.type).bytes);
    }
    for (const PartOutput& output : part.outputs) {
      outputs = std::max(outputs, prices_.type(output.type).bytes);
    }
    if (*kind == CollectiveKind::kBroadcast && !part.inputs.empty()) root = op.device;
    arrays_.members.push_back(member);
  }
  collective.members.end = static_cast<int32_t>(arrays_.members.size());
  collective.request = RequestOfMembers(*kind, inputs, outputs, root);
  arrays_.collectives.push_back(collective);
  return Ok();
}

void ArrayEmitter::Touch(StorageId id, DeviceId device) {
  DeviceId& home = arrays_.storages[id].home;
  if (!home.valid()) home = device;
}

// One more version, unless the op has made one already.
void ArrayEmitter::Write(OpId op, StorageId id) {
  ArrayStorage& storage = arrays_.storages[id];
  if (storage.versions > 1 && arrays_.versions[storage.newest].writer == op) return;
  storage.newest = arrays_.versions.push_back({id, op});
  ++storage.versions;
  storage.input = false;  // it lives on a home from now on
  arrays_.written.push_back(storage.newest);
}

TensorId ArrayEmitter::MakeOutput(PricedPartId part_id, size_t output,
                                  const std::vector<TensorId>& inputs, OpId op) {
  const PartOutput& spec = prices_.part(part_id).outputs[output];
  if (spec.alias == AliasKind::kFresh) {
    const Bytes bytes = prices_.type(spec.type).bytes;
    const StorageId storage(arrays_.storages.size());
    const ArrayVersionId version = arrays_.versions.push_back({storage, op});
    arrays_.storages.push_back({bytes, version, 1, false, arrays_.ops[op].device, DeviceId()});
    arrays_.written.push_back(version);
    return arrays_.tensors.push_back({spec.type, storage, op, Bytes(), bytes, false});
  }
  const ArrayTensor base = arrays_.tensors[inputs[static_cast<size_t>(spec.alias_of)]];
  const PartView& view = prices_.ViewOf(part_id, output, base.type, base.offset,
                                        arrays_.storages[base.storage].bytes, base.inexact);
  return arrays_.tensors.push_back(
      {view.type, base.storage, op, view.offset, prices_.type(view.type).length, view.inexact});
}

std::vector<TensorId> ArrayEmitter::Add(PricedPartId part_id, const std::vector<TensorId>& inputs,
                                        DeviceId device, OpId origin, Phase phase) {
  const PricedPart& part = prices_.part(part_id);
  const OpId id = arrays_.ops.push_back(
      {{}, {}, {}, device, origin, part_id, CollectiveId(), phase, part.is_view});
  arrays_.order.push_back(id);
  ArrayOp row;  // where its rows begin
  row.reads.begin = static_cast<int32_t>(arrays_.reads.size());
  row.made.begin = static_cast<int32_t>(arrays_.made.size());
  row.written.begin = static_cast<int32_t>(arrays_.written.size());
  for (const TensorId input : inputs) {
    ArrayStorage& storage = arrays_.storages[arrays_.tensors[input].storage];
    arrays_.reads.push_back({input, storage.newest});
    if (!storage.first_reader.valid()) storage.first_reader = device;
  }
  for (const int32_t input : part.writes) {
    const StorageId storage = arrays_.tensors[inputs[static_cast<size_t>(input)]].storage;
    Write(id, storage);
    Touch(storage, device);
  }
  std::vector<TensorId> made;
  made.reserve(part.outputs.size());
  for (size_t output = 0; output < part.outputs.size(); ++output) {
    made.push_back(MakeOutput(part_id, output, inputs, id));
    Touch(arrays_.tensors[made.back()].storage, device);
    arrays_.made.push_back(made.back());
  }
  ArrayOp& op = arrays_.ops[id];
  op.reads = {row.reads.begin, static_cast<int32_t>(arrays_.reads.size())};
  op.made = {row.made.begin, static_cast<int32_t>(arrays_.made.size())};
  op.written = {row.written.begin, static_cast<int32_t>(arrays_.written.size())};
  return made;
}

void StepArrays::Clear() {
  ops.raw().clear();
  order.clear();
  reads.clear();
  made.clear();
  written.clear();
  tensors.raw().clear();
  storages.raw().clear();
  versions.raw().clear();
  collectives.raw().clear();
  members.clear();
  after.clear();
}

Status WriteArrays(const Graph& graph, const NamedAxes& axes, const Layouts& layouts,
                   const CompileOptions& options, PartPrices& prices, StepArrays& arrays) {
  arrays.Clear();
  ArrayEmitter emitter(graph, prices, arrays);
  PW_RETURN_IF_ERROR(WriteStep(graph, axes, layouts, options, emitter));
  return prices.PriceNew();
}

}  // namespace placewright
