// The blocks of an Emitter that are written as others were.
#include <utility>

#include "compile/emitter.h"
#include "compile/numbering.h"

namespace placewright {

Emitter::InputPiece Emitter::PieceOf(TensorId id) const {
  const ArrayTensor& tensor = arrays_.tensors[id];
  InputPiece piece{tensor.type, tensor.length, {}, folder_->DeviceOf(id), {}};
  if (!keeps_inputs_) return piece;
  piece.device = input(id).device;
  piece.box = input(id).box;
  return piece;
}

TensorId Emitter::RepeatInput(TensorId original, const InputPiece& piece) {
  const TensorId made = AddInputHere(original, piece.type, piece.bytes);
  if (keeps_inputs_) inputs_[made] = {original, piece.device, piece.box};
  folder_->Place(made, piece.on);
  return made;
}

MadeTensor Emitter::MadeOf(TensorId id) const {
  const ArrayTensor& tensor = arrays_.tensors[id];
  const ArrayStorage& storage = arrays_.storages[tensor.storage];
  return {tensor.type,    tensor.offset,         storage.bytes,
          tensor.inexact, storage.input,         tensor.producer.valid(),
          storage.device, folder_->DeviceOf(id), PhaseOf(id)};
}

std::optional<std::vector<TensorId>> Emitter::MakeScript(std::span<const TensorId> tensors,
                                                         std::span<const OpId> origins,
                                                         BlockScript& script) const {
  const ArrayBlock& of = block(place_);
  std::vector<TensorId> made;
  const auto number_of = [&](TensorId id) -> std::optional<int32_t> {
    if (const auto given = PlaceIn(tensors, id)) return given;
    const auto own = PlaceIn(made, id);
    return own ? std::optional(-1 - *own) : std::nullopt;
  };
  for (size_t i = 0; i < of.ops.size(); ++i) {
    const ArrayOp& op = arrays_.ops[of.ops[i]];
    BlockScript::Op& one = script.ops.emplace_back();
    one.part = op.part;
    one.device = op.device;
    one.phase = op.phase;
    one.own = own_ops_[i] != 0;
    one.name = op.name;
    if (op.origin.valid()) {
      const auto origin = PlaceIn(origins, op.origin);
      if (!origin) return std::nullopt;
      one.origin = *origin;
    }
    for (const ArrayRead& read : arrays_.ReadsOf(op)) {
      const auto number = number_of(read.tensor);
      if (!number) return std::nullopt;
      script.reads.push_back(*number);
      ++one.reads;
    }
    const std::span<const TensorId> outputs = arrays_.MadeBy(op);
    made.insert(made.end(), outputs.begin(), outputs.end());
    if (!op.like.valid()) continue;
    one.like = number_of(op.like);
    if (!one.like) return std::nullopt;
  }
  for (const CollectiveId id : of.collectives) {
    const ArrayCollective& collective = arrays_.collectives[id];
    BlockScript::Collective& one = script.collectives.emplace_back();
    one.request = collective.request;
    one.over = collective.over;
    for (const OpId member : arrays_.MembersOf(collective)) {
      const auto at = PlaceIn(of.ops, member);
      if (!at) return std::nullopt;
      one.members.push_back(static_cast<size_t>(*at));
    }
  }
  return made;
}

std::vector<TensorId> Emitter::Repeat(const BlockScript& script, std::span<const TensorId> tensors,
                                      std::span<const OpId> origins) {
  std::vector<TensorId> made, read;
  std::vector<OpId> ops;
  const auto tensor = [&](int32_t number) {
    return number >= 0 ? tensors[static_cast<size_t>(number)]
                       : made[static_cast<size_t>(-1 - number)];
  };
  auto next = script.reads.begin();
  for (const BlockScript::Op& one : script.ops) {
    read.clear();
    for (int32_t i = 0; i < one.reads; ++i) read.push_back(tensor(*next++));
    const OpId origin = one.origin < 0 ? OpId() : origins[static_cast<size_t>(one.origin)];
    const size_t before = made.size();
    AddHere(one.part, read, one.device, origin, one.phase, one.own, made);
    for (size_t i = before; i < made.size(); ++i) folder_->Place(made[i], one.device);
    SetLaneBlock(last_, place_);
    arrays_.ops[last_].name = one.name;
    if (one.like) arrays_.ops[last_].like = tensor(*one.like);
    ops.push_back(last_);
  }
  for (const BlockScript::Collective& one : script.collectives) {
    const CollectiveId id =
        Take(block().collectives, used_collectives_, free_collectives_, arrays_.collectives);
    ArrayCollective collective;
    collective.request = one.request;
    collective.over = one.over;
    collective.members.begin = static_cast<int32_t>(arrays_.members.size());
    for (const size_t member : one.members) {
      arrays_.ops[ops[member]].collective = id;
      arrays_.members.push_back(ops[member]);
    }
    collective.members.end = static_cast<int32_t>(arrays_.members.size());
    arrays_.collectives[id] = collective;
  }
  return made;
}

}  // namespace placewright
