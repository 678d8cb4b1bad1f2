#include "check_plan/distributed/norms/norm_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/norms/calls.h"

namespace placewright::check {
Violation NormCheck::Wrong(OpId op, ViolationKind kind, const std::string& message) const {
  return {kind, fmt::format("{} {}", NameOf(original_, step_, op), message), PlaceOf(step_, op)};
}

size_t NormCheck::ResultNumber(const Graph& graph, const Op& op, size_t output) {
  const int32_t index = graph.tensor(op.outputs[output]).output_index;
  return index >= 0 ? static_cast<size_t>(index) : output;
}

std::string NormCheck::NameOfInput(OpId norm, int32_t input) const {
  const TensorId id = original_.op(norm).inputs[static_cast<size_t>(input)];
  return fmt::format("\"{}\"", Printable(original_.tensor(id).name, 80));
}

// Inputs that are one tensor have one value.
bool NormCheck::Follow(OpId norm, const std::vector<OpId>& ops) {
  std::optional<StatedNorm> stated = StatedNormOf(original_.op(norm));
  const bool all = std::all_of(ops.begin(), ops.end(),
                               [&](OpId op) { return IsNormCall(step_.graph.op(op).type); });
  if (!stated || !all) return false;
  for (int32_t* const input :
       {&stated->grad, &stated->x, &stated->weight, &stated->bias, &stated->running_mean,
        &stated->running_var, &stated->save_mean, &stated->save_invstd}) {
    if (*input < 0) continue;
    *input = RoleOf(norm, contents_.Same(original_.op(norm).inputs[static_cast<size_t>(*input)]));
  }
  stated_.emplace(norm, *stated);
  return true;
}

bool NormCheck::IsOfParts(OpId norm, int32_t role) const {
  const StatedNorm& stated = stated_.at(norm);
  return role == stated.x || role == stated.grad;
}

NormCheck::NormId NormCheck::OfChannels(OpId norm, const Part& channels) {
  NormId id(norm, 0);
  for (auto at = norms_.find(id); at != norms_.end(); at = norms_.find(id)) {
    if (at->second.channels == channels) return id;
    ++id.second;
  }
  const uint64_t seed = norm.index() + (static_cast<uint64_t>(id.second) << 32);
  norms_.emplace(id, Norm{channels, NormDefinition(stated_.at(norm), seed), {}, false});
  return id;
}

// The channels of all that the op reads.
MaybeViolation NormCheck::FindNorm(OpId op, NormId& norm) {
  const Op& made = step_.graph.op(op);
  norm = {step_.origin[op], -1};
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    const Made* const found = Find(op, i);
    const Held held = contents_.Read(op, i);
    NormId own = norm;
    if (found != nullptr && found->norm.first == norm.first) {
      own = found->norm;
    } else {
      const int32_t role = held.known() ? RoleOf(norm.first, held.tensor) : -1;
      if (role < 0 || held.part.somewhere()) continue;
      const bool of_parts = IsOfParts(norm.first, role);
      std::vector<PartAlong> channels;
      for (PartAlong one : held.part.along) {
        if (of_parts && one.dimension != 1) continue;
        one.dimension = 0;
        channels.push_back(one);
      }
      own = OfChannels(norm.first, Merged(std::move(channels)));
    }
    if (norm.second < 0) norm = own;
    if (norm == own) continue;
    return Wrong(op, ViolationKind::kWrongPart,
                 fmt::format("reads \"{}\" with other channels than its other inputs have",
                             Printable(step_.graph.tensor(made.inputs[i]).name, 80)));
  }
  if (norm.second < 0) norm = OfChannels(norm.first, {});
  return std::nullopt;
}

// The first input of the norm that is that tensor; -1: none.
int32_t NormCheck::RoleOf(OpId norm, TensorId tensor) const {
  const std::vector<TensorId>& inputs = original_.op(norm).inputs;
  const auto found = std::find_if(inputs.begin(), inputs.end(),
                                  [&](TensorId id) { return contents_.Same(id) == tensor; });
  return found == inputs.end() ? -1 : static_cast<int32_t>(found - inputs.begin());
}

// Nothing where something has been written there since.
const NormCheck::Made* NormCheck::Find(OpId op, size_t input) const {
  const TensorId id = step_.graph.op(op).inputs[input];
  const auto found = made_.find(id);
  const bool there = found != made_.end() &&
                     step_.graph.op(op).input_versions[input] == step_.graph.tensor(id).version;
  return there ? &found->second : nullptr;
}

std::optional<Content::Knowledge> NormCheck::Behind(const std::vector<OpId>& ops) const {
  std::optional<Content::Knowledge> behind;
  for (const OpId op : ops) {
    for (size_t i = 0; i < step_.graph.op(op).inputs.size(); ++i) {
      const Content::Knowledge knowledge = contents_.Read(op, i).content.knowledge;
      if (knowledge == Content::kUnknown) return knowledge;
      if (knowledge == Content::kNotProven) behind = knowledge;
    }
  }
  return behind;
}

