#include "check_plan/distributed/movement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/instance_check.h"

namespace placewright::check {
namespace {

constexpr std::string_view kAllReduce = "placewright.all_reduce.default";
constexpr std::string_view kPack = "placewright.pack.default";
constexpr std::string_view kAllGather = "placewright.all_gather.default";

// The integers among the arguments behind the first, which is what the op reads.
std::vector<int64_t> NumbersOf(const Op& op) {
  std::vector<int64_t> numbers;
  for (size_t i = 1; i < op.args.size(); ++i) {
    if (const int64_t* number = op.args[i].AsInt()) numbers.push_back(*number);
  }
  return numbers;
}

int64_t ElementsOf(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

// [from, to) of an axis within what is itself a part; the whole piece has one of dimension -1. Nothing where
// that is no interval of the original's tensor.
std::optional<Part> PartWithin(const Part& piece, const AxisPlace& place, Interval interval) {
  const Part inner = PartAt(place, interval);
  if (inner.whole()) return piece;
  if (piece.whole()) return inner;
  if (inner.dimension != piece.dimension) return std::nullopt;
  if (piece.somewhere) {
    return Part{piece.dimension, 1, piece.period, 0, inner.outer * (inner.to - inner.from), true};
  }
  if (inner.outer != piece.outer || inner.period != piece.to - piece.from) return std::nullopt;
  return Part{piece.dimension,         piece.outer,           piece.period,
              piece.from + inner.from, piece.from + inner.to, false};
}

}  // namespace

Violation Movement::Wrong(OpId op, ViolationKind kind, const std::string& message) const {
  return {kind, fmt::format("{} {}", NameOf(original_, step_, op), message), PlaceOf(step_, op)};
}

std::string Movement::NameOfTensor(const Held& held) const {
  return fmt::format("\"{}\"", Printable(original_.tensor(held.tensor).name, 80));
}

std::vector<Held> Movement::ReadAll(OpId op) const {
  std::vector<Held> read;
  for (size_t i = 0; i < step_.graph.op(op).inputs.size(); ++i) {
    read.push_back(contents_.Read(op, i));
  }
  return read;
}

bool Movement::SetUnknownIf(const std::vector<OpId>& ops, const std::vector<Held>& read) {
  const auto is = [&](Content::Knowledge knowledge) {
    return std::any_of(read.begin(), read.end(),
                       [&](const Held& held) { return held.content.knowledge == knowledge; });
  };
  const bool unnamed = std::any_of(read.begin(), read.end(), [](const Held& held) {
    return !held.known() && held.content.buffer < 0;
  });
  if (!unnamed) return false;
  const auto knowledge = is(Content::kUnknown) ? Content::kUnknown : Content::kNotProven;
  for (const OpId op : ops) SetUnknown(original_, step_, op, knowledge, contents_);
  return true;
}

MaybeViolation Movement::Run(OpId op) {
  const CollectiveId collective = step_.graph.collective_of(op);
  const std::vector<OpId> members =
      collective.valid() ? step_.graph.collective(collective).members : std::vector<OpId>{op};
  if (collective.valid()) {
    // The first in the order of execution, behind which the others come.
    const OpId first = *std::min_element(members.begin(), members.end());
    if (op != first) return std::nullopt;
  }
  std::vector<Held> read;
  for (const OpId member : members) {
    for (const Held& held : ReadAll(member)) read.push_back(held);
  }
  const bool packs = step_.graph.op(op).type == kPack;
  if (!packs && SetUnknownIf(members, read)) return std::nullopt;
  MaybeViolation violation;
  if (collective.valid()) {
    violation = CheckMembers(members);
    const std::string_view type = step_.graph.op(op).type;
    const bool buffers = OfBuffers(members);
    if (!violation && type == kAllReduce) {
      violation = buffers ? AllReduceBuffers(members) : AllReduce(members);
    }
    if (!violation && type == kAllGather) violation = AllGather(members);
  } else {
    violation = RunOne(op);
  }
  if (!violation) return std::nullopt;
  const bool not_proven = violation->kind == ViolationKind::kNotProven;
  for (const OpId member : members) {
    SetUnknown(original_, step_, member, not_proven ? Content::kNotProven : Content::kUnknown,
               contents_);
  }
  return violation;
}

MaybeViolation Movement::RunOne(OpId op) {
  const std::string_view type = step_.graph.op(op).type;
  if (type == kAllReduce || type == kAllGather) {
    return Wrong(op, ViolationKind::kMissingCollective, "is a member of no collective");
  }
  if (step_.graph.op(op).inputs.empty()) {
    return Wrong(op, ViolationKind::kNotProven, "is of no op of the original");
  }
  if (type == kPack) return Pack(op);
  if (type == "placewright.unpack.default") return Unpack(op);
  for (const Held& held : ReadAll(op)) {
    if (held.content.buffer < 0) continue;
    return Wrong(op, ViolationKind::kWrongInput, "reads a buffer of several tensors");
  }
  if (type == "placewright.split.default") return Split(op);
  if (type == "placewright.concat.default") return Concat(op);
  if (type == "placewright.add_n.default") return AddN(op);
  if (type == "aten.zeros_like.default") return Zeros(op);
  if (type == "aten.div.Scalar" || type == "aten.div.Tensor") return Divide(op);
  if (type == "aten.copy_.default") return Copy(op);
  if (type == "aten.zero_.default") return Zero(op);
  return Wrong(op, ViolationKind::kNotProven,
               fmt::format("({}) is of no op of the original", Printable(type, 80)));
}

// The one output, in a storage of its own.
MaybeViolation Movement::Make(OpId op, const Held& held) {
  const Op& made = step_.graph.op(op);
  if (made.outputs.size() != 1 || made.is_view || !made.writes.empty()) {
    return Wrong(op, ViolationKind::kWrongArgument, "must make one tensor of its own");
  }
  if (!contents_.Fits(held.tensor, held.part, made.outputs[0])) {
    return Wrong(op, ViolationKind::kWrongArgument,
                 fmt::format("makes an output of other sizes than {} of {} has",
                             ToString(held.part), NameOfTensor(held)));
  }
  contents_.SetFresh(made.outputs[0], held);
  return std::nullopt;
}

MaybeViolation Movement::Split(OpId op) {
  Held held = contents_.Read(op, 0);
  const std::vector<int64_t> numbers = NumbersOf(step_.graph.op(op));
  const std::vector<int64_t>& shape = step_.graph.tensor(step_.graph.op(op).inputs[0]).shape;
  const bool given = numbers.size() == 5 && numbers[0] >= 0 &&
                     static_cast<size_t>(numbers[0]) < shape.size() && numbers[1] > 0 &&
                     numbers[2] > 0 && numbers[3] >= 0 && numbers[3] < numbers[4] &&
                     numbers[4] <= numbers[2];
  const int64_t size = given ? shape[static_cast<size_t>(numbers[0])] : 0;
  if (!given || size % (numbers[1] * numbers[2]) != 0) {
    return Wrong(op, ViolationKind::kWrongArgument,
                 fmt::format("does not split {} by an axis that it has", NameOfTensor(held)));
  }
  const AxisPlace place = {static_cast<int32_t>(numbers[0]), numbers[1], numbers[2],
                           size / (numbers[1] * numbers[2])};
  const auto part = PartWithin(held.part, place, {numbers[3], numbers[4]});
  if (!part) {
    return Wrong(
        op, ViolationKind::kNotProven,
        fmt::format("splits {} of {} by another axis", ToString(held.part), NameOfTensor(held)));
  }
  held.part = *part;
  return Make(op, held);
}

MaybeViolation Movement::CheckSame(OpId op, const Held& first, const Held& other) const {
  if (first.tensor != other.tensor) {
    return Wrong(op, ViolationKind::kWrongInput,
                 fmt::format("joins {} with {}", NameOfTensor(first), NameOfTensor(other)));
  }
  if (first.content.version != other.content.version) {
    return Wrong(op, ViolationKind::kWrongInput,
                 fmt::format("joins {} at version {} with version {}", NameOfTensor(first),
                             first.content.version, other.content.version));
  }
  if (first.content.division == other.content.division) return std::nullopt;
  return Wrong(
      op, ViolationKind::kLocalDivisor,
      fmt::format("joins what has been divided with what has not, of {}", NameOfTensor(first)));
}

MaybeViolation Movement::Join(OpId op, std::vector<Held> read, Held& joined) const {
  joined = read.front();
  if (read.size() == 1) return std::nullopt;
  Part& part = joined.part;
  for (size_t i = 1; i < read.size(); ++i) {
    const Held& next = read[i];
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckSame(op, joined, next));
    if (!(next.content.addend == joined.content.addend)) {
      return Wrong(op, ViolationKind::kLostSum,
                   fmt::format("joins different shares of the sum {}", NameOfTensor(joined)));
    }
    const bool alike = !part.whole() && part.dimension == next.part.dimension &&
                       part.period == next.part.period && part.outer == next.part.outer;
    const bool somewhere = part.somewhere || next.part.somewhere;
    if (!alike || (!somewhere && next.part.from != part.to)) {
      return Wrong(op, ViolationKind::kWrongPart,
                   fmt::format("has {} of {} behind {}", ToString(next.part), NameOfTensor(joined),
                               ToString(part)));
    }
    part.to += next.part.to - next.part.from;
    part.somewhere = somewhere;
  }
  if (part.from == 0 && part.to == part.period) part = {};
  return std::nullopt;
}

MaybeViolation Movement::Concat(OpId op) {
  const std::vector<Held> read = ReadAll(op);
  Held joined;
  CHECK_PLAN_RETURN_IF_VIOLATED(Join(op, read, joined));
  const std::vector<int64_t> numbers = NumbersOf(step_.graph.op(op));
  const Part& first = read.front().part;
  const bool right = numbers.size() == 2 && numbers[0] == first.dimension &&
                     (numbers[1] == first.outer || first.somewhere);
  if (right || read.size() == 1) return Make(op, joined);
  return Wrong(
      op, ViolationKind::kWrongArgument,
      fmt::format("joins the parts of {} along another axis than theirs", NameOfTensor(joined)));
}

MaybeViolation Movement::Sum(OpId op, const std::vector<Held>& read, Held& sum) const {
  const auto is_zero = [](const Held& held) { return held.content.addend.kind == Addend::kZero; };
  const auto first = std::find_if_not(read.begin(), read.end(), is_zero);
  sum = first == read.end() ? read.front() : *first;
  std::vector<Addend> addends;
  for (const Held& held : read) {
    addends.push_back(held.content.addend);
    if (is_zero(held)) continue;
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckSame(op, sum, held));
    if (held.part == sum.part) continue;
    return Wrong(op, ViolationKind::kWrongPart,
                 fmt::format("adds {} of {} to {}", ToString(held.part), NameOfTensor(sum),
                             ToString(sum.part)));
  }
  const Sums::Total total = sums_.Add(addends);
  if (total.fault == Sums::Fault::kTwice) {
    return Wrong(op, ViolationKind::kDoubledSum,
                 fmt::format("adds a share of {} twice", NameOfTensor(sum)));
  }
  if (total.fault == Sums::Fault::kForeign) {
    return Wrong(op, ViolationKind::kLostSum,
                 fmt::format("adds shares of different sums to {}", NameOfTensor(sum)));
  }
  sum.content.addend = total.addend;
  return std::nullopt;
}

