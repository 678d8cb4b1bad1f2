#include "check_plan/distributed/instance_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "check_plan/distributed/counted_rows.h"

namespace placewright::check {
namespace {

bool Writes(const Op& op, size_t input) {
  return std::find(op.writes.begin(), op.writes.end(), op.inputs[input]) != op.writes.end();
}

constexpr int kFurtherAxes = 3;
constexpr int64_t kTriedLengths = 64;

// The part of a tensor's rows, which lie in the dimension that has several axes, or in any.
std::vector<PartAlong> RowsOf(const TensorAxes& axes, const Part& part) {
  const auto several = [](const std::vector<RuleAxisId>& dimension) {
    return dimension.size() > 1;
  };
  const auto found = std::find_if(axes.begin(), axes.end(), several);
  std::vector<PartAlong> rows;
  for (const PartAlong& one : part.along) {
    const bool is = found == axes.end() || one.dimension == found - axes.begin();
    if (is) rows.push_back(one);
  }
  return rows;
}

}  // namespace

std::string NameOf(const Graph& original, const DistributedStep& step, OpId op) {
  const std::string name = Printable(step.graph.op(op).name, 80);
  if (!step.origin[op].valid()) return fmt::format("\"{}\"", name);
  return fmt::format("\"{}\", which is of \"{}\",", name,
                     Printable(original.op(step.origin[op]).name, 80));
}

std::string PlaceOf(const DistributedStep& step, OpId op) {
  return fmt::format("step: ops[{}] ({})", op.value(), Printable(step.graph.op(op).name, 80));
}

void SetUnknown(const Graph& original, const DistributedStep& step, OpId op,
                Content::Knowledge knowledge, Contents& contents) {
  const Op& made = step.graph.op(op);
  const OpId origin = step.origin[op];
  for (size_t i = 0; i < made.inputs.size(); ++i) {
    if (!Writes(made, i)) continue;
    const Held held = contents.Read(op, i);
    const int32_t version = origin.valid() && held.tensor.valid()
                                ? contents.VersionBy(origin, original.tensor(held.tensor).storage)
                                : -1;
    contents.SetWritten(op, made.inputs[i],
                        {knowledge, version >= 0 ? version : held.content.version, {}, {}});
  }
  for (const TensorId output : made.outputs) {
    const Tensor& tensor = step.graph.tensor(output);
    const bool shared = std::any_of(made.inputs.begin(), made.inputs.end(), [&](TensorId input) {
      return step.graph.tensor(input).storage == tensor.storage;
    });
    if (!shared) contents.SetFresh(output, {TensorId(), {}, {knowledge, -1, {}, {}}});
  }
}

InstanceCheck::InstanceCheck(const Graph& original, const DistributedStep& step,
                             const Facets& facets, OpId op, Contents& contents, Sums& sums)
    : original_(original),
      step_(step),
      facets_(facets),
      rule_(facets.rule(facets.of(op))),
      id_(op),
      made_(step.graph.op(op)),
      origin_(step.origin[op]),
      facet_(facets.of(op)),
      stated_(facets.op(facet_)),
      contents_(contents),
      sums_(sums) {
  instance_.op = op;
}

Violation InstanceCheck::Wrong(ViolationKind kind, const std::string& message) const {
  return {kind, fmt::format("{} {}", NameOf(original_, step_, id_), message), PlaceOf(step_, id_)};
}

std::string InstanceCheck::InputName(size_t input) const {
  return fmt::format("\"{}\"", Printable(original_.tensor(stated_.inputs[input]).name, 80));
}

MaybeViolation InstanceCheck::Run() {
  MaybeViolation violation = Check();
  if (violation) outcome_ = Outcome::kBehindViolation;
  if (outcome_ == Outcome::kProven) {
    SetProven();
  } else {
    SetUnknown(original_, step_, id_, Content::kUnknown, contents_);
  }
  return violation;
}

MaybeViolation InstanceCheck::Check() {
  if (made_.inputs.size() != stated_.inputs.size() ||
      made_.outputs.size() != stated_.outputs.size()) {
    return Wrong(
        ViolationKind::kWrongArgument,
        fmt::format("has {} inputs and {} outputs, of which {} and {} are due", made_.inputs.size(),
                    made_.outputs.size(), stated_.inputs.size(), stated_.outputs.size()));
  }
  for (size_t i = 0; i < made_.inputs.size(); ++i) {
    read_.push_back(contents_.Read(id_, i));
    if (read_[i].content.knowledge == Content::kUnknown) outcome_ = Outcome::kBehindViolation;
  }
  if (outcome_ != Outcome::kProven) return std::nullopt;
  for (size_t i = 0; i < made_.inputs.size(); ++i) {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckIdentity(i));
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(FindCut());
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckParts());
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckAddends());
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckCall());
  return CheckOutputs();
}

