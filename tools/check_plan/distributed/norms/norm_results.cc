// What is between the ops of a norm on its way between devices, and which of it is a result.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/cover.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/moved_arguments.h"
#include "check_plan/distributed/norms/moved.h"
#include "check_plan/distributed/norms/norm_check.h"

namespace placewright::check {

// With what it is, where that can be said.
Violation NormCheck::NoResult(OpId op, TensorId tensor) const {
  const Made& made = made_.at(tensor);
  const Norm& norm = norms_.at(made.norm);
  std::string what;
  const Op& stated = original_.op(made.norm.first);
  for (size_t part = 0; part < norm.definition.parts().size(); ++part) {
    for (size_t i = 0; i < stated.outputs.size(); ++i) {
      const size_t result = ResultNumber(original_, stated, i);
      const auto number = static_cast<int32_t>(part);
      if ((made.value.part == number) != (result == 0)) continue;
      const NormValue alone = norm.definition.ResultAlone(static_cast<int32_t>(result), number);
      if (!IsNear(made.value.numbers, alone.numbers)) continue;
      what = fmt::format(": it is \"{}\" of a part alone",
                         Printable(original_.tensor(stated.outputs[i]).name, 80));
    }
  }
  return Wrong(op, ViolationKind::kWrongStatistics,
               fmt::format("reads \"{}\", which is none of the results of \"{}\"{}",
                           Printable(step_.graph.tensor(tensor).name, 80),
                           Printable(stated.name, 80), what));
}

std::vector<OpId> NormCheck::MembersOf(OpId op) const {
  const CollectiveId collective = step_.graph.collective_of(op);
  if (!collective.valid()) return {op};
  return step_.graph.collective(collective).members;
}

bool NormCheck::Moves(OpId op) const {
  for (const OpId member : MembersOf(op)) {
    for (size_t i = 0; i < step_.graph.op(member).inputs.size(); ++i) {
      if (contents_.Read(member, i).content.knowledge == Content::kInner) return true;
    }
  }
  return false;
}

MaybeViolation NormCheck::Move(OpId op) {
  const std::vector<OpId> members = MembersOf(op);
  if (const auto behind = Behind(members)) return SetAll(members, *behind);
  MaybeViolation violation;
  for (const OpId member : members) {
    const auto wrong = WrongMovedArguments(step_.graph.op(member));
    if (wrong && !violation) violation = Wrong(member, ViolationKind::kWrongArgument, *wrong);
  }
  if (!violation) violation = CheckMoved(members);
  if (!violation) violation = Meet(members);
  if (violation) (void)SetAll(members, Content::kUnknown);
  return violation;
}

// All members make the same.
MaybeViolation NormCheck::Meet(const std::vector<OpId>& members) {
  std::vector<const Op*> ops;
  std::vector<const NormValue*> values;
  for (const OpId member : members) {
    ops.push_back(&step_.graph.op(member));
    for (size_t i = 0; i < ops.back()->inputs.size(); ++i) {
      values.push_back(&Find(member, i)->value);
    }
  }
  const NormId norm = Find(members.front(), 0)->norm;
  const std::optional<NormValue> value = MovedNormValue(ops, values);
  for (const OpId member : members) {
    const Op& made = step_.graph.op(member);
    const bool fits =
        value && made.outputs.size() == 1 && !made.is_view && made.writes.empty() &&
        step_.graph.tensor(made.outputs[0]).shape == value->shape &&
        step_.graph.tensor(made.outputs[0]).dtype == step_.graph.tensor(made.inputs[0]).dtype;
    if (!fits) {
      return Wrong(member, ViolationKind::kWrongArgument,
                   "does not put together what is between the ops of a norm");
    }
    MakeInner(norm, made.outputs[0], *value);
  }
  return std::nullopt;
}

// All of it is between the ops of one norm, and no part of x.
MaybeViolation NormCheck::CheckMoved(const std::vector<OpId>& members) const {
  const bool together = step_.graph.collective_of(members.front()).valid();
  NormId norm;
  bool mixed = false;
  for (const OpId member : members) {
    const Op& op = step_.graph.op(member);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Made* const found = Find(member, i);
      const bool inner = found != nullptr && !found->named;
      if (inner && (found->value.part >= 0 || !IsNormMovement(op.type))) {
        return NoResult(member, op.inputs[i]);
      }
      if (inner && !norm.first.valid()) norm = found->norm;
      mixed = mixed || !inner || found->norm != norm;
    }
    if (together || !IsNormCollective(op.type)) continue;
    return Wrong(member, ViolationKind::kMissingCollective, "is a member of no collective");
  }
  if (!mixed) return together ? movement_.CheckMembers(members) : std::nullopt;
  return Wrong(members.front(),
               together ? ViolationKind::kReorderedCollective : ViolationKind::kWrongInput,
               "moves what is between the ops of a norm together with something else");
}