MaybeViolation Movement::AddN(OpId op) {
  Held sum;
  CHECK_PLAN_RETURN_IF_VIOLATED(Sum(op, ReadAll(op), sum));
  return Make(op, sum);
}

MaybeViolation Movement::Zeros(OpId op) {
  Held held = contents_.Read(op, 0);
  held.content.addend = {Addend::kZero, -1, {}};
  held.content.division = {};
  return Make(op, held);
}

MaybeViolation Movement::Divide(OpId op) {
  const Op& made = step_.graph.op(op);
  Held held = contents_.Read(op, 0);
  const Division due = std::exchange(held.content.division, {});
  if (!due.due()) {
    return Wrong(op, ViolationKind::kLocalDivisor,
                 fmt::format("divides {}, which needs no division", NameOfTensor(held)));
  }
  if (made.inputs.size() == 1) {
    const bool right = due.number && made.args.size() == 2 && made.args[1] == Value(*due.number);
    if (right) return Make(op, held);
    return Wrong(op, ViolationKind::kLocalDivisor,
                 fmt::format("divides {} by {}, where {} is due", NameOfTensor(held),
                             made.args.size() == 2 ? ToString(made.args[1]) : "nothing",
                             due.number ? fmt::format("{}", *due.number) : "a weight"));
  }
  const Held weight = contents_.Read(op, 1);
  const bool right = due.tensor.valid() && made.inputs.size() == 2 && made.args.size() == 2 &&
                     weight.tensor == due.tensor && weight.part.whole() &&
                     weight.content.addend.kind == Addend::kWhole;
  if (right) return Make(op, held);
  return Wrong(op, ViolationKind::kLocalDivisor,
               fmt::format("divides {} by {}, where the weight of all parts is due",
                           NameOfTensor(held), NameOfTensor(weight)));
}