// It reads the tensors that the op reads, as they were when the op read them.
MaybeViolation InstanceCheck::CheckIdentity(size_t input) const {
  const Held& held = read_[input];
  if (Writes(made_, input) != Writes(stated_, input)) {
    return Wrong(ViolationKind::kWrongArgument,
                 fmt::format("{} {} in place, the op does {}",
                             Writes(made_, input) ? "writes" : "does not write", InputName(input),
                             Writes(stated_, input) ? "" : "not"));
  }
  if (held.content.buffer >= 0) {
    return Wrong(
        ViolationKind::kWrongInput,
        fmt::format("reads a buffer of several tensors where {} is due", InputName(input)));
  }
  if (held.content.addend.kind == Addend::kZero || !held.known()) return std::nullopt;
  if (held.tensor != contents_.Same(stated_.inputs[input])) {
    return Wrong(ViolationKind::kWrongInput,
                 fmt::format("reads \"{}\" where {} is due",
                             Printable(original_.tensor(held.tensor).name, 80), InputName(input)));
  }
  if (IsUnread(input)) return std::nullopt;
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckVersion(input));
  if (!held.content.division.due()) return std::nullopt;
  return Wrong(
      ViolationKind::kLocalDivisor,
      fmt::format("reads {} before it has been divided by {}", InputName(input),
                  held.content.division.number ? fmt::format("{}", *held.content.division.number)
                                               : "the weight of all parts"));
}

MaybeViolation InstanceCheck::CheckVersion(size_t input) const {
  const int32_t version = read_[input].content.version;
  const int32_t due = contents_.DueVersion(stated_.inputs[input], stated_.input_versions[input]);
  if (version == due) return std::nullopt;
  const TensorKind kind = original_.storage(original_.tensor(stated_.inputs[input]).storage).kind;
  return Wrong(IsPersistent(kind) ? ViolationKind::kStaleParameter : ViolationKind::kWrongInput,
               fmt::format("reads {} at version {} where version {} is due", InputName(input),
                           version, due));
}

bool InstanceCheck::IsCutBy(Parts parts) const {
  const auto& along = instance_.cut.along;
  return std::any_of(along.begin(), along.end(),
                     [&](const CutAlong& one) { return rule_->axes[one.axis].parts == parts; });
}

// Of axes that it is not cut by so far.
void InstanceCheck::AddCut(const Cut& cut) {
  const std::vector<RuleAxisId> known = AxesOf(instance_.cut);
  std::vector<CutAlong> all(instance_.cut.along.begin(), instance_.cut.along.end());
  for (const CutAlong& one : cut.along) {
    if (std::find(known.begin(), known.end(), one.axis) == known.end()) all.push_back(one);
  }
  instance_.cut = Merged(std::move(all));
}

