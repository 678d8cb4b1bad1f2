#include "check_plan/distributed/norms/softmax_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/cover.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/moved_arguments.h"
#include "check_plan/distributed/stated_part.h"

namespace placewright::check {
namespace {

constexpr std::string_view kCast = "aten._to_copy.default", kExp = "aten.exp.default",
                           kMinus = "aten.sub.Tensor", kTimes = "aten.mul.Tensor",
                           kMinusProduct = "aten.addcmul.default",
                           kLogSum = "aten.logsumexp.default", kSum = "aten.sum.dim_IntList";
constexpr std::array kOperators = {kCast, kExp, kMinus, kTimes, kMinusProduct, kLogSum, kSum};
constexpr std::string_view kLogSumOf = "logsumexp(", kSumOf = "sum(";

constexpr std::string_view kReduceMember = "placewright.all_reduce.default",
                           kGatherMember = "placewright.all_gather.default",
                           kSumOnOne = "placewright.add_n.default",
                           kJoinOnOne = "placewright.concat.default";

Part AlongDimension(const Part& part, int32_t dimension, bool along) {
  std::vector<PartAlong> found;
  for (const PartAlong& one : part.along) {
    if ((one.dimension == dimension) == along) found.push_back(one);
  }
  return Merged(std::move(found));
}

// The inputs, each at its place, and nothing else.
bool ReadsInOrder(const Op& op, size_t inputs) {
  if (op.inputs.size() != inputs || op.args.size() < inputs) return false;
  for (size_t i = 0; i < inputs; ++i) {
    if (!(op.args[i] == Value(InputRef{static_cast<int32_t>(i)}))) return false;
  }
  return true;
}

bool IsFloat(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

}  // namespace

Violation SoftmaxCheck::Wrong(OpId op, ViolationKind kind, const std::string& message) const {
  return {kind, fmt::format("{} {}", NameOf(original_, step_, op), message), PlaceOf(step_, op)};
}

std::string SoftmaxCheck::NameOfInput(OpId op, size_t input) const {
  const TensorId id = step_.graph.op(op).inputs[input];
  return fmt::format("\"{}\"", Printable(step_.graph.tensor(id).name, 80));
}

bool SoftmaxCheck::Follow(OpId softmax, const std::vector<OpId>& ops) {
  const std::optional<SoftmaxCall> call = SoftmaxCallOf(original_.op(softmax));
  const bool known = std::all_of(ops.begin(), ops.end(), [&](OpId op) {
    return std::find(kOperators.begin(), kOperators.end(), step_.graph.op(op).type) !=
           kOperators.end();
  });
  if (!call || !known) return false;
  calls_.emplace(softmax, *call);
  return true;
}

int32_t SoftmaxCheck::DimensionOf(OpId softmax) const {
  const auto rank =
      static_cast<int64_t>(original_.tensor(original_.op(softmax).outputs.front()).shape.size());
  const int64_t stated = calls_.at(softmax).dimension;
  return static_cast<int32_t>(stated < 0 ? stated + rank : stated);
}

std::string SoftmaxCheck::Due(OpId softmax) const {
  const SoftmaxCall& call = calls_.at(softmax);
  if (call.backward) return call.logarithm ? "(g - (exp(y) * sum(g)))" : "(y * (g - sum((g * y))))";
  return call.logarithm ? "(x - logsumexp(x))" : "exp((x - logsumexp(x)))";
}

std::optional<Content::Knowledge> SoftmaxCheck::Behind(const std::vector<OpId>& ops) const {
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

MaybeViolation SoftmaxCheck::SetAll(const std::vector<OpId>& ops, Content::Knowledge knowledge) {
  for (const OpId op : ops) SetUnknown(original_, step_, op, knowledge, contents_);
  if (knowledge != Content::kNotProven) return std::nullopt;
  return Wrong(ops.front(), ViolationKind::kNotProven, "reads what is not proven");
}

MaybeViolation SoftmaxCheck::Run(OpId op) {
  if (const auto behind = Behind({op})) return SetAll({op}, *behind);
  std::vector<Term> read(step_.graph.op(op).inputs.size());
  MaybeViolation violation;
  for (size_t i = 0; i < read.size() && !violation; ++i) violation = Read(op, i, read[i]);
  if (!violation) violation = CheckBeside(op, read);
  if (!violation) {
    std::optional<Term> made = Make(op, read);
    violation = made ? Keep(op, *std::move(made))
                     : Wrong(op, ViolationKind::kWrongArgument,
                             fmt::format("({}) has arguments that a softmax in parts has not",
                                         Printable(step_.graph.op(op).type, 80)));
  }
  if (violation) (void)SetAll({op}, Content::kUnknown);
  return violation;
}

MaybeViolation SoftmaxCheck::Read(OpId op, size_t input, Term& term) const {
  const OpId softmax = step_.origin[op];
  const TensorId id = step_.graph.op(op).inputs[input];
  if (const auto found = terms_.find(id); found != terms_.end() && found->second.of == softmax) {
    term = found->second;
    const OpId maker = step_.graph.tensor(id).producer;
    if (step_.placement[maker] == step_.placement[op]) return std::nullopt;
    return Wrong(
        op, ViolationKind::kWrongDevice,
        fmt::format("reads {}, which another device has made of its part", NameOfInput(op, input)));
  }
  const Held held = contents_.Read(op, input);
  const std::vector<TensorId>& inputs = original_.op(softmax).inputs;
  const auto role = static_cast<size_t>(
      std::find_if(inputs.begin(), inputs.end(),
                   [&](TensorId one) { return contents_.Same(one) == held.tensor; }) -
      inputs.begin());
  if (!held.known() || role == inputs.size()) {
    return Wrong(op, ViolationKind::kWrongInput,
                 fmt::format("reads {}, which is no input of the softmax", NameOfInput(op, input)));
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckHeld(op, input, held, role));
  const std::string_view name = !calls_.at(softmax).backward ? "x" : role == 0 ? "g" : "y";
  term = {softmax, std::string(name), held.part, true, {}, false};
  return std::nullopt;
}

MaybeViolation SoftmaxCheck::CheckHeld(OpId op, size_t input, const Held& held, size_t role) const {
  const Op& stated = original_.op(step_.origin[op]);
  const int32_t due = stated.input_versions[role];
  const std::string name = NameOfInput(op, input);
  if (held.content.addend.kind != Addend::kWhole) {
    return Wrong(op, ViolationKind::kLostSum,
                 fmt::format("reads shares of the sum {} as if they were all of it", name));
  }
  if (held.content.division.due()) {
    return Wrong(op, ViolationKind::kLocalDivisor,
                 fmt::format("reads {} before it has been divided", name));
  }
  if (held.content.version != due) {
    return Wrong(op, ViolationKind::kWrongInput,
                 fmt::format("reads {} at version {} where version {} is due", name,
                             held.content.version, due));
  }
  if (held.part.somewhere()) {
    return Wrong(op, ViolationKind::kNotProven,
                 fmt::format("has a part of {} without a place", name));
  }
  if (contents_.Fits(stated.inputs[role], held.part, step_.graph.op(op).inputs[input])) {
    return std::nullopt;
  }
  return Wrong(op, ViolationKind::kWrongPart,
               fmt::format("has {} of {}, in another shape", ToString(held.part), name));
}

MaybeViolation SoftmaxCheck::CheckBeside(OpId op, const std::vector<Term>& read) const {
  const auto elements =
      std::find_if(read.begin(), read.end(), [](const Term& term) { return term.each; });
  if (elements == read.end()) return std::nullopt;
  const Part rows = AlongDimension(elements->part, DimensionOf(elements->of), false);
  for (size_t i = 0; i < read.size(); ++i) {
    const Term& term = read[i];
    if (!(term.part == (term.each ? elements->part : rows))) {
      return Wrong(op, ViolationKind::kWrongPart,
                   fmt::format("reads {}, which is of other elements than its other inputs",
                               NameOfInput(op, i)));
    }
    if (!term.each) CHECK_PLAN_RETURN_IF_VIOLATED(CheckOver(op, term));
  }
  return std::nullopt;
}

MaybeViolation SoftmaxCheck::CheckOver(OpId op, const Term& term) const {
  const Coverage coverage = CoverageOf(term.over);
  if (!term.apart && coverage.kind == Coverage::kOnce) return std::nullopt;
  return Wrong(op, ViolationKind::kWrongStatistics,
               fmt::format("reads \"{}\" over {}, where that over all elements of a row is due",
                           term.formula, ToString(term.over.front())));
}

std::optional<SoftmaxCheck::Term> SoftmaxCheck::Make(OpId op, const std::vector<Term>& read) const {
  const Op& made = step_.graph.op(op);
  const std::string_view type = made.type;
  if (!ReadsInOrder(made, read.size()) || read.empty()) return std::nullopt;
  Term term = read.front();
  if (type == kLogSum || type == kSum) return Reduced(made, term);
  if (made.args.size() != read.size() || (!term.each && type != kCast)) return std::nullopt;
  const auto with = [&](std::string formula) {
    term.formula = std::move(formula);
    return term;
  };
  const bool plain = made.attributes.empty();
  const auto formula = [&](size_t i) -> const std::string& { return read[i].formula; };
  if (type == kCast) {
    const DType dtype = step_.graph.tensor(made.outputs.front()).dtype;
    const DType due = original_.tensor(original_.op(term.of).outputs.front()).dtype;
    const bool right = made.attributes.size() == 1 && made.attributes.front().name == "dtype" &&
                       (IsFloat(dtype) || dtype == due);
    return right && read.size() == 1 ? std::optional(term) : std::nullopt;
  }
  if (type == kExp && read.size() == 1 && plain) return with(fmt::format("exp({})", formula(0)));
  if (type == kMinus && read.size() == 2 && plain) {
    return with(fmt::format("({} - {})", formula(0), formula(1)));
  }
  if (type == kTimes && read.size() == 2 && plain) {
    return with(fmt::format("({} * {})", formula(0), formula(1)));
  }
  const std::vector<NamedValue> minus = {{"value", Value(-1.0)}};
  if (type == kMinusProduct && read.size() == 3 && made.attributes == minus) {
    return with(fmt::format("({} - ({} * {}))", formula(0), formula(1), formula(2)));
  }
  return std::nullopt;
}

// Along the dimension, which stays: over the elements of a part, or of numbers that are each over some.
std::optional<SoftmaxCheck::Term> SoftmaxCheck::Reduced(const Op& made, const Term& of) const {
  const int32_t dimension = DimensionOf(of.of);
  const Value along(Value::List{Value(int64_t{dimension})});
  const bool right = made.inputs.size() == 1 && made.args.size() == 3 && made.attributes.empty() &&
                     made.args[1] == along && made.args[2] == Value(true);
  if (!right) return std::nullopt;
  const bool logarithm = made.type == kLogSum;
  Term term = of;
  if (!of.each) {
    term.apart = false;
    const bool sums = of.apart && logarithm && of.formula.starts_with(kLogSumOf);
    return sums ? std::optional(term) : std::nullopt;
  }
  term.formula = fmt::format("{}{})", logarithm ? kLogSumOf : kSumOf, of.formula);
  term.each = false;
  term.over = {AlongDimension(of.part, dimension, true)};
  term.part = AlongDimension(of.part, dimension, false);
  return term;
}

MaybeViolation SoftmaxCheck::Keep(OpId op, Term term) {
  const Op& made = step_.graph.op(op);
  const OpId softmax = term.of;
  const TensorId due = original_.op(softmax).outputs.front();
  const auto dimension = static_cast<size_t>(DimensionOf(softmax));
  auto shape = ShapeOf(original_.tensor(due).shape, term.part);
  if (shape && !term.each) {
    (*shape)[dimension] = term.apart ? static_cast<int64_t>(term.over.size()) : 1;
  }
  const bool fits = made.outputs.size() == 1 && !made.is_view && made.writes.empty() && shape &&
                    step_.graph.tensor(made.outputs.front()).shape == *shape;
  if (!fits) {
    return Wrong(op, ViolationKind::kWrongArgument, "makes an output of other sizes than are due");
  }
  const TensorId output = made.outputs.front();
  if (term.each) part_read_[op] = term.part;
  const bool result = term.each && term.formula == Due(softmax) &&
                      step_.graph.tensor(output).dtype == original_.tensor(due).dtype;
  if (result) {
    contents_.SetFresh(
        output,
        {contents_.Same(due), term.part, {Content::kKnown, original_.tensor(due).version, {}, {}}});
    return std::nullopt;
  }
  contents_.SetInner(output);
  terms_[output] = std::move(term);
  return std::nullopt;
}

std::vector<OpId> SoftmaxCheck::MembersOf(OpId op) const {
  const CollectiveId collective = step_.graph.collective_of(op);
  if (!collective.valid()) return {op};
  return step_.graph.collective(collective).members;
}

bool SoftmaxCheck::Moves(OpId op) const {
  for (const OpId member : MembersOf(op)) {
    for (const TensorId input : step_.graph.op(member).inputs) {
      if (terms_.contains(input)) return true;
    }
  }
  return false;
}

MaybeViolation SoftmaxCheck::Move(OpId op) {
  const std::vector<OpId> members = MembersOf(op);
  if (const auto behind = Behind(members)) return SetAll(members, *behind);
  MaybeViolation violation;
  for (const OpId member : members) {
    const auto wrong = WrongMovedArguments(step_.graph.op(member));
    if (wrong && !violation) violation = Wrong(member, ViolationKind::kWrongArgument, *wrong);
  }
  if (!violation) violation = Meet(members);
  if (violation) (void)SetAll(members, Content::kUnknown);
  return violation;
}

// All members make the same of numbers of rows.
MaybeViolation SoftmaxCheck::Meet(const std::vector<OpId>& members) {
  const bool together = step_.graph.collective_of(members.front()).valid();
  const std::string_view type = step_.graph.op(members.front()).type;
  const bool collective = type == kReduceMember || type == kGatherMember;
  if (collective && !together) {
    return Wrong(members.front(), ViolationKind::kMissingCollective,
                 "is a member of no collective");
  }
  if (together) CHECK_PLAN_RETURN_IF_VIOLATED(movement_.CheckMembers(members));
  std::vector<Term> terms;
  for (const OpId member : members) {
    for (const TensorId input : step_.graph.op(member).inputs) {
      const auto found = terms_.find(input);
      const bool fits = found != terms_.end() && !found->second.each && !found->second.apart;
      if (!fits || (!collective && type != kSumOnOne && type != kJoinOnOne)) {
        return Wrong(member, ViolationKind::kWrongInput,
                     fmt::format("moves \"{}\", which is between the ops of a softmax",
                                 Printable(step_.graph.tensor(input).name, 80)));
      }
      terms.push_back(found->second);
    }
  }
  Term joined;
  CHECK_PLAN_RETURN_IF_VIOLATED(Join(members, terms, joined));
  for (const OpId member : members) {
    const Op& made = step_.graph.op(member);
    if (made.outputs.size() == 1 && step_.graph.tensor(made.outputs.front()).dtype !=
                                        step_.graph.tensor(made.inputs.front()).dtype) {
      return Wrong(member, ViolationKind::kWrongArgument, "makes numbers of another type");
    }
    CHECK_PLAN_RETURN_IF_VIOLATED(Keep(member, joined));
  }
  return std::nullopt;
}

MaybeViolation SoftmaxCheck::Join(const std::vector<OpId>& members, const std::vector<Term>& terms,
                                  Term& joined) const {
  joined = terms.front();
  const std::string_view type = step_.graph.op(members.front()).type;
  const bool sums = type == kReduceMember || type == kSumOnOne;
  std::vector<size_t> order;
  for (size_t i = 0; i < terms.size(); ++i) order.push_back(i);
  if (!sums) {
    const auto stated = OrderOf(members, terms.size(), DimensionOf(joined.of));
    if (!stated) {
      return Wrong(members.front(), ViolationKind::kWrongArgument,
                   "does not join numbers of rows one behind the other");
    }
    order = *stated;
  }
  joined.over.clear();
  joined.apart = !sums;
  for (const size_t i : order) {
    const Term& term = terms[i];
    const bool alike = term.of == joined.of && term.formula == joined.formula &&
                       term.part == joined.part &&
                       term.formula.starts_with(sums ? kSumOf : kLogSumOf);
    if (!alike) {
      return Wrong(members.front(), ViolationKind::kWrongInput,
                   fmt::format("puts \"{}\" and \"{}\" together", joined.formula, term.formula));
    }
    for (const Part& over : term.over) {
      for (const Part& other : joined.over) {
        if (!check::Meet(over, other)) continue;
        return Wrong(members.front(), ViolationKind::kDoubledSum,
                     fmt::format("takes \"{}\" over {} twice", term.formula, ToString(over)));
      }
    }
    joined.over.insert(joined.over.end(), term.over.begin(), term.over.end());
  }
  return std::nullopt;
}

// A gather's members state (dimension, outer, size, from, to): one of as many as there are members.
std::optional<std::vector<size_t>> SoftmaxCheck::OrderOf(const std::vector<OpId>& members,
                                                         size_t count, int32_t dimension) const {
  const auto size = static_cast<int64_t>(count);
  std::vector<size_t> order(count, count);
  const bool gather = step_.graph.op(members.front()).type == kGatherMember;
  if (!gather) {
    const std::vector<int64_t> due = {dimension, 1};
    if (NumbersOf(step_.graph.op(members.front())) != due) return std::nullopt;
    for (size_t i = 0; i < count; ++i) order[i] = i;
    return order;
  }
  for (size_t i = 0; i < members.size(); ++i) {
    const std::vector<int64_t> numbers = NumbersOf(step_.graph.op(members[i]));
    const int64_t from = numbers.size() == 5 ? numbers[3] : -1;
    if (from < 0 || from >= size || order[static_cast<size_t>(from)] != count) return std::nullopt;
    if (numbers != std::vector<int64_t>{dimension, 1, size, from, from + 1}) return std::nullopt;
    order[static_cast<size_t>(from)] = i;
  }
  return order;
}

}  // namespace placewright::check