// A piece gets what was made of it elsewhere. Its storage is up to date then, if it was but for what has been
// written there.
MaybeViolation Movement::Copy(OpId op) {
  const Op& made = step_.graph.op(op);
  if (made.inputs.size() != 2 || made.writes != std::vector<TensorId>{made.inputs[0]} ||
      made.outputs.size() != 1) {
    return Wrong(op, ViolationKind::kWrongArgument, "must write its first input");
  }
  const Held before = contents_.Read(op, 0), value = contents_.Read(op, 1);
  if (value.tensor != before.tensor && value.content.addend.kind != Addend::kZero) {
    return Wrong(op, ViolationKind::kWrongInput,
                 fmt::format("writes {} over {}", NameOfTensor(value), NameOfTensor(before)));
  }
  if (!(value.part == before.part)) {
    return Wrong(op, ViolationKind::kWrongPart,
                 fmt::format("writes {} of {} over {}", ToString(value.part), NameOfTensor(before),
                             ToString(before.part)));
  }
  const StorageId storage = original_.tensor(before.tensor).storage;
  const OpId writer =
      original_.storage(storage).versions[static_cast<size_t>(value.content.version)].writer;
  const auto wrote = [&](TensorId id) { return contents_.Same(id) == before.tensor; };
  const bool next =
      value.content.version == before.content.version + 1 && writer.valid() &&
      std::any_of(original_.op(writer).writes.begin(), original_.op(writer).writes.end(), wrote) &&
      before.content.addend.kind == Addend::kWhole && value.content.addend.kind == Addend::kWhole;
  if (!next && !contents_.Covers(before.tensor)) {
    return Wrong(op, ViolationKind::kNotProven,
                 fmt::format("writes a view of the storage of {}", NameOfTensor(before)));
  }
  contents_.SetWritten(op, made.inputs[0], value.content);
  contents_.SetName(made.outputs[0], before.tensor, before.part, made.inputs[0]);
  return std::nullopt;
}