MaybeViolation NormCheck::NameResults(OpId op) {
  const std::vector<OpId> members = MembersOf(op);
  std::vector<NormId> norms;  // of which they read something
  for (const OpId member : members) {
    for (size_t i = 0; i < step_.graph.op(member).inputs.size(); ++i) {
      const Made* const found = Find(member, i);
      if (found != nullptr && found->norm.first != step_.origin[op]) norms.push_back(found->norm);
      const bool of_one = norms.empty() || norms.back().first == norms.front().first;
      if (members.size() == 1 || of_one) continue;
      return Wrong(member, ViolationKind::kReorderedCollective,
                   "is of another norm than its collective's other members");
    }
  }
  for (const NormId& norm : norms) CHECK_PLAN_RETURN_IF_VIOLATED(Cover(norm));
  return std::nullopt;
}

MaybeViolation NormCheck::NameAllResults() {
  for (auto& [id, norm] : norms_) {
    if (!norm.made.empty()) CHECK_PLAN_RETURN_IF_VIOLATED(Cover(id));
  }
  return std::nullopt;
}

MaybeViolation NormCheck::CheckReadsResults(OpId op) const {
  const Op& reader = step_.graph.op(op);
  for (size_t i = 0; i < reader.inputs.size(); ++i) {
    if (contents_.Read(op, i).content.knowledge != Content::kInner) continue;
    if (made_.contains(reader.inputs[i])) return NoResult(op, reader.inputs[i]);
    return Wrong(op, ViolationKind::kWrongInput, "reads what has been made of none of the results");
  }
  return std::nullopt;
}

// From then on what its ops make is named as it is made.
MaybeViolation NormCheck::Cover(NormId id) {
  Norm& norm = norms_.at(id);
  if (norm.covered) return std::nullopt;
  std::vector<Part> parts;
  for (const NormPart& one : norm.definition.parts()) {
    std::vector<PartAlong> along;
    for (const PartAlong& interval : one.part.along) {
      if (interval.dimension != 1) along.push_back(interval);
    }
    parts.push_back({{along.begin(), along.end()}});
  }
  const auto wrong = [&](ViolationKind kind, const std::string& message) {
    return Violation{
        kind,
        fmt::format("the parts of \"{}\" {}", Printable(original_.op(id.first).name, 80), message),
        "step"};
  };
  if (parts.empty()) return wrong(ViolationKind::kMissingSample, "are none");
  const Coverage coverage = CoverageOf(parts);
  switch (coverage.kind) {
    case Coverage::kOnce: break;
    case Coverage::kMixed: return wrong(ViolationKind::kWrongPart, "are of several axes");
    case Coverage::kLayers:
    case Coverage::kTwice:
      return wrong(ViolationKind::kDoubledSample,
                   fmt::format("do not cover it once: {} and {} have something in common",
                               ToString(parts[coverage.at]), ToString(parts[coverage.other])));
    case Coverage::kNotAll:
      return wrong(ViolationKind::kMissingSample,
                   coverage.gap ? fmt::format("do not cover it: [{}, {}) is in none",
                                              coverage.gap->from, coverage.gap->to)
                                : "do not cover it");
  }
  norm.covered = true;
  for (const TensorId tensor : norm.made) Name(tensor);
  return std::nullopt;
}

// A tensor that holds a result of the norm is that result.
void NormCheck::Name(TensorId tensor) {
  Made& made = made_.at(tensor);
  NormDefinition& definition = norms_.at(made.norm).definition;
  const Op& stated = original_.op(made.norm.first);
  const Tensor& here = step_.graph.tensor(tensor);
  for (size_t i = 0; i < stated.outputs.size() && !made.named; ++i) {
    const size_t result = ResultNumber(original_, stated, i);
    const Tensor& due = original_.tensor(stated.outputs[i]);
    const int32_t part = made.value.part;
    if ((part >= 0) != (result == 0) || here.dtype != due.dtype) continue;
    const Part place = part >= 0 ? definition.parts()[static_cast<size_t>(part)].part
                                 : norms_.at(made.norm).channels;
    if (!contents_.Fits(stated.outputs[i], place, tensor)) continue;
    const NormValue value = definition.Result(static_cast<int32_t>(result), part);
    if (!IsNear(made.value.numbers, value.numbers)) continue;
    made.named = SetNamed(
        tensor, {contents_.Same(stated.outputs[i]), place, {Content::kKnown, due.version, {}, {}}});
  }
}

// In a storage of its own, or one of several in a storage that is between the ops.
bool NormCheck::SetNamed(TensorId tensor, const Held& held) {
  const TensorId first = step_.graph.storage(step_.graph.tensor(tensor).storage).first;
  if (first == tensor) {
    contents_.SetFresh(tensor, held);
    return true;
  }
  const auto base = made_.find(first);
  if (base == made_.end() || base->second.named) return false;
  contents_.SetAmong(tensor, held);
  return true;
}

}  // namespace placewright::check
