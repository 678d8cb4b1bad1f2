#include "check_plan/distributed/movement.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/counted_rows.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/moved_arguments.h"
#include "check_plan/distributed/stated_part.h"
#include "cost/communication/coalesced_types.h"

namespace placewright::check {
namespace {

constexpr std::string_view kPack = "placewright.pack.default";

bool IsShape(const Value& value, const std::vector<int64_t>& shape) {
  Value::List sizes;
  for (const int64_t size : shape) sizes.emplace_back(size);
  return value == Value(std::move(sizes));
}

int64_t ElementsOf(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
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
  std::vector<Held> read;
  for (const OpId member : members) {
    for (const Held& held : ReadAll(member)) read.push_back(held);
  }
  const bool packs = step_.graph.op(op).type == kPack;
  if (!packs && SetUnknownIf(members, read)) return CheckArguments(members);
  MaybeViolation violation = CheckArguments(members);
  if (!violation) violation = CheckOrder(members);
  if (violation) {
    // They are of no call of that op, or of no op on what they read.
  } else if (collective.valid()) {
    violation = RunTogether(members);
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

MaybeViolation Movement::CheckOrder(const std::vector<OpId>& members) const {
  for (const OpId member : members) {
    const Op& op = step_.graph.op(member);
    const bool cuts = op.type == "placewright.split.default" ||
                      op.type == "placewright.reduce_scatter.default" ||
                      op.type == "placewright.reduce_scatter.coalesced" ||
                      op.type == "placewright.all_to_all.default";
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Held held = contents_.Read(member, i);
      if (!held.known() || !facets_.in_own_order(held.tensor)) continue;
      const auto counted = [&] {
        return RowsCounted(original_, step_, facets_, contents_, op.inputs[i]);
      };
      const bool whole = held.part.whole() && (!facets_.Counts(held.tensor) || counted().whole());
      if (whole && !cuts) continue;
      return Wrong(
          member, ViolationKind::kNotProven,
          fmt::format("moves or joins rows of {}, of which every part has an order of its own",
                      NameOfTensor(held)));
    }
  }
  return std::nullopt;
}

MaybeViolation Movement::CheckArguments(const std::vector<OpId>& members) const {
  for (const OpId member : members) {
    const auto wrong = WrongMovedArguments(step_.graph.op(member));
    if (wrong) return Wrong(member, ViolationKind::kWrongArgument, *wrong);
  }
  return std::nullopt;
}

MaybeViolation Movement::RunOne(OpId op) {
  const std::string_view type = step_.graph.op(op).type;
  if (IsCollectiveType(type)) {
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

// The one output, or that of the tensor of which it is the turn, in a storage of its own.
MaybeViolation Movement::Make(OpId op, const Held& held) {
  const Op& made = step_.graph.op(op);
  const size_t due = IsCoalesced(made.type) ? made.inputs.size() : 1;
  if (made.outputs.size() != due || made.is_view || !made.writes.empty()) {
    return Wrong(op, ViolationKind::kWrongArgument,
                 due == 1 ? "must make one tensor of its own"
                          : "must make one tensor of its own for each that it reads");
  }
  const TensorId output = made.outputs[turn_];
  if (!contents_.Fits(held.tensor, held.part, output)) {
    return Wrong(op, ViolationKind::kWrongArgument,
                 fmt::format("makes an output of other sizes than {} of {} has",
                             ToString(held.part), NameOfTensor(held)));
  }
  if (step_.graph.tensor(output).dtype != original_.tensor(held.tensor).dtype) {
    return Wrong(op, ViolationKind::kWrongArgument,
                 fmt::format("makes an output of another dtype than {} has", NameOfTensor(held)));
  }
  contents_.SetFresh(output, held);
  return std::nullopt;
}

MaybeViolation Movement::Split(OpId op) {
  Held held = contents_.Read(op, 0);
  CHECK_PLAN_RETURN_IF_VIOLATED(TakePart(op, held));
  return Make(op, held);
}

// Of what the op reads, the part that its arguments state.
MaybeViolation Movement::TakePart(OpId op, Held& held) const {
  const auto stated = StatedPartOf(NumbersBy(op), InputOf(op).shape);
  if (!stated) {
    return Wrong(op, ViolationKind::kWrongArgument,
                 fmt::format("does not split {} by an axis that it has", NameOfTensor(held)));
  }
  const auto part = PartWithin(original_.tensor(held.tensor).shape, held.part, *stated);
  if (!part) {
    return Wrong(op, ViolationKind::kNotProven,
                 fmt::format("splits {} of {} where no axis of it can be split",
                             ToString(held.part), NameOfTensor(held)));
  }
  held.part = *part;
  return std::nullopt;
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

MaybeViolation Movement::Join(OpId op, const std::vector<Held>& read, int32_t dimension,
                              Held& joined) const {
  joined = read.front();
  if (read.size() == 1) return std::nullopt;
  std::vector<Part> parts;
  for (const Held& next : read) {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckSame(op, joined, next));
    if (!(next.content.addend == joined.content.addend)) {
      return Wrong(op, ViolationKind::kLostSum,
                   fmt::format("joins different shares of the sum {}", NameOfTensor(joined)));
    }
    parts.push_back(next.part);
  }
  const std::vector<int64_t>& shape = original_.tensor(joined.tensor).shape;
  const int32_t differs = WhereTheyDiffer(parts[0], parts[1]);
  if (differs >= 0) dimension = differs;
  const bool there = dimension >= 0 && static_cast<size_t>(dimension) < shape.size();
  const auto all = there ? JoinedOf(shape, parts, dimension) : std::nullopt;
  if (all) {
    joined.part = *all;
    return std::nullopt;
  }
  return Wrong(op, ViolationKind::kWrongPart,
               fmt::format("has {} of {} behind {}", ToString(parts[1]), NameOfTensor(joined),
                           ToString(parts[0])));
}

MaybeViolation Movement::Concat(OpId op) {
  const std::vector<Held> read = ReadAll(op);
  const Op& made = step_.graph.op(op);
  const std::vector<int64_t> numbers = NumbersOf(made);
  const auto dimension = static_cast<int32_t>(numbers[0]);
  Held joined;
  CHECK_PLAN_RETURN_IF_VIOLATED(Join(op, read, dimension, joined));
  if (read.size() == 1) return Make(op, joined);
  const auto wrong = [&] {
    return Wrong(
        op, ViolationKind::kWrongArgument,
        fmt::format("joins the parts of {} along another axis than theirs", NameOfTensor(joined)));
  };
  const std::vector<int64_t>& shape = original_.tensor(joined.tensor).shape;
  if (numbers[0] < 0 || static_cast<size_t>(dimension) >= shape.size() || numbers[1] <= 0) {
    return wrong();
  }
  // Of each of `outer` periods of the dimension a piece has an interval.
  AxisPart place = {{dimension, numbers[1], 0, 1}, {0, 0}};
  std::vector<int64_t> lengths;
  for (const TensorId piece : made.inputs) {
    const int64_t length = step_.graph.tensor(piece).shape[static_cast<size_t>(dimension)];
    if (length % numbers[1] != 0) return wrong();
    lengths.push_back(length / numbers[1]);
    place.place.size += lengths.back();
  }
  for (size_t i = 0; i < read.size(); ++i) {
    place.interval = {place.interval.to, place.interval.to + lengths[i]};
    // Parts of zeros may be those of any axis that they have.
    if (joined.part.somewhere() || read[i].part.somewhere()) continue;
    const auto due = PartWithin(shape, joined.part, place);
    if (!due || !(*due == read[i].part)) return wrong();
  }
  return Make(op, joined);
}

MaybeViolation Movement::Sum(OpId op, const std::vector<Held>& read, Held& sum) {
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
  // A part of zeros is any; from now on it is this one.
  const bool placed = before.part.somewhere() && value.known() && !value.part.whole() &&
                      contents_.Fits(before.tensor, value.part, made.inputs[0]);
  if (!placed && !(value.part == before.part)) {
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
  Content content = value.content;
  content.placed_tensor = placed ? before.tensor : TensorId();
  content.placed = placed && !value.part.somewhere() ? value.part : Part();
  contents_.SetWritten(op, made.inputs[0], content);
  contents_.SetName(made.outputs[0], before.tensor, placed ? value.part : before.part,
                    made.inputs[0]);
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
    if (step_.graph.tensor(made.inputs[i]).dtype == step_.graph.tensor(made.outputs[0]).dtype) {
      continue;
    }
    return Wrong(op, ViolationKind::kWrongArgument,
                 "makes a buffer of another dtype than it reads");
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
  if (!IsShape(made.args[2], step_.graph.tensor(made.outputs[0]).shape)) {
    return Wrong(op, ViolationKind::kWrongArgument,
                 fmt::format("has args[2] {}, where the sizes of its output are due",
                             ToString(made.args[2])));
  }
  if (step_.graph.tensor(made.outputs[0]).dtype != step_.graph.tensor(made.inputs[0]).dtype) {
    return Wrong(op, ViolationKind::kWrongArgument, "views a buffer of another dtype");
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

}  // namespace placewright::check