MaybeViolation Movement::Zero(OpId op) {
  const Op& made = step_.graph.op(op);
  const Held before = contents_.Read(op, 0);
  if (made.inputs.size() != 1 || made.writes != made.inputs || made.outputs.size() != 1) {
    return Wrong(op, ViolationKind::kWrongArgument, "must write its input");
  }
  if (!contents_.Covers(before.tensor) && before.content.addend.kind != Addend::kZero) {
    return Wrong(op, ViolationKind::kNotProven,
                 fmt::format("writes a view of the storage of {}", NameOfTensor(before)));
  }
  Content content = before.content;
  content.addend = {Addend::kZero, -1, {}};
  contents_.SetWritten(op, made.inputs[0], content);
  contents_.SetName(made.outputs[0], before.tensor, before.part, made.inputs[0]);
  return std::nullopt;
}

MaybeViolation Movement::CheckMembers(const std::vector<OpId>& members) const {
  const std::string_view type = step_.graph.op(members.front()).type;
  if (type != kAllReduce && type != kAllGather) {
    return Wrong(members.front(), ViolationKind::kNotProven,
                 fmt::format("is a collective of an unknown kind, {}", Printable(type, 80)));
  }
  std::vector<DeviceId> devices;
  for (const OpId member : members) {
    const Op& op = step_.graph.op(member);
    if (op.type != type || op.inputs.size() != 1) {
      return Wrong(member, ViolationKind::kReorderedCollective,
                   fmt::format("is {}, the collective's other members are {}",
                               Printable(op.type, 80), type));
    }
    const DeviceId device = step_.placement[member];
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
      return Wrong(member, ViolationKind::kWrongDevice,
                   "is on a device that has another member of its collective");
    }
    devices.push_back(device);
  }
  if (OfBuffers(members)) return std::nullopt;
  const Held first = contents_.Read(members.front(), 0);
  for (const OpId member : members) {
    const Held held = contents_.Read(member, 0);
    const bool zero = held.content.addend.kind == Addend::kZero;
    if (zero || CheckSame(member, first, held) == std::nullopt) continue;
    return Wrong(member, ViolationKind::kReorderedCollective,
                 fmt::format("has {} in a collective that is of {}", NameOfTensor(held),
                             NameOfTensor(first)));
  }
  return std::nullopt;
}