// The intervals of axes that the parts among the inputs are of.
MaybeViolation InstanceCheck::FindCut() {
  for (size_t i = 0; i < read_.size(); ++i) {
    const Part& part = read_[i].part;
    if (part.whole() || part.somewhere() || !read_[i].known() || IsUnread(i)) continue;
    const std::optional<Cut> cut = rule_ ? CutOf(*rule_, rule_->inputs[i], part) : std::nullopt;
    if (!cut) {
      return Wrong(ViolationKind::kWrongPart,
                   fmt::format("has {} of {}, by which it cannot be computed in parts",
                               ToString(part), InputName(i)));
    }
    AddCut(*cut);
    const std::vector<RuleAxisId> axes = AxesOf(*cut);
    if (Along(instance_.cut, axes) == *cut) continue;
    return Wrong(ViolationKind::kWrongPart,
                 fmt::format("has {} of {}, which is another interval ({}) than that of its other "
                             "inputs ({})",
                             ToString(part), InputName(i), ToString(*cut),
                             ToString(Along(instance_.cut, axes))));
  }
  FindCutByPlace();
  FindCutByShape();
  if (!IsCutBy(Parts::kWhole)) return std::nullopt;
  return Wrong(ViolationKind::kWrongPart,
               fmt::format("is computed in parts ({}) of an axis of which it needs all",
                           ToString(instance_.cut)));
}

// No input says which part it is, but an argument may.
void InstanceCheck::FindCutByPlace() {
  if (!rule_ || FitsShapes(instance_.cut)) return;
  const auto add = [&](const PlaceArgument& at, RuleAxisId axis) {
    const std::optional<Part> part = PlaceStated(at);
    const std::optional<Cut> cut = part ? CutOf(*rule_, at.TensorOf(*rule_), *part) : std::nullopt;
    if (cut) AddCut(axis.valid() ? Along(*cut, {axis}) : *cut);
  };
  for (const AxisPartOp& one : rule_->axis_parts) {
    if (one.of_output && made_.type == one.type) add(PlaceArgumentOf(*rule_, one.axis), one.axis);
  }
  if (rule_->place_argument >= 0) add({rule_->place_argument, true}, RuleAxisId());
}

// No input says which part it is: sizes of inputs and outputs say how much. The same sizes may be those of a part of
// several axes (8 of 32 rows, of 8 bags of 4: 2 bags, or 1 of 4); one that cannot be split is the last choice.
void InstanceCheck::FindCutByShape() {
  if (!rule_) return;
  for (const bool whole : {false, true}) {
    const std::optional<Cut> cut = CutByShape(instance_.cut, kFurtherAxes, whole);
    if (!cut) continue;
    instance_.cut = *cut;
    return;
  }
}

// With up to so many further axes, those that cannot be split among them if `whole`; nothing where none fit.
std::optional<Cut> InstanceCheck::CutByShape(const Cut& cut, int further, bool whole) const {
  if (FitsShapes(cut)) return cut;
  const auto [axes, has, wanted] = FirstToCut(cut);
  if (further == 0 || axes == nullptr) return std::nullopt;
  const std::vector<RuleAxisId> known = AxesOf(cut);
  const auto longer = [&](RuleAxisId axis, int64_t length) -> std::optional<Cut> {
    if (length <= 0 || length >= rule_->axes[axis].size) return std::nullopt;
    std::vector<CutAlong> all(cut.along.begin(), cut.along.end());
    all.push_back({axis, 1, rule_->axes[axis].size, 0, length, true});
    return CutByShape(Merged(std::move(all)), further - 1, whole);
  };
  // One axis is all of what is cut there; or it is one of two.
  for (const bool one : {true, false}) {
    for (const RuleAxisId axis : *axes) {
      const bool may = (rule_->axes[axis].parts == Parts::kWhole) <= whole &&
                       std::find(known.begin(), known.end(), axis) == known.end();
      const int64_t size = rule_->axes[axis].size;
      if (!may || (!one && axes->size() == 1)) continue;
      if (one) {
        if (size * wanted % has != 0) continue;
        if (auto found = longer(axis, size * wanted / has)) return found;
        continue;
      }
      for (int64_t length = std::min(size, kTriedLengths) - 1; length > 0; --length) {
        if (auto found = longer(axis, length)) return found;
      }
    }
  }
  return std::nullopt;
}

