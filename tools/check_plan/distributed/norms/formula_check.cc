#include "check_plan/distributed/norms/formula_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/cover.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/norms/joined_reductions.h"
#include "check_plan/distributed/stated_part.h"
#include "sharding/softmax_call.h"
#include "sharding/statistics_call.h"

namespace placewright::check {
namespace {

constexpr std::string_view kCast = "aten._to_copy.default", kMinusProduct = "aten.addcmul.default",
                           kNorm = "aten.linalg_vector_norm.default";
constexpr std::array kReductions = {kLogSum, kSum, kMax, kMin, kNorm};
// What an operator makes of one tensor, of two, of one and a number.
struct Written {
  std::string_view type, as;
};
constexpr Written kOfOne[] = {
    {"aten.exp.default", "exp"}, {"aten.rsqrt.default", "rsqrt"}, {"aten.sqrt.default", "sqrt"}};
constexpr Written kOfTwo[] = {
    {"aten.sub.Tensor", "-"}, {"aten.mul.Tensor", "*"}, {"aten.add.Tensor", "+"}};
constexpr Written kWithNumber[] = {{"aten.div.Scalar", "/"}, {"aten.add.Scalar", "+"}};

constexpr std::string_view kNormOf = "norm(";

template <size_t N>
std::string_view WordOf(const Written (&all)[N], std::string_view type) {
  for (const Written& one : all) {
    if (one.type == type) return one.as;
  }
  return "";
}

bool IsKnown(std::string_view type) {
  return type == kCast || type == kMinusProduct || !WordOf(kOfOne, type).empty() ||
         !WordOf(kOfTwo, type).empty() || !WordOf(kWithNumber, type).empty() ||
         std::find(kReductions.begin(), kReductions.end(), type) != kReductions.end();
}

std::string Of(std::string_view function, const std::string& of) {
  return fmt::format("{}({})", function, of);
}
// The operands of sums and products in one order.
std::string Binary(std::string_view word, const std::string& a, const std::string& b) {
  const bool turned = (word == "*" || word == "+") && b < a;
  return fmt::format("({} {} {})", turned ? b : a, word, turned ? a : b);
}
std::string WithNumber(std::string_view word, const std::string& of, double number) {
  return fmt::format("({} {} {})", of, word, number);
}

// A vector norm of another order than 2: what of each element, and what of all of these.
struct NormWords {
  std::string_view reduction, of_each;
};
std::optional<NormWords> WordsOfNorm(double order) {
  if (std::isinf(order)) return NormWords{order > 0 ? kMax : kMin, "abs"};
  if (order == 1) return NormWords{kSum, "abs"};
  if (order == 0) return NormWords{kSum, "nonzero"};
  return std::nullopt;
}
const Joined* FindJoined(std::string_view reduction) {
  const auto* const found =
      std::find_if(std::begin(kJoined), std::end(kJoined),
                   [&](const Joined& one) { return one.reduction == reduction; });
  return found == std::end(kJoined) ? nullptr : found;
}

std::optional<double> NumberOf(const Value& value) {
  if (const double* number = value.AsDouble()) return *number;
  if (const int64_t* number = value.AsInt()) return static_cast<double>(*number);
  return std::nullopt;
}

// Of these dimensions, or of all others.
Part AlongDimensions(const Part& part, const std::vector<int32_t>& dimensions, bool along) {
  std::vector<PartAlong> found;
  for (const PartAlong& one : part.along) {
    const bool is =
        std::find(dimensions.begin(), dimensions.end(), one.dimension) != dimensions.end();
    if (is == along) found.push_back(one);
  }
  return Merged(std::move(found));
}

Part Together(const Part& a, const Part& b) {
  std::vector<PartAlong> all(a.along.begin(), a.along.end());
  all.insert(all.end(), b.along.begin(), b.along.end());
  return Merged(std::move(all));
}

Part Moved(const Part& part, const std::function<int32_t(int32_t)>& to) {
  std::vector<PartAlong> moved(part.along.begin(), part.along.end());
  for (PartAlong& one : moved) one.dimension = to(one.dimension);
  return Merged(std::move(moved));
}

Value ListOf(const std::vector<int32_t>& numbers) {
  Value::List list;
  for (const int32_t number : numbers) list.emplace_back(int64_t{number});
  return Value(std::move(list));
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

Violation FormulaCheck::Wrong(OpId op, ViolationKind kind, const std::string& message) const {
  return {kind, fmt::format("{} {}", NameOf(original_, step_, op), message), PlaceOf(step_, op)};
}

std::string FormulaCheck::NameOfInput(OpId op, size_t input) const {
  const TensorId id = step_.graph.op(op).inputs[input];
  return fmt::format("\"{}\"", Printable(step_.graph.tensor(id).name, 80));
}

std::optional<FormulaCheck::Call> FormulaCheck::CallOfSoftmax(const Graph& original, OpId op) {
  const std::optional<SoftmaxCall> softmax = SoftmaxCallOf(original.op(op));
  if (!softmax) return std::nullopt;
  Call call;
  call.shape = original.tensor(original.op(op).outputs.front()).shape;
  const auto rank = static_cast<int64_t>(call.shape.size());
  const int64_t stated = softmax->dimension;
  call.over = {static_cast<int32_t>(stated < 0 ? stated + rank : stated)};
  call.roles = softmax->backward ? std::vector<Role>{{"g"}, {"y"}} : std::vector<Role>{{"x"}};
  std::string& due = call.due[0].formula;
  if (softmax->backward) {
    due = softmax->logarithm ? Binary("-", "g", Binary("*", Of("exp", "y"), Of("sum", "g")))
                             : Binary("*", "y", Binary("-", "g", Of("sum", Binary("*", "g", "y"))));
  } else {
    due = Binary("-", "x", Of("logsumexp", "x"));
    if (!softmax->logarithm) due = Of("exp", due);
  }
  return call;
}

std::optional<FormulaCheck::Call> FormulaCheck::CallOfStatistics(const Graph& original, OpId op) {
  const std::optional<StatisticsCall> stated = StatisticsCallOf(original, op);
  if (!stated) return std::nullopt;
  const std::vector<TensorId>& inputs = original.op(op).inputs;
  Call call;
  call.x = static_cast<size_t>(stated->x);
  call.shape = original.tensor(inputs[call.x]).shape;
  int64_t elements = 1;
  for (const int64_t dimension : stated->dimensions) {
    call.over.push_back(static_cast<int32_t>(dimension));
    elements *= call.shape[static_cast<size_t>(dimension)];
  }
  call.roles.resize(inputs.size());
  // A tensor that is two inputs is known by the name of the first.
  const auto name = [&](int32_t input, const char* as, Kind kind) {
    if (input < 0) return std::string();
    const auto at = static_cast<size_t>(input);
    const auto first =
        static_cast<size_t>(std::find(inputs.begin(), inputs.end(), inputs[at]) - inputs.begin());
    if (call.roles[first].name.empty()) call.roles[first] = {as, kind};
    return call.roles[first].name;
  };
  const std::string g = name(stated->grad, "g", Kind::kElements);
  const std::string x = name(stated->x, "x", Kind::kElements);
  const std::string m = name(stated->mean, "m", Kind::kRows);
  const std::string r = name(stated->rstd, "r", Kind::kRows);
  const std::string w = name(stated->weight, "w", Kind::kColumns);
  const std::string b = name(stated->bias, "b", Kind::kColumns);
  const auto mean_of = [&](const std::string& of) {
    return WithNumber("/", Of("sum", of), static_cast<double>(elements));
  };
  const bool centers = stated->centers();
  if (const auto words = WordsOfNorm(stated->order);
      stated->kind == StatisticsCall::kNorm && words) {
    call.due[0] = {fmt::format("{}{})", FindJoined(words->reduction)->as, Of(words->of_each, x)),
                   Kind::kRows};
  } else if (stated->kind == StatisticsCall::kNorm) {
    call.due[0] = {Of("sqrt", Of("sum", Binary("*", x, x))), Kind::kRows};
  } else if (!stated->normalizes()) {
    call.due[0] = {Of(stated->kind == StatisticsCall::kMax ? "amax" : "amin", x), Kind::kRows};
  } else if (!stated->backward()) {
    const std::string mean = mean_of(x), d = centers ? Binary("-", x, mean) : x;
    const std::string rstd = Of("rsqrt", WithNumber("+", mean_of(Binary("*", d, d)), stated->eps));
    std::string y = Binary("*", d, rstd);
    if (!w.empty()) y = Binary("*", y, w);
    if (!b.empty()) y = Binary("+", y, b);
    call.due[0] = {y, Kind::kElements};
    if (centers) call.due[1] = {mean, Kind::kRows};
    call.due[centers ? 2 : 1] = {rstd, Kind::kRows};
  } else {
    const std::string h = Binary("*", centers ? Binary("-", x, m) : x, r);
    const std::string k = w.empty() ? g : Binary("*", g, w);
    const std::string apart = centers ? Binary("-", k, mean_of(k)) : k;
    const std::string along = Binary("*", h, mean_of(Binary("*", k, h)));
    call.due[0] = {Binary("*", Binary("-", apart, along), r), Kind::kElements};
    if (!w.empty()) call.due[1] = {Of("rows", Binary("*", g, h)), Kind::kColumns};
    if (!b.empty()) call.due[2] = {Of("rows", g), Kind::kColumns};
  }
  return call;
}

std::optional<FormulaCheck::Call> FormulaCheck::CallOf(const Graph& original, OpId op) {
  std::optional<Call> softmax = CallOfSoftmax(original, op);
  return softmax ? std::move(softmax) : CallOfStatistics(original, op);
}

bool FormulaCheck::Knows(const Graph& original, OpId op) {
  return SoftmaxCallOf(original.op(op)) || StatisticsCallOf(original, op);
}

bool FormulaCheck::IsOverPart(OpId op) const {
  const OpId origin = step_.origin[op];
  const std::optional<Call> call = CallOf(original_, origin);
  const Op& made = step_.graph.op(op);
  const bool one_of_several = call && IsKnown(made.type) && made.type == original_.op(origin).type;
  if (!one_of_several || call->x >= made.inputs.size()) return false;
  const std::vector<int64_t>& shape = step_.graph.tensor(made.inputs[call->x]).shape;
  return shape.size() == call->shape.size() &&
         std::any_of(call->over.begin(), call->over.end(), [&](int32_t dimension) {
           const auto at = static_cast<size_t>(dimension);
           return shape[at] != call->shape[at];
         });
}

bool FormulaCheck::Follow(OpId op, const std::vector<OpId>& ops) {
  std::optional<Call> call = CallOf(original_, op);
  const bool known = std::all_of(ops.begin(), ops.end(),
                                 [&](OpId one) { return IsKnown(step_.graph.op(one).type); });
  if (!call || !known) return false;
  calls_.emplace(op, *std::move(call));
  return true;
}

bool FormulaCheck::IsOfParts(OpId op) const {
  const OpId origin = step_.origin[op];
  const std::vector<int32_t>& over = calls_.at(origin).over;
  const Op& made = step_.graph.op(op);
  if (!IsKnown(made.type)) return false;
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    if (terms_.contains(made.inputs[i])) return true;
    const Held held = contents_.Read(op, i);
    const TensorId x = original_.op(origin).inputs[calls_.at(origin).x];
    if (held.known() && held.tensor == contents_.Same(x) &&
        !AlongDimensions(held.part, over, true).whole()) {
      return true;
    }
  }
  return false;
}

std::optional<Content::Knowledge> FormulaCheck::Behind(const std::vector<OpId>& ops) const {
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

MaybeViolation FormulaCheck::SetAll(const std::vector<OpId>& ops, Content::Knowledge knowledge) {
  for (const OpId op : ops) SetUnknown(original_, step_, op, knowledge, contents_);
  if (knowledge != Content::kNotProven) return std::nullopt;
  return Wrong(ops.front(), ViolationKind::kNotProven, "reads what is not proven");
}

MaybeViolation FormulaCheck::Run(OpId op) {
  if (const auto behind = Behind({op})) return SetAll({op}, *behind);
  std::vector<Term> read(step_.graph.op(op).inputs.size());
  MaybeViolation violation;
  for (size_t i = 0; i < read.size() && !violation; ++i) violation = Read(op, i, read[i]);
  if (!violation) violation = CheckBeside(op, read);
  if (!violation) {
    std::optional<Term> made = Make(op, read);
    violation = made ? Keep(op, *std::move(made))
                     : Wrong(op, ViolationKind::kWrongArgument,
                             fmt::format("({}) has arguments that {} in parts has not",
                                         Printable(step_.graph.op(op).type, 80),
                                         Printable(original_.op(step_.origin[op]).type, 80)));
  }
  if (violation) (void)SetAll({op}, Content::kUnknown);
  return violation;
}

MaybeViolation FormulaCheck::Read(OpId op, size_t input, Term& term) const {
  const OpId origin = step_.origin[op];
  const TensorId id = step_.graph.op(op).inputs[input];
  for (const auto* const known : {&terms_, &results_}) {
    const auto found = known->find(id);
    if (found == known->end() || found->second.of != origin) continue;
    term = found->second;
    const OpId maker = step_.graph.tensor(id).producer;
    if (step_.placement[maker] == step_.placement[op]) return std::nullopt;
    return Wrong(
        op, ViolationKind::kWrongDevice,
        fmt::format("reads {}, which another device has made of its part", NameOfInput(op, input)));
  }
  const Held held = contents_.Read(op, input);
  const std::vector<TensorId>& inputs = original_.op(origin).inputs;
  const auto role = static_cast<size_t>(
      std::find_if(inputs.begin(), inputs.end(),
                   [&](TensorId one) { return contents_.Same(one) == held.tensor; }) -
      inputs.begin());
  const Call& call = calls_.at(origin);
  if (!held.known() || role == inputs.size() || call.roles[role].name.empty()) {
    return Wrong(op, ViolationKind::kWrongInput,
                 fmt::format("reads {}, which is no input of {}", NameOfInput(op, input),
                             Printable(original_.op(origin).name, 80)));
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckHeld(op, input, held, role));
  term = {origin, call.roles[role].name, call.roles[role].kind, held.part, true, {}, false};
  if (term.kind == Kind::kRows) {
    term.keeps = original_.tensor(inputs[role]).shape.size() == call.shape.size();
    term.over = {Part()};
  } else if (term.kind == Kind::kColumns) {
    term.part = Moved(held.part, [&](int32_t dimension) { return dimension + call.over.front(); });
  }
  return std::nullopt;
}

MaybeViolation FormulaCheck::CheckHeld(OpId op, size_t input, const Held& held, size_t role) const {
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

MaybeViolation FormulaCheck::CheckBeside(OpId op, const std::vector<Term>& read) const {
  const std::vector<int32_t>& over = calls_.at(step_.origin[op]).over;
  const auto elements = std::find_if(read.begin(), read.end(),
                                     [](const Term& term) { return term.kind == Kind::kElements; });
  if (elements == read.end()) {
    const Op& made = step_.graph.op(op);
    const bool reduces =
        std::find(kReductions.begin(), kReductions.end(), made.type) != kReductions.end();
    if (reduces || made.type == kCast || IsSquare(made, read)) return std::nullopt;
    for (const Term& term : read) {
      if (term.kind == Kind::kRows) CHECK_PLAN_RETURN_IF_VIOLATED(CheckOver(op, term));
    }
    return std::nullopt;
  }
  for (size_t i = 0; i < read.size(); ++i) {
    const Term& term = read[i];
    const Part due = term.kind == Kind::kElements
                         ? elements->part
                         : AlongDimensions(elements->part, over, term.kind == Kind::kColumns);
    const bool beside =
        term.kind == Kind::kElements || (term.kind == Kind::kRows ? term.keeps : term.over.empty());
    if (!(term.part == due) || !beside) {
      return Wrong(op, ViolationKind::kWrongPart,
                   fmt::format("reads {}, which is of other elements than its other inputs",
                               NameOfInput(op, i)));
    }
    if (term.kind == Kind::kRows) CHECK_PLAN_RETURN_IF_VIOLATED(CheckOver(op, term));
  }
  return std::nullopt;
}

bool FormulaCheck::IsSquare(const Op& made, const std::vector<Term>& read) {
  return made.type == "aten.mul.Tensor" && read.size() == 2 && made.inputs[0] == made.inputs[1] &&
         read[0].kind == Kind::kRows && read[0].formula.starts_with(kNormOf);
}

bool FormulaCheck::IsOverAll(const Term& term) {
  return !term.apart && CoverageOf(term.over).kind == Coverage::kOnce;
}

MaybeViolation FormulaCheck::CheckOver(OpId op, const Term& term) const {
  if (IsOverAll(term)) return std::nullopt;
  return Wrong(op, ViolationKind::kWrongStatistics,
               fmt::format("reads \"{}\" over {}, where that over all elements of a row is due",
                           term.formula, ToString(term.over.front())));
}

std::optional<FormulaCheck::Term> FormulaCheck::Make(OpId op, const std::vector<Term>& read) const {
  const Op& made = step_.graph.op(op);
  if (!ReadsInOrder(made, read.size()) || read.empty()) return std::nullopt;
  const Term& first = read.front();
  if (std::find(kReductions.begin(), kReductions.end(), made.type) != kReductions.end()) {
    return read.size() == 1 ? Reduced(made, first) : std::nullopt;
  }
  if (made.type != kCast) return Elementwise(made, read);
  const DType dtype = step_.graph.tensor(made.outputs.front()).dtype;
  const std::vector<TensorId>& results = original_.op(first.of).outputs;
  const bool right =
      read.size() == 1 && made.args.size() == 1 && made.attributes.size() == 1 &&
      made.attributes.front().name == "dtype" &&
      (IsFloat(dtype) || std::any_of(results.begin(), results.end(), [&](TensorId result) {
         return original_.tensor(result).dtype == dtype;
       }));
  return right ? std::optional(first) : std::nullopt;
}

// Of elements with what is beside them; or of numbers of rows, which are over all of their elements.
std::optional<FormulaCheck::Term> FormulaCheck::Elementwise(const Op& made,
                                                            const std::vector<Term>& read) const {
  Term term = read.front();
  const auto formula = [&](size_t i) -> const std::string& { return read[i].formula; };
  const bool square = IsSquare(made, read);
  for (const Term& one : read) {
    const bool rows = one.kind == Kind::kRows && one.part == term.part && one.keeps == term.keeps &&
                      (IsOverAll(one) || square);
    if (term.kind == Kind::kElements ? one.kind == Kind::kColumns && read.size() == 1 : !rows) {
      return std::nullopt;
    }
  }
  const auto with = [&](std::string made_formula) {
    term.formula = std::move(made_formula);
    return term;
  };
  const size_t numbers = made.args.size() - read.size();
  if (made.type == kMinusProduct) {
    const std::vector<NamedValue> minus = {{"value", Value(-1.0)}};
    const bool right = read.size() == 3 && numbers == 0 && made.attributes == minus;
    return right ? std::optional(with(Binary("-", formula(0), Binary("*", formula(1), formula(2)))))
                 : std::nullopt;
  }
  if (!made.attributes.empty()) return std::nullopt;
  const std::string_view one = WordOf(kOfOne, made.type), two = WordOf(kOfTwo, made.type),
                         number = WordOf(kWithNumber, made.type);
  if (!one.empty() && read.size() == 1 && numbers == 0) return with(Of(one, formula(0)));
  if (!two.empty() && read.size() == 2 && numbers == 0) {
    if (!square) return with(Binary(two, formula(0), formula(1)));
    const std::string of =
        formula(0).substr(kNormOf.size(), formula(0).size() - kNormOf.size() - 1);
    return with(Of("sum", Binary("*", of, of)));
  }
  if (!number.empty() && read.size() == 1 && numbers == 1) {
    const std::optional<double> value = NumberOf(made.args.back());
    if (value) return with(WithNumber(number, formula(0), *value));
  }
  return std::nullopt;
}

// Along the dimensions: over the elements of a part, or of numbers that are each over some; or along all others.
std::optional<FormulaCheck::Term> FormulaCheck::Reduced(const Op& made, const Term& of) const {
  const Call& call = calls_.at(of.of);
  const bool norm = made.type == kNorm;
  const size_t dims_at = norm ? 2 : 1;
  if (made.inputs.size() != 1 || made.args.size() != dims_at + 2 || !made.attributes.empty() ||
      made.args.back().AsBool() == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> order = norm ? NumberOf(made.args[1]) : std::nullopt;
  const std::optional<NormWords> words = order ? WordsOfNorm(*order) : std::nullopt;
  if (norm && order != 2.0 && !words) return std::nullopt;
  if (!(made.args[dims_at] == ListOf(call.over))) return OfAllRows(made, of);
  Term term = of;
  term.keeps = *made.args.back().AsBool();
  const Joined* const joined = FindJoined(words ? words->reduction : made.type);
  if (of.kind == Kind::kRows) {
    term.apart = false;
    const bool right = !norm && of.apart && of.keeps && joined != nullptr && !joined->adds &&
                       of.formula.starts_with(joined->as);
    return right ? std::optional(term) : std::nullopt;
  }
  if (of.kind != Kind::kElements) return std::nullopt;
  const std::string each = words ? Of(words->of_each, of.formula) : of.formula;
  term.formula = fmt::format("{}{})", joined != nullptr ? joined->as : kNormOf, each);
  term.kind = Kind::kRows;
  term.over = {AlongDimensions(of.part, call.over, true)};
  term.part = AlongDimensions(of.part, call.over, false);
  return term;
}

std::optional<FormulaCheck::Term> FormulaCheck::OfAllRows(const Op& made, const Term& of) const {
  const Call& call = calls_.at(of.of);
  std::vector<int32_t> rows;
  for (int32_t i = 0; i < static_cast<int32_t>(call.shape.size()); ++i) {
    if (std::find(call.over.begin(), call.over.end(), i) == call.over.end()) rows.push_back(i);
  }
  const bool right = made.type == kSum && of.kind == Kind::kElements &&
                     made.args[1] == ListOf(rows) && made.args[2] == Value(false);
  if (!right) return std::nullopt;
  Term term = of;
  term.formula = Of("rows", of.formula);
  term.kind = Kind::kColumns;
  term.over = {AlongDimensions(of.part, call.over, false)};
  term.part = AlongDimensions(of.part, call.over, true);
  return term;
}

std::optional<std::vector<int64_t>> FormulaCheck::ShapeDue(const Term& term) const {
  const Call& call = calls_.at(term.of);
  const auto part = ShapeOf(call.shape, term.part);
  if (!part || term.kind == Kind::kElements) return part;
  std::vector<int64_t> shape;
  bool first = true;
  for (size_t i = 0; i < part->size(); ++i) {
    const bool over =
        std::find(call.over.begin(), call.over.end(), static_cast<int32_t>(i)) != call.over.end();
    if (term.kind == Kind::kColumns) {
      if (over) shape.push_back((*part)[i]);
      continue;
    }
    if (!over) shape.push_back((*part)[i]);
    if (!over || !term.keeps) continue;
    shape.push_back(term.apart && first ? static_cast<int64_t>(term.over.size()) : 1);
    first = false;
  }
  return shape;
}

std::optional<size_t> FormulaCheck::ResultOf(const Term& term, TensorId made) const {
  const Call& call = calls_.at(term.of);
  const std::vector<TensorId>& results = original_.op(term.of).outputs;
  if (term.kind == Kind::kRows && !IsOverAll(term)) return std::nullopt;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& result = original_.tensor(results[i]);
    const auto due = call.due.find(result.output_index);
    const bool kept = result.shape.size() == call.shape.size();
    const bool is = due != call.due.end() && due->second.kind == term.kind &&
                    due->second.formula == term.formula &&
                    (term.kind != Kind::kRows || term.keeps == kept) &&
                    step_.graph.tensor(made).dtype == result.dtype;
    if (is) return i;
  }
  return std::nullopt;
}

void FormulaCheck::SetResult(OpId op, size_t result, const Term& term) {
  const Call& call = calls_.at(term.of);
  const TensorId due = original_.op(term.of).outputs[result];
  const TensorId made = step_.graph.op(op).outputs.front();
  Content content{Content::kKnown, original_.tensor(due).version, {}, {}};
  Part part = term.part;
  if (term.kind == Kind::kRows && !term.keeps) {
    part = Moved(part, [&](int32_t dimension) {
      return dimension -
             static_cast<int32_t>(std::count_if(call.over.begin(), call.over.end(),
                                                [&](int32_t one) { return one < dimension; }));
    });
  }
  if (term.kind == Kind::kColumns) {
    part = Moved(part, [&](int32_t dimension) { return dimension - call.over.front(); });
    const FacetId facet = facets_.of(op);
    const OpRule& rule = *facets_.rule(facet);
    Sums::Over over;
    for (const RuleAxisId axis : IdRange<RuleAxisId>(rule.axes.size())) {
      if (VerdictOf(rule, axis, result) != PartVerdict::kSum) continue;
      over.axes.push_back(axis);
      over.elements = SaturatingMultiply(over.elements, rule.axes[axis].size);
    }
    const std::optional<Cut> cut =
        CutOf(rule, rule.inputs[call.x], Together(term.part, term.over.front()));
    Sums::Share share;
    if (cut) share.cut = Along(*cut, over.axes);
    if (!cut) content.knowledge = Content::kNotProven;
    if (cut && !share.cut.whole()) content.addend = sums_.Contribute(facet, over, std::move(share));
  }
  contents_.SetFresh(made, {contents_.Same(due), part, content});
  results_[made] = term;
}

MaybeViolation FormulaCheck::Keep(OpId op, Term term) {
  const Op& made = step_.graph.op(op);
  const auto shape = ShapeDue(term);
  const bool fits = made.outputs.size() == 1 && !made.is_view && made.writes.empty() && shape &&
                    step_.graph.tensor(made.outputs.front()).shape == *shape;
  if (!fits) {
    return Wrong(op, ViolationKind::kWrongArgument, "makes an output of other sizes than are due");
  }
  if (term.kind == Kind::kElements) part_read_[op] = term.part;
  if (const std::optional<size_t> result = ResultOf(term, made.outputs.front())) {
    SetResult(op, *result, term);
    return std::nullopt;
  }
  contents_.SetInner(made.outputs.front());
  terms_[made.outputs.front()] = std::move(term);
  return std::nullopt;
}

}  // namespace placewright::check