MaybeViolation Movement::AllReduce(const std::vector<OpId>& members) {
  std::vector<Held> read;
  for (const OpId member : members) read.push_back(contents_.Read(member, 0));
  Held sum;
  CHECK_PLAN_RETURN_IF_VIOLATED(Sum(members.front(), read, sum));
  for (const OpId member : members) CHECK_PLAN_RETURN_IF_VIOLATED(Make(member, sum));
  return std::nullopt;
}

// Pieces behind one another in one dimension: a buffer of them.
MaybeViolation Movement::Pack(OpId op) {
  const Op& made = step_.graph.op(op);
  if (made.outputs.size() != 1 || made.is_view || !made.writes.empty()) {
    return Wrong(op, ViolationKind::kWrongArgument, "must make one tensor of its own");
  }
  std::vector<Held> pieces = ReadAll(op);
  int64_t elements = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].length = ElementsOf(step_.graph.tensor(made.inputs[i]).shape);
    elements += pieces[i].length;
  }
  if (step_.graph.tensor(made.outputs[0]).shape != std::vector<int64_t>{elements}) {
    return Wrong(op, ViolationKind::kWrongArgument,
                 fmt::format("makes a buffer of another size than {}", elements));
  }
  contents_.SetFresh(made.outputs[0], {TensorId(), {}, contents_.AddBuffer(std::move(pieces))});
  return std::nullopt;
}

// A view of one of a buffer's pieces.
MaybeViolation Movement::Unpack(OpId op) {
  const Op& made = step_.graph.op(op);
  const Held held = contents_.Read(op, 0);
  const int64_t* const from = made.args.size() == 3 ? made.args[1].AsInt() : nullptr;
  if (from == nullptr || made.outputs.size() != 1 || !made.is_view || held.content.buffer < 0) {
    return Wrong(op, ViolationKind::kWrongArgument, "must view a part of a buffer");
  }
  const std::vector<Held>& pieces = contents_.BufferOf(held.content);
  int64_t next = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Held& piece = pieces[i];
    const bool fits = piece.known() && contents_.Fits(piece.tensor, piece.part, made.outputs[0]);
    if (next == *from && (fits || !piece.known())) {
      contents_.SetPlace(made.outputs[0], static_cast<int32_t>(i));
      return std::nullopt;
    }
    next += piece.length;
  }
  return Wrong(op, ViolationKind::kWrongPart, "views what is none of the buffer's tensors");
}