// The first dimension of which the piece has less than the cut says.
InstanceCheck::ToCut InstanceCheck::FirstToCut(const Cut& cut) const {
  const auto in_tensor = [&](const TensorAxes& axes, TensorId whole, TensorId piece) -> ToCut {
    const std::vector<int64_t>& shape = original_.tensor(whole).shape;
    const std::vector<int64_t>& sizes = step_.graph.tensor(piece).shape;
    const auto has = ShapeOf(shape, PartIn(*rule_, axes, shape, cut));
    if (!has || has->size() != sizes.size()) return {};
    for (size_t d = 0; d < std::min(axes.size(), sizes.size()); ++d) {
      if (sizes[d] < (*has)[d]) return {&axes[d], (*has)[d], sizes[d]};
    }
    return {};
  };
  for (size_t i = 0; i < stated_.inputs.size(); ++i) {
    if (IsUnread(i)) continue;  // any piece will do
    const ToCut found = in_tensor(rule_->inputs[i], stated_.inputs[i], made_.inputs[i]);
    if (found.axes != nullptr) return found;
  }
  for (size_t i = 0; i < stated_.outputs.size(); ++i) {
    const ToCut found = in_tensor(rule_->outputs[i], stated_.outputs[i], made_.outputs[i]);
    if (found.axes != nullptr) return found;
  }
  return {};
}

bool InstanceCheck::FitsShapes(const Cut& cut) const {
  const auto fits = [&](const TensorAxes& axes, TensorId whole, TensorId piece) {
    const auto& shape = original_.tensor(whole).shape;
    const auto sizes = ShapeOf(shape, PartIn(*rule_, axes, shape, cut));
    return sizes && *sizes == step_.graph.tensor(piece).shape;
  };
  for (size_t i = 0; i < stated_.inputs.size(); ++i) {
    if (IsUnread(i)) continue;
    if (!fits(rule_->inputs[i], stated_.inputs[i], made_.inputs[i])) return false;
  }
  for (size_t i = 0; i < stated_.outputs.size(); ++i) {
    if (!fits(rule_->outputs[i], stated_.outputs[i], made_.outputs[i])) return false;
  }
  return true;
}

// Counts of rows that every part has in an order of its own are those of the rows beside them.
MaybeViolation InstanceCheck::CheckCounts() const {
  for (size_t i = 0; i < read_.size(); ++i) {
    if (!facets_.Counts(stated_.inputs[i])) continue;
    const Part counted = RowsCounted(original_, step_, facets_, contents_, made_.inputs[i]);
    for (size_t rows = 0; rows < read_.size(); ++rows) {
      const TensorId id = stated_.inputs[rows];
      if (!facets_.in_own_order(id) || facets_.Counts(id) || IsUnread(rows)) continue;
      const Part& part = read_[rows].part;
      const std::vector<PartAlong> own = RowsOf(rule_->inputs[rows], part);
      const bool same =
          std::equal(own.begin(), own.end(), counted.along.begin(), counted.along.end(),
                     [](const PartAlong& a, const PartAlong& b) {
                       return a.from == b.from && a.to == b.to && a.period == b.period;
                     });
      if (same) continue;
      return Wrong(ViolationKind::kWrongPart,
                   fmt::format("reads {} of {} with the counts of {}", ToString(part),
                               InputName(rows), ToString(counted)));
    }
  }
  return std::nullopt;
}

bool InstanceCheck::IsUnread(size_t input) const {
  return rule_ && placewright::IsUnread(*rule_, input);
}

Part InstanceCheck::PartOf(size_t input) const {
  if (instance_.cut.whole()) return {};
  return PartIn(*rule_, rule_->inputs[input], original_.tensor(stated_.inputs[input]).shape,
                instance_.cut);
}

Part InstanceCheck::OutputPart(size_t output) const {
  if (instance_.cut.whole()) return {};
  return PartIn(*rule_, rule_->outputs[output], original_.tensor(stated_.outputs[output]).shape,
                instance_.cut);
}

// Every input is all of its tensor, or of the one interval where it has the axis. What has no place is
// compared by its size.
MaybeViolation InstanceCheck::CheckParts() const {
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckCounts());
  for (size_t i = 0; i < read_.size(); ++i) {
    if (IsUnread(i)) continue;
    const Part due = PartOf(i);
    const bool placed = read_[i].known() && !read_[i].part.somewhere() && !due.somewhere();
    const bool same =
        placed ? read_[i].part == due : contents_.Fits(stated_.inputs[i], due, made_.inputs[i]);
    if (same) continue;
    return Wrong(ViolationKind::kWrongPart,
                 fmt::format("has {} of {} where {} is due", ToString(read_[i].part), InputName(i),
                             ToString(due)));
  }
  return std::nullopt;
}