MaybeViolation NormCheck::SetAll(const std::vector<OpId>& ops, Content::Knowledge knowledge) {
  for (const OpId op : ops) SetUnknown(original_, step_, op, knowledge, contents_);
  if (knowledge != Content::kNotProven) return std::nullopt;
  return Wrong(ops.front(), ViolationKind::kNotProven, "reads what is not proven");
}

MaybeViolation NormCheck::Run(OpId op) {
  CHECK_PLAN_RETURN_IF_VIOLATED(NameResults(op));
  if (const auto behind = Behind({op})) return SetAll({op}, *behind);
  std::vector<const NormValue*> values;
  MaybeViolation violation = FindNorm(op, norm_);
  if (!violation) violation = ReadAll(op, values);
  if (!violation) {
    Norm& norm = norms_.at(norm_);
    auto results = RunNormCall(step_.graph.op(op), values, norm.definition.parts());
    violation = results ? Keep(op, *std::move(results))
                        : Wrong(op, ViolationKind::kWrongArgument,
                                fmt::format("({}) has arguments that a norm in parts has not",
                                            Printable(step_.graph.op(op).type, 80)));
  }
  if (violation) (void)SetAll({op}, Content::kUnknown);
  return violation;
}

MaybeViolation NormCheck::ReadAll(OpId op, std::vector<const NormValue*>& values) {
  const Op& made = step_.graph.op(op);
  inputs_.clear();
  inputs_.reserve(made.inputs.size());
  int32_t part = -1;
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    const Made* const found = Find(op, i);
    if (found == nullptr || found->norm != norm_) continue;
    part = std::max(part, found->value.part);
    const OpId maker = step_.graph.tensor(made.inputs[i]).producer;
    if (step_.placement[maker] == step_.placement[op]) continue;
    return Wrong(op, ViolationKind::kWrongDevice,
                 fmt::format("reads \"{}\", which another device has made of its part",
                             Printable(step_.graph.tensor(made.inputs[i]).name, 80)));
  }
  // What has no place of its own has that of the others.
  values.assign(made.inputs.size(), nullptr);
  for (const bool somewhere : {false, true}) {
    for (size_t i = 0; i < made.inputs.size(); ++i) {
      const Made* const found = Find(op, i);
      if (found != nullptr && found->norm == norm_) {
        values[i] = &found->value;
      } else if (contents_.Read(op, i).part.somewhere() == somewhere) {
        CHECK_PLAN_RETURN_IF_VIOLATED(ReadInput(op, i, part));
        values[i] = &inputs_.back();
      }
    }
  }
  if (part >= 0) {
    part_read_[op] = norms_.at(norm_).definition.parts()[static_cast<size_t>(part)].part;
  }
  return std::nullopt;
}

// An input of the norm; where it is one of x's sizes `part` is which part it is.
MaybeViolation NormCheck::ReadInput(OpId op, size_t input, int32_t& part) {
  const OpId norm = step_.origin[op];
  const TensorId id = step_.graph.op(op).inputs[input];
  const Held held = contents_.Read(op, input);
  if (held.content.knowledge == Content::kInner && made_.contains(id)) return NoResult(op, id);
  const int32_t role = held.known() ? RoleOf(norm, held.tensor) : -1;
  if (role < 0) {
    return Wrong(op, ViolationKind::kWrongInput,
                 fmt::format("reads \"{}\", which is no input of the norm",
                             Printable(step_.graph.tensor(id).name, 80)));
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckVersion(op, role, held));
  NormDefinition& definition = norms_.at(norm_).definition;
  const bool of_parts = IsOfParts(norm, role);
  if (of_parts) CHECK_PLAN_RETURN_IF_VIOLATED(FindPart(op, role, held, part));
  const std::vector<int64_t>& shape = step_.graph.tensor(id).shape;
  const Part due =
      of_parts ? definition.parts()[static_cast<size_t>(part)].part : norms_.at(norm_).channels;
  if (!contents_.Fits(original_.op(norm).inputs[static_cast<size_t>(role)], due, id)) {
    return Wrong(op, ViolationKind::kWrongPart,
                 fmt::format("has {} of {} where {} is due", ToString(held.part),
                             NameOfInput(norm, role), ToString(due)));
  }
  inputs_.push_back(definition.Input(role, shape, of_parts ? part : -1));
  return std::nullopt;
}

MaybeViolation NormCheck::CheckVersion(OpId op, int32_t role, const Held& held) const {
  const OpId norm = step_.origin[op];
  const Op& stated = original_.op(norm);
  const int32_t due = contents_.DueVersion(stated.inputs[static_cast<size_t>(role)],
                                           stated.input_versions[static_cast<size_t>(role)]);
  if (held.content.addend.kind != Addend::kWhole) {
    return Wrong(op, ViolationKind::kLostSum,
                 fmt::format("reads shares of the sum {} as if they were all of it",
                             NameOfInput(norm, role)));
  }
  if (held.content.division.due()) {
    return Wrong(op, ViolationKind::kLocalDivisor,
                 fmt::format("reads {} before it has been divided", NameOfInput(norm, role)));
  }
  if (held.content.version == due) return std::nullopt;
  const StorageId storage = original_.tensor(stated.inputs[static_cast<size_t>(role)]).storage;
  const bool kept = IsPersistent(original_.storage(storage).kind);
  return Wrong(op, kept ? ViolationKind::kStaleParameter : ViolationKind::kWrongInput,
               fmt::format("reads {} at version {} where version {} is due",
                           NameOfInput(norm, role), held.content.version, due));
}

