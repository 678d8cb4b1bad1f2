#include "compile/emitter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "cost/communication.h"
#include "cost/communication/coalesced_types.h"
#include "transforms/offload.h"
#include "transforms/recompute.h"

namespace placewright {
namespace {

// What a key begins with: how its part is described.
enum KeyWord : int32_t { kInstanceKey, kPartKey, kInKernelKey, kLikeKey, kOverwriteKey };

void AppendWide(int64_t number, std::vector<int32_t>& key) {
  key.push_back(static_cast<int32_t>(number));
  key.push_back(static_cast<int32_t>(number >> 32));
}

}  // namespace

Emitter::Emitter(const Graph& original, const IdVector<OpId, int32_t>& kinds, PartPrices& prices,
                 StepArrays& arrays, bool keeps_inputs)
    : original_(original),
      held_(original.Held()),
      kinds_(kinds),
      keeps_inputs_(keeps_inputs),
      prices_(prices),
      arrays_(arrays) {
  // Before the ops, between, and behind: the places of array_writer.h.
  blocks_.reserve(original.tensor_count() + original.op_count() + 3);
  for (const OpId op : original.ops()) {
    if (original.op(op).after.empty()) continue;
    const bool copied = HostCopyOf(original.op(op)) != HostCopy::kNone;
    ordered_.push_back({op, copied || RecomputedOp(original, op).valid()});
  }
}

void Emitter::Fold(const LaneClasses& classes) {
  arrays_.lanes = &classes;
  folder_.emplace(classes, !cluster().collectives_share(), arrays_);
}

Phase Emitter::PhaseOf(TensorId like) const {
  const OpId maker = producer(like);
  return maker.valid() ? arrays_.ops[maker].phase : Phase::kForward;
}

std::span<const PartInput> Emitter::TakeInputs(std::span<const TensorId> inputs) {
  types_.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto first =
        std::find(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(i), inputs[i]);
    const int32_t same = static_cast<int32_t>(first - inputs.begin());
    types_.push_back({tensor(inputs[i]).type, same});
    key_.push_back(types_.back().type.value());
    if (same < static_cast<int32_t>(i)) key_.push_back(-1 - same);
  }
  return types_;
}

void Emitter::SetInstanceKey(const InstanceKey& key) {
  key_.clear();
  key_.insert(key_.end(), {kInstanceKey, kinds_[key.op], static_cast<int32_t>(key.parts.size())});
  for (const InstanceKey::Part& part : key.parts) {
    key_.insert(key_.end(), {part.axis.value(), part.split.value()});
    AppendWide(part.length, key_);
    if (!prices_.tells_arguments_apart() && !part.priced) continue;
    for (const int64_t number : NumbersOf(part.stated)) AppendWide(number, key_);
  }
}

void Emitter::AddInstance(const InstanceKey& key, std::span<const TensorId> inputs, DeviceId device,
                          const MakeSpec& make, std::vector<TensorId>& made) {
  SetInstanceKey(key);
  const auto types = TakeInputs(inputs);
  if (key_ != last_key_) {
    last_part_ = prices_.Find(key_, types, make);
    last_key_.swap(key_);
  }
  Add(last_part_, inputs, device, key.op, original_.op(key.op).phase, /*own=*/true, made);
}