bool Movement::OfBuffers(const std::vector<OpId>& members) const {
  return std::all_of(members.begin(), members.end(),
                     [&](OpId member) { return contents_.Read(member, 0).content.buffer >= 0; });
}

// Tensor by tensor.
MaybeViolation Movement::AllReduceBuffers(const std::vector<OpId>& members) {
  std::vector<std::vector<Held>> read;
  for (const OpId member : members) {
    read.push_back(contents_.BufferOf(contents_.Read(member, 0).content));
    if (read.back().size() == read.front().size()) continue;
    return Wrong(member, ViolationKind::kReorderedCollective, "adds buffers of different tensors");
  }
  std::vector<Held> sums;
  for (size_t i = 0; i < read.front().size(); ++i) {
    std::vector<Held> pieces;
    for (const std::vector<Held>& buffer : read) pieces.push_back(buffer[i]);
    Held sum = pieces.front();
    const bool known =
        std::all_of(pieces.begin(), pieces.end(), [](const Held& piece) { return piece.known(); });
    if (known) {
      CHECK_PLAN_RETURN_IF_VIOLATED(Sum(members.front(), pieces, sum));
    } else {
      sum = {TensorId(), {}, {Content::kNotProven, -1, {}, {}}, sum.length};
    }
    sums.push_back(sum);
  }
  const Content content = contents_.AddBuffer(std::move(sums));
  for (const OpId member : members) {
    const Op& op = step_.graph.op(member);
    if (op.outputs.size() != 1 || op.is_view || !op.writes.empty()) {
      return Wrong(member, ViolationKind::kWrongArgument, "must make one tensor of its own");
    }
    contents_.SetFresh(op.outputs[0], {TensorId(), {}, content});
  }
  return std::nullopt;
}

// Each member says which interval it contributes.
MaybeViolation Movement::AllGather(const std::vector<OpId>& members) {
  std::vector<Held> read;
  for (const OpId member : members) {
    const Held held = contents_.Read(member, 0);
    const std::vector<int64_t> numbers = NumbersOf(step_.graph.op(member));
    const bool given = numbers.size() == 5 && numbers[0] >= 0 && numbers[1] > 0 && numbers[2] > 0 &&
                       numbers[0] == held.part.dimension;
    const int64_t size = held.part.outer * held.part.period;
    if (!given || size % (numbers[1] * numbers[2]) != 0) {
      return Wrong(
          member, ViolationKind::kWrongArgument,
          fmt::format("does not gather the axis by which {} is split", NameOfTensor(held)));
    }
    const AxisPlace place = {held.part.dimension, numbers[1], numbers[2],
                             size / (numbers[1] * numbers[2])};
    const Part stated = PartAt(place, {numbers[3], numbers[4]});
    if (!held.part.somewhere && !(stated == held.part)) {
      return Wrong(member, ViolationKind::kWrongArgument,
                   fmt::format("states {} of {}, but has {}", ToString(stated), NameOfTensor(held),
                               ToString(held.part)));
    }
    read.push_back(held);
  }
  std::sort(read.begin(), read.end(),
            [](const Held& a, const Held& b) { return a.part.from < b.part.from; });
  Held joined;
  CHECK_PLAN_RETURN_IF_VIOLATED(Join(members.front(), read, joined));
  if (!joined.part.whole()) {
    return Wrong(members.front(), ViolationKind::kMissingCollective,
                 fmt::format("gathers only {} of {}", ToString(joined.part), NameOfTensor(joined)));
  }
  for (const OpId member : members) CHECK_PLAN_RETURN_IF_VIOLATED(Make(member, joined));
  return std::nullopt;
}

}  // namespace placewright::check