// Shares of sums go on through what is linear in them.
MaybeViolation InstanceCheck::CheckAddends() {
  std::vector<size_t> shares;
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckOnce(shares));
  if (shares.empty()) return std::nullopt;
  const auto has_all = [&](const std::vector<int32_t>& together) {
    return std::all_of(shares.begin(), shares.end(), [&](size_t input) {
      return std::find(together.begin(), together.end(), static_cast<int32_t>(input)) !=
             together.end();
    });
  };
  if (rule_) {
    const auto found = std::find_if(rule_->linear.begin(), rule_->linear.end(), has_all);
    if (found != rule_->linear.end()) linear_ = *found;
  }
  if (linear_.empty()) {
    const bool zeros = read_[shares.front()].content.addend.kind == Addend::kZero;
    return Wrong(
        ViolationKind::kLostSum,
        fmt::format("reads {} {} as if they were all of it",
                    zeros ? "zeros in place of" : "shares of the sum", InputName(shares.front())));
  }
  all_zero_ = std::all_of(linear_.begin(), linear_.end(), [&](int32_t input) {
    return read_[static_cast<size_t>(input)].content.addend.kind == Addend::kZero;
  });
  if (all_zero_ || made_.is_view) return std::nullopt;
  for (const int32_t input : linear_) {
    instance_.shares.emplace_back(input, read_[static_cast<size_t>(input)].content.addend);
  }
  return std::nullopt;
}

bool InstanceCheck::IsOnce(RuleAxisId axis, size_t input) const {
  const std::pair<RuleAxisId, int32_t> once(axis, static_cast<int32_t>(input));
  return std::find(rule_->once.begin(), rule_->once.end(), once) != rule_->once.end();
}

// It enters a sum once, and that is here, where the interval begins.
bool InstanceCheck::Enters(size_t input) const {
  return std::all_of(instance_.cut.along.begin(), instance_.cut.along.end(),
                     [&](const CutAlong& one) {
                       return one.from == 0 || rule_->axes[one.axis].parts != Parts::kSum ||
                              !IsOnce(one.axis, input);
                     });
}

// What enters once is zero but where it enters. `shares`: of the other inputs those that are not all of what is due.
MaybeViolation InstanceCheck::CheckOnce(std::vector<size_t>& shares) const {
  bool any_once = false;
  for (size_t i = 0; i < read_.size(); ++i) {
    const Addend::Kind kind = read_[i].content.addend.kind;
    const bool once = std::any_of(
        instance_.cut.along.begin(), instance_.cut.along.end(), [&](const CutAlong& one) {
          return rule_->axes[one.axis].parts == Parts::kSum && IsOnce(one.axis, i);
        });
    any_once = any_once || once;
    if (once && kind == Addend::kWhole && !Enters(i)) {
      return Wrong(ViolationKind::kDoubledSum,
                   fmt::format("adds all of {} to its share, which enters where the sum begins",
                               InputName(i)));
    }
    const bool right = kind == Addend::kWhole || (once && kind == Addend::kZero && !Enters(i));
    if (!right && !IsUnread(i)) shares.push_back(i);
  }
  if (shares.empty() || !any_once) return std::nullopt;
  return Wrong(ViolationKind::kLostSum,
               fmt::format("reads shares of {} or zeros in its place, where all of it is due",
                           InputName(shares.front())));
}

// The same operator with the same arguments, but for sizes that follow the part.
MaybeViolation InstanceCheck::CheckOutputs() const {
  for (size_t i = 0; i < made_.outputs.size(); ++i) {
    const Tensor& due = original_.tensor(stated_.outputs[i]);
    const Tensor& made = step_.graph.tensor(made_.outputs[i]);
    const bool right = contents_.Fits(stated_.outputs[i], OutputPart(i), made_.outputs[i]) &&
                       made.dtype == due.dtype && made.output_index == due.output_index;
    if (right) continue;
    return Wrong(ViolationKind::kWrongArgument,
                 fmt::format("makes an output of other sizes than {} of \"{}\" has",
                             ToString(OutputPart(i)), Printable(due.name, 80)));
  }
  return std::nullopt;
}