// All that its arguments say, since views among these lie where they say.
void Emitter::AppendValue(const Value& value) {
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

void Emitter::AppendArguments(const std::vector<Value>& args) {
  if (!prices_.tells_arguments_apart()) return;
  for (const Value& value : args) AppendValue(value);
}

void Emitter::AppendText(std::string_view text) { key_.push_back(prices_.WordOf(text)); }

PricedPartId Emitter::PartOf(OpSpec& spec, bool in_kernel) {
  key_ = {in_kernel ? kInKernelKey : kPartKey, prices_.WordOf(spec.type),
          static_cast<int32_t>(spec.outputs.size()), static_cast<int32_t>(spec.inputs.size()),
          static_cast<int32_t>(spec.args.size())};
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
  return prices_.Find(
      key_, types, [&] { return std::move(spec); }, in_kernel);
}

OpId Emitter::AddCopyOf(OpId op) {
  const OpId id = Take(block().ops, used_ops_, free_ops_, arrays_.ops);
  arrays_.ops[id] = arrays_.ops[op];
  last_ = id;
  if (folds()) SetLaneBlock(id, arrays_.lane_blocks[op]);
  return id;
}

TensorId Emitter::AddView(OpSpec spec, TensorId like, DeviceId device) {
  const std::vector<TensorId> inputs = spec.inputs;
  const PricedPartId part = PartOf(spec);
  const TensorId made = AddOne(part, inputs, device, OpId(), PhaseOf(like));
  Name(ArrayName::kLike, like);
  return made;
}

void Emitter::Name(ArrayName name, TensorId like) {
  arrays_.ops[last_].name = name;
  arrays_.ops[last_].like = like.valid() ? StandsFor(like) : like;
}

std::vector<TensorId> Emitter::AddOfPart(OpSpec spec, bool main, DeviceId device, OpId origin,
                                         bool in_kernel) {
  const std::vector<TensorId> inputs = spec.inputs;
  const PricedPartId part = PartOf(spec, in_kernel);
  std::vector<TensorId> made;
  Add(part, inputs, device, origin, original_.op(origin).phase, /*own=*/true, made);
  Name(main ? ArrayName::kMain : ArrayName::kPart);
  return made;
}

PricedPartId Emitter::PartOfCall(std::string_view type, std::vector<Value> args,
                                 std::span<const TensorId> inputs,
                                 std::span<const PartTypeId> made) {
  key_ = {kLikeKey, prices_.WordOf(type), static_cast<int32_t>(made.size())};
  for (const PartTypeId one : made) key_.push_back(one.value());
  AppendArguments(args);
  const auto types = TakeInputs(inputs);
  return prices_.Find(key_, types, [&] {
    OpSpec spec;
    spec.type = std::string(type);
    spec.args = std::move(args);
    for (const PartTypeId one : made) {
      spec.outputs.push_back({.dtype = prices_.type(one).dtype, .shape = prices_.type(one).shape});
    }
    return spec;
  });
}

TensorId Emitter::AddLike(std::string_view type, std::vector<TensorId> inputs,
                          std::vector<Value> args, std::vector<int64_t> shape, TensorId like,
                          DeviceId device) {
  const PartTypeId type_made = prices_.ContiguousType(dtype(like), shape);
  const PricedPartId part = PartOfCall(type, std::move(args), inputs, {&type_made, 1});
  const TensorId made = AddOne(part, inputs, device, OpId(), PhaseOf(like));
  Name(ArrayName::kLike, like);
  return made;
}

TensorId Emitter::AddLikeAgain(std::string_view type, TensorId input,
                               const std::vector<int64_t>& shape, DeviceId device) {
  if (!is_folding() || prices_.tells_arguments_apart()) return TensorId();
  const OpId next = NextOf({&input, 1}, device);
  if (!next.valid()) return TensorId();
  const PricedPart& part = prices_.part(arrays_.ops[next].part);
  const bool same = part.op.type == type && part.outputs.size() == 1 &&
                    prices_.type(part.outputs.front().type).shape == shape;
  if (!same) return TensorId();
  last_ = folder_->NextOp(device);
  return folder_->ImageOn(device, arrays_.MadeBy(arrays_.ops[last_]).front());
}

OpId Emitter::AddReader(std::string_view type, std::vector<TensorId> inputs,
                        std::vector<Value> args, DeviceId device) {
  const PricedPartId part = PartOfCall(type, std::move(args), inputs, {});
  made_.clear();
  Add(part, inputs, device, OpId(), PhaseOf(inputs.front()), /*own=*/false, made_);
  Name(ArrayName::kLike, inputs.front());
  return last();
}

PricedPartId Emitter::CoalescedPart(std::span<const OpId> ops) {
  std::vector<TensorId> inputs;
  std::vector<PartTypeId> made;
  std::vector<Value> args = {Value(References(ops.size()))};
  for (const OpId id : ops) {
    const ArrayOp& op = arrays_.ops[id];
    inputs.push_back(arrays_.ReadsOf(op).front().tensor);
    made.push_back(arrays_.tensors[arrays_.MadeBy(op).front()].type);
    // Behind what it reads: its part, if it states one.
    const std::vector<Value>& own = prices_.part(op.part).op.args;
    if (own.size() > 1) args.emplace_back(Value::List(own.begin() + 1, own.end()));
  }
  const std::string_view type = prices_.part(arrays_.ops[ops.front()].part).op.type;
  return PartOfCall(CoalescedTypeOf(type), std::move(args), inputs, made);
}

TensorId Emitter::AddViewOf(TensorId view, TensorId base, DeviceId device) {
  const ArrayOp like = arrays_.ops[producer(view)];
  const TensorId made = AddOne(like.part, {&base, 1}, device, like.origin, like.phase);
  Name(ArrayName::kView, view);
  return made;
}

TensorId Emitter::AddPartView(const InstanceKey& key, PartCall call, std::vector<int64_t> shape,
                              TensorId like, TensorId base, DeviceId device) {
  SetInstanceKey(key);
  const auto types = TakeInputs({&base, 1});
  const PricedPartId part = prices_.Find(key_, types, [&] {
    const Tensor& viewed = original_.tensor(original_.op(key.op).outputs.front());
    OpSpec spec;
    spec.type = std::move(call.type);
    spec.args = std::move(call.args);
    spec.attributes = std::move(call.attributes);
    spec.outputs = {{.dtype = viewed.dtype, .shape = std::move(shape)}};
    spec.outputs[0].output_index = viewed.output_index;
    spec.outputs[0].alias = AliasKind::kView;
    spec.outputs[0].alias_of = 0;
    return spec;
  });
  const TensorId made = AddOne(part, {&base, 1}, device, key.op, original_.op(key.op).phase);
  Name(ArrayName::kView, like);
  return made;
}

TensorId Emitter::Overwrite(TensorId written, TensorId value, DeviceId device) {
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
  const TensorId made = AddOne(part, inputs, device, OpId(), PhaseOf(written));
  Name(ArrayName::kLike, written);
  return made;
}

TensorId Emitter::AddInput(TensorId original, DeviceId device, const TensorBox& box, DeviceId on) {
  const Tensor& like = original_.tensor(original);
  const PartTypeId type = prices_.ContiguousType(like.dtype, ShapeOf(like.shape, box));
  const Bytes bytes = SizeOf(like.dtype) > 0 ? prices_.type(type).bytes : like.bytes;
  if (!is_folding()) {
    const TensorId made = AddInputHere(original, type, bytes);
    if (keeps_inputs_) inputs_[made] = {original, device, box};
    return made;
  }
  if (!on.valid()) on = device;
  TensorId made = on.valid() ? folder_->NextInput(on) : TensorId();
  if (made.valid()) {
    const ArrayTensor& known = arrays_.tensors[made];
    const bool same =
        known.type == type && arrays_.storages[known.storage].original == like.storage;
    if (!same) folder_->Fail();
  } else {
    made = AddInputHere(original, type, bytes);
    if (keeps_inputs_) {
      inputs_[made] = {original, device.valid() ? folder_->FirstOf(device) : device, box};
    }
    if (on.valid()) folder_->AddInput(on, made);
    folder_->Place(made, on.valid() ? folder_->FirstOf(on) : on);
  }
  return on.valid() ? folder_->ImageOn(on, made) : made;
}

void Emitter::SetLaneBlock(OpId op, int32_t block) {
  if (arrays_.lane_blocks.size() <= op.index()) arrays_.lane_blocks.resize(op.index() + 1);
  arrays_.lane_blocks[op] = block;
}

TensorId Emitter::AddInputHere(TensorId original, PartTypeId type, Bytes bytes) {
  const Tensor& like = original_.tensor(original);
  // One that an op reads is there for all that come to read it.
  const bool for_all = place_ > static_cast<int32_t>(original_.tensor_count());
  const int32_t of_op = std::exchange(place_, for_all ? 0 : place_);
  std::vector<ArrayVersionId> no_tails;
  const size_t used_tensors = used_own_.tensors, used_storages = used_own_.storages,
               used_versions = used_own_.versions;
  if (for_all) {
    changed_.push_back(0);
    const ArrayBlock::Numbers& numbers = block().own;
    used_own_ = {numbers.tensors.size(), numbers.storages.size(), numbers.versions.size()};
    own_tails_.swap(no_tails);
  }
  const StorageId storage = AddStorage(
      {bytes, {}, like.kind == TensorKind::kInput, like.storage, {}}, OpId(), /*own=*/true);
  const TensorId made = AddTensor({type, storage, OpId(), Bytes(), bytes, false}, /*own=*/true);
  if (for_all) {
    used_own_ = {used_tensors, used_storages, used_versions};
    own_tails_.swap(no_tails);
  }
  place_ = of_op;
  return made;
}

void Emitter::JoinMakers(const std::vector<TensorId>& made) {
  std::vector<Member> members;
  for (const TensorId id : made) members.push_back({producer(id), device_of(id)});
  return Join(members);
}

void Emitter::Join(std::span<const Member> members) {
  const bool folds = is_folding();
  if (folds && folder_->JoinsKnown(members)) return;
  ArrayCollective collective;
  const CollectiveId id =
      Take(block().collectives, used_collectives_, free_collectives_, arrays_.collectives);
  collective.members.begin = static_cast<int32_t>(arrays_.members.size());
  for (const Member& member : members) {
    ArrayOp& op = arrays_.ops[member.op];
    if (folds && op.collective == id) continue;  // it stands for several
    op.collective = id;
    arrays_.members.push_back(member.op);
  }
  collective.members.end = static_cast<int32_t>(arrays_.members.size());
  collective.request = RequestOf(arrays_.MembersOf(collective));
  arrays_.collectives[id] = collective;
  if (folds) folder_->AddCollective(id, members);
}

CollectiveRequest Emitter::RequestOf(std::span<const OpId> members) const {
  const std::string_view type = prices_.part(arrays_.ops[members.front()].part).op.type;
  const std::optional<CollectiveKind> kind = CollectiveKindOf(type);
  PW_CHECK(kind.has_value());
  Bytes inputs, outputs;
  DeviceId root;
  for (const OpId member : members) {
    const ArrayOp& op = arrays_.ops[member];
    const PricedPart& part = prices_.part(op.part);
    Bytes read, made;
    for (const PartInput& input : part.inputs) read += prices_.type(input.type).bytes;
    for (const PartOutput& output : part.outputs) made += prices_.type(output.type).bytes;
    inputs = std::max(inputs, read);
    outputs = std::max(outputs, made);
    if (*kind == CollectiveKind::kBroadcast && !part.inputs.empty()) root = op.device;
  }
  return RequestOfMembers(*kind, inputs, outputs, root);
}

TensorId Emitter::AddTensor(const ArrayTensor& tensor, bool own) {
  ArrayBlock::Numbers& numbers = own ? block().own : block().fetched;
  size_t& used = (own ? used_own_ : used_fetched_).tensors;
  const TensorId id = Take(numbers.tensors, used, free_.tensors, arrays_.tensors);
  arrays_.tensors[id] = tensor;
  return id;
}

ArrayVersionId Emitter::AddVersion(const ArrayVersion& version, bool own) {
  ArrayBlock::Numbers& numbers = own ? block().own : block().fetched;
  size_t& used = (own ? used_own_ : used_fetched_).versions;
  const ArrayVersionId id = Take(numbers.versions, used, free_.versions, arrays_.versions);
  arrays_.versions[id] = version;
  return id;
}

// With its first content.
StorageId Emitter::AddStorage(ArrayStorage storage, OpId writer, bool own) {
  ArrayBlock::Numbers& numbers = own ? block().own : block().fetched;
  size_t& used = (own ? used_own_ : used_fetched_).storages;
  const std::vector<ArrayVersionId>& tails = own ? own_tails_ : fetched_tails_;
  const ArrayVersionId tail = used < tails.size() ? tails[used] : ArrayVersionId();
  const StorageId id = Take(numbers.storages, used, free_.storages, arrays_.storages);
  storage.first = AddVersion({id, writer, place_, tail}, own);
  arrays_.storages[id] = storage;
  return id;
}

// One more version, unless the op has made one already.
void Emitter::Write(OpId op, StorageId id, bool own) {
  const ArrayVersionId newest = arrays_.NewestAt(id, place_);
  const bool first = newest == arrays_.storages[id].first;
  if (!first && arrays_.versions[newest].writer == op) return;
  const ArrayVersionId version = AddVersion({id, op, place_, arrays_.versions[newest].next}, own);
  SetNext(newest, version);
  arrays_.written.push_back(version);
  const bool other = arrays_.versions[arrays_.storages[id].first].place != place_;
  if (other) block().overwrites.push_back(version);
}

void Emitter::Unlink(ArrayVersionId id) {
  ArrayVersionId version = arrays_.storages[arrays_.versions[id].storage].first;
  while (version.valid() && arrays_.versions[version].next != id) {
    version = arrays_.versions[version].next;
  }
  if (version.valid()) SetNext(version, arrays_.versions[id].next);
}

void Emitter::SetNext(ArrayVersionId version, ArrayVersionId next) {
  if (recording_) kept_.versions.emplace_back(version, arrays_.versions[version]);
  arrays_.versions[version].next = next;
}

TensorId Emitter::MakeOutput(PricedPartId part_id, size_t output, std::span<const TensorId> inputs,
                             OpId op, OpId origin, DeviceId device, bool own) {
  const PartOutput& spec = prices_.part(part_id).outputs[output];
  if (spec.alias == AliasKind::kFresh) {
    const PartTypeId type = spec.type;
    const Bytes bytes = prices_.type(type).bytes;
    const std::vector<TensorId>* const originals =
        own && origin.valid() ? &original_.op(origin).outputs : nullptr;
    const bool known = originals != nullptr && output < originals->size();
    const StorageId original = known ? original_.tensor((*originals)[output]).storage : StorageId();
    const StorageId storage = AddStorage({bytes, {}, false, original, device}, op, own);
    arrays_.written.push_back(arrays_.storages[storage].first);
    return AddTensor({type, storage, op, Bytes(), bytes, false}, own);
  }
  const ArrayTensor base = arrays_.tensors[inputs[static_cast<size_t>(spec.alias_of)]];
  const PartView& view = prices_.ViewOf(part_id, output, base.type, base.offset,
                                        arrays_.storages[base.storage].bytes, base.inexact);
  return AddTensor(
      {view.type, base.storage, op, view.offset, prices_.type(view.type).length, view.inexact},
      own);
}

TensorId Emitter::AddOne(PricedPartId part, std::span<const TensorId> inputs, DeviceId device,
                         OpId origin, Phase phase) {
  made_.clear();
  Add(part, inputs, device, origin, phase, /*own=*/false, made_);
  return made_.front();
}

void Emitter::Add(PricedPartId part, std::span<const TensorId> inputs, DeviceId device, OpId origin,
                  Phase phase, bool own, std::vector<TensorId>& made) {
  if (is_folding()) return AddFolded(part, inputs, device, origin, phase, own, made);
  if (!folder_) return AddHere(part, inputs, device, origin, phase, own, made);
  std::vector<TensorId> read;
  for (const TensorId input : inputs) read.push_back(StandsFor(input));
  AddHere(part, read, device, origin, phase, own, made);
}

void Emitter::AddFolded(PricedPartId part, std::span<const TensorId> inputs, DeviceId device,
                        OpId origin, Phase phase, bool own, std::vector<TensorId>& made) {
  const size_t before = made.size();
  const DeviceId first = folder_->FirstOf(device);
  const std::span<const TensorId> read = folder_->Read(inputs, device);
  last_ = folder_->NextOp(device);
  if (last_.valid()) {
    const ArrayOp& op = arrays_.ops[last_];
    const bool same =
        op.part == part && op.origin == origin && op.phase == phase &&
        std::equal(read.begin(), read.end(), arrays_.ReadsOf(op).begin(), arrays_.ReadsOf(op).end(),
                   [](TensorId one, const ArrayRead& is) { return one == is.tensor; });
    if (!same) {
      folder_->Fail();
      return Add(part, inputs, device, origin, phase, own, made);
    }
    const std::span<const TensorId> row = arrays_.MadeBy(op);
    made.insert(made.end(), row.begin(), row.end());
  } else {
    AddHere(part, read, first, origin, phase, own, made);
    folder_->AddOp(device, last_);
    SetLaneBlock(last_, place_);
    for (size_t i = before; i < made.size(); ++i) folder_->Place(made[i], first);
  }
  for (size_t i = before; i < made.size(); ++i) made[i] = folder_->ImageOn(device, made[i]);
}

OpId Emitter::NextOf(std::span<const TensorId> inputs, DeviceId device) const {
  const OpId next = folder_->PeekOp(device);
  if (!next.valid()) return OpId();
  const std::span<const ArrayRead> reads = arrays_.ReadsOf(arrays_.ops[next]);
  const bool same = std::equal(inputs.begin(), inputs.end(), reads.begin(), reads.end(),
                               [&](TensorId input, const ArrayRead& is) {
                                 return input == folder_->ImageOn(device, is.tensor);
                               });
  return same ? next : OpId();
}

bool Emitter::AddAgain(std::span<const TensorId> inputs, DeviceId device,
                       std::vector<TensorId>& made) {
  if (!NextOf(inputs, device).valid()) return false;
  last_ = folder_->NextOp(device);
  for (const TensorId of : arrays_.MadeBy(arrays_.ops[last_])) {
    made.push_back(folder_->ImageOn(device, of));
  }
  return true;
}

void Emitter::AddHere(PricedPartId part_id, std::span<const TensorId> inputs, DeviceId device,
                      OpId origin, Phase phase, bool own, std::vector<TensorId>& made) {
  const PricedPart& part = prices_.part(part_id);
  const OpId id = Take(block().ops, used_ops_, free_ops_, arrays_.ops);
  last_ = id;
  if (is_folding()) own_ops_.push_back(own);
  ArrayOp op;
  op.device = device;
  op.origin = origin;
  op.part = part_id;
  op.phase = phase;
  op.is_view = part.is_view;
  op.reads.begin = static_cast<int32_t>(arrays_.reads.size());
  op.made.begin = static_cast<int32_t>(arrays_.made.size());
  op.written.begin = static_cast<int32_t>(arrays_.written.size());
  for (const TensorId input : inputs) {
    arrays_.reads.push_back({input, arrays_.NewestAt(arrays_.tensors[input].storage, place_)});
  }
  const auto touch = [&](StorageId storage) {
    const DeviceId home = arrays_.storages[storage].device;
    op.touches_input = op.touches_input || !home.valid();
    op.apart = op.apart || (home.valid() && home != device);
  };
  for (const int32_t input : part.writes) {
    const StorageId storage = arrays_.tensors[inputs[static_cast<size_t>(input)]].storage;
    Write(id, storage, own);
    touch(storage);
  }
  for (size_t output = 0; output < part.outputs.size(); ++output) {
    made.push_back(MakeOutput(part_id, output, inputs, id, origin, device, own));
    arrays_.made.push_back(made.back());
    touch(arrays_.tensors[made.back()].storage);
  }
  op.reads.end = static_cast<int32_t>(arrays_.reads.size());
  op.made.end = static_cast<int32_t>(arrays_.made.size());
  op.written.end = static_cast<int32_t>(arrays_.written.size());
  arrays_.ops[id] = op;
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