// Where it says itself which part it is it must be that of the op's other inputs.
MaybeViolation NormCheck::FindPart(OpId op, int32_t role, const Held& held, int32_t& part) {
  const OpId norm = step_.origin[op];
  NormDefinition& definition = norms_.at(norm_).definition;
  const TensorId x = original_.op(norm).inputs[static_cast<size_t>(role)];
  const auto wrong = [&](std::string_view message) {
    return Wrong(
        op, ViolationKind::kWrongPart,
        fmt::format("has {} of {}, {}", ToString(held.part), NameOfInput(norm, role), message));
  };
  if (held.part.somewhere()) {
    if (part >= 0) return std::nullopt;
    return Wrong(op, ViolationKind::kNotProven,
                 fmt::format("has a part of {} without a place", NameOfInput(norm, role)));
  }
  const auto shape = ShapeOf(original_.tensor(x).shape, held.part);
  if (held.part.whole() || !shape || CountOf(*shape) == 0) {
    return wrong("where a part of its samples or places is due");
  }
  const std::vector<NormPart>& parts = definition.parts();
  auto found = static_cast<int32_t>(
      std::find_if(parts.begin(), parts.end(),
                   [&](const NormPart& one) { return one.part == held.part; }) -
      parts.begin());
  if (found == static_cast<int32_t>(parts.size())) {
    if (norms_.at(norm_).covered) return wrong("of which the norm has no statistics");
    found = definition.Add(held.part, *shape);
  }
  if (part >= 0 && found != part) return wrong("which is another than that of its other inputs");
  part = found;
  return std::nullopt;
}

// What an op makes. Only running statistics are written in place.
MaybeViolation NormCheck::Keep(OpId op, std::vector<NormValue> results) {
  const Op& made = step_.graph.op(op);
  const bool in_place = made.type == "aten.lerp_.Scalar";
  if (in_place) return CheckWritten(op, results.front());
  if (!made.writes.empty()) {
    return Wrong(op, ViolationKind::kWrongArgument, "must write nothing in place");
  }
  for (size_t i = 0; i < made.outputs.size(); ++i) {
    const size_t result = ResultNumber(step_.graph, made, i);
    const bool fits = result < results.size() &&
                      results[result].shape == step_.graph.tensor(made.outputs[i]).shape;
    if (!fits) {
      return Wrong(op, ViolationKind::kWrongArgument,
                   "makes an output of other sizes than are due");
    }
    MakeInner(norm_, made.outputs[i], std::move(results[result]));
  }
  return std::nullopt;
}

void NormCheck::MakeInner(NormId norm, TensorId tensor, NormValue value) {
  contents_.SetInner(tensor);
  made_[tensor] = {norm, std::move(value), false};
  norms_.at(norm).made.push_back(tensor);
  if (norms_.at(norm).covered) Name(tensor);
}

MaybeViolation NormCheck::CheckWritten(OpId op, const NormValue& value) {
  const Op& made = step_.graph.op(op);
  const OpId norm = step_.origin[op];
  const Op& stated = original_.op(norm);
  const bool alone =
      made.writes == std::vector<TensorId>{made.inputs[0]} && made.outputs.size() == 1 &&
      step_.graph.tensor(made.outputs[0]).storage == step_.graph.tensor(made.inputs[0]).storage;
  const Held held = contents_.Read(op, 0);
  const int32_t role =
      alone && Find(op, 0) == nullptr && held.known() ? RoleOf(norm, held.tensor) : -1;
  const TensorId input = role < 0 ? TensorId() : stated.inputs[static_cast<size_t>(role)];
  if (std::find(stated.writes.begin(), stated.writes.end(), input) == stated.writes.end()) {
    return Wrong(op, ViolationKind::kWrongArgument, "must write running statistics of the norm");
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(Cover(norm_));
  if (!IsNear(value.numbers, norms_.at(norm_).definition.Left(role).numbers)) {
    return Wrong(
        op, ViolationKind::kWrongStatistics,
        fmt::format("leaves other values in {} than the norm does", NameOfInput(norm, role)));
  }
  const StorageId storage = original_.tensor(input).storage;
  contents_.SetWritten(op, made.inputs[0],
                       {Content::kKnown, contents_.VersionBy(norm, storage), {}, {}});
  contents_.SetName(made.outputs[0], held.tensor, held.part, made.inputs[0]);
  return std::nullopt;
}

}  // namespace placewright::check