// The axes over which an output is a sum.
Sums::Over InstanceCheck::SummedFor(size_t output) const {
  Sums::Over over;
  if (!rule_) return over;
  const bool own = has_own_statistics() && rule_->form == PartForm::kBatchNormBackward;
  for (const RuleAxisId axis : IdRange<RuleAxisId>(rule_->axes.size())) {
    const bool sums = VerdictOf(*rule_, axis, output) == PartVerdict::kSum ||
                      (own && rule_->axes[axis].parts == Parts::kSynchronised &&
                       !Holds(rule_->outputs[output], axis));
    if (!sums) continue;
    over.axes.push_back(axis);
    over.elements = SaturatingMultiply(over.elements, rule_->axes[axis].size);
  }
  return over;
}

Addend InstanceCheck::AddendOf(size_t output) {
  if (all_zero_) return {Addend::kZero, -1, {}};
  Sums::Over over = SummedFor(output);
  Sums::Share share;
  share.cut = Along(instance_.cut, over.axes);
  for (const int32_t input : linear_) {
    share.inputs.push_back(read_[static_cast<size_t>(input)].content.addend);
  }
  if (share.cut.whole() && share.inputs.empty()) return {};
  // What it makes of one share is the same share.
  if (share.cut.whole() && share.inputs.size() == 1) return share.inputs.front();
  if (share.cut.somewhere()) share.alone = id_;
  return sums_.Contribute(facet_, over, std::move(share));
}

void InstanceCheck::SetProven() {
  for (size_t i = 0; i < made_.inputs.size(); ++i) {
    if (!Writes(made_, i)) continue;
    // Written without being returned, unless an output says otherwise.
    const StorageId storage = original_.tensor(stated_.inputs[i]).storage;
    contents_.SetWritten(
        id_, made_.inputs[i],
        PlacedBy(i, {Content::kKnown, contents_.VersionBy(origin_, storage), {}, {}}));
  }
  for (size_t i = 0; i < made_.outputs.size(); ++i) SetOutput(i);
}

// What was written to a part that was somewhere says which one it is.
Content InstanceCheck::PlacedBy(size_t input, Content content) const {
  const Part part = PartOf(input);
  if (!read_[input].part.somewhere() || part.whole() || part.somewhere()) return content;
  content.placed_tensor = contents_.Same(stated_.inputs[input]);
  content.placed = part;
  return content;
}

void InstanceCheck::SetOutput(size_t output) {
  const Tensor& made = step_.graph.tensor(made_.outputs[output]);
  const Tensor& stated = original_.tensor(stated_.outputs[output]);
  const Division division = stated.output_index == 0 ? division_ : Division();
  Content content{Content::kKnown, stated.version, AddendOf(output), division};
  size_t shared = made_.inputs.size(), viewed = shared;
  for (size_t i = made_.inputs.size(); i-- > 0;) {
    if (step_.graph.tensor(made_.inputs[i]).storage == made.storage) shared = i;
    if (original_.tensor(stated_.inputs[i]).storage == stated.storage) viewed = i;
  }
  const size_t none = made_.inputs.size();
  if (shared == none) {
    // A view of the original may be a copy here: of what was viewed.
    if (viewed != none && !Writes(stated_, viewed)) {
      content.version = read_[viewed].content.version;
    }
    contents_.SetFresh(made_.outputs[output],
                       {contents_.Same(stated_.outputs[output]), OutputPart(output), content});
    return;
  }
  contents_.SetName(made_.outputs[output], stated_.outputs[output], OutputPart(output),
                    made_.inputs[shared]);
  if (Writes(made_, shared)) {
    contents_.SetWritten(id_, made_.inputs[shared], PlacedBy(shared, content));
  }
}

}  // namespace placewright::check
