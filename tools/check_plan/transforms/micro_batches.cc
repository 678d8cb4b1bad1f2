#include "check_plan/transforms/micro_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "check_plan/transforms/value_numbers.h"
#include "sharding/axis_places.h"
#include "sharding/batch_norm_call.h"
#include "sharding/named_axes.h"
#include "sharding/part_call.h"

namespace placewright::check {
namespace {

// What a tensor of the step is of one of the original.
struct Counterpart {
  enum Kind : uint8_t {
    kWhole,
    kPart,       // of these samples
    kShare,      // of a sum: what these samples give
    kUndivided,  // the same, or a part, of what is still to be divided
    kOwn,        // what these samples have of their own: statistics, counts of rows
    kCounted,  // of targets: which of them count (ne), and what is made of these on the way to their weight
    kApart,  // all of it, the batch in a dimension of its own
    kInto    // what a micro-batch adds into
  };
  Kind kind = kWhole;
  TensorId of;
  Interval samples;
  std::string_view stage = {};  // of kCounted
};

class MicroBatchChecker {
 public:
  MicroBatchChecker(const Graph& original, const Graph& step, int64_t micro_batches)
      : original_(original),
        step_(step),
        axes_(original),
        batch_(original.batch()),
        of_one_(micro_batches > 0 ? batch_ / micro_batches : 0),
        micro_batches_(micro_batches),
        held_(step.tensor_count()),
        copies_(original.op_count(), 0) {}

  MaybeViolation Check() {
    if (of_one_ < 1 || batch_ % micro_batches_ != 0 || !axes_.batch().valid()) {
      return Violation{ViolationKind::kNotProven,
                       fmt::format("{} micro-batches of a batch of {}", micro_batches_, batch_),
                       "transforms"};
    }
    for (const TensorId id : step_.tensors()) {
      if (step_.tensor(id).producer.valid()) continue;
      const TensorId same = original_.FindTensor(step_.tensor(id).name);
      if (!same.valid()) {
        return Violation{ViolationKind::kMissingOp, "the original has no input " + Name(step_, id),
                         "transforms"};
      }
      held_[id] = {Counterpart::kWhole, same, {}};
    }
    for (const OpId op : step_.ops()) CHECK_PLAN_RETURN_IF_VIOLATED(Visit(op));
    return CheckEnd();
  }

 private:
  static std::string Name(const Graph& graph, OpId op) { return Printable(graph.op(op).name, 80); }
  static std::string Name(const Graph& graph, TensorId id) {
    return Printable(graph.tensor(id).name, 80);
  }
  Violation At(OpId op, ViolationKind kind, std::string message) const {
    return {kind, std::move(message), fmt::format("ops[{}] ({})", op.value(), Name(step_, op))};
  }
  Interval SamplesOf(int64_t k) const { return {(k - 1) * of_one_, k * of_one_}; }
  bool IsAll(const Interval& samples) const { return samples == Interval{0, batch_}; }
  static std::string Text(const Interval& samples) {
    return fmt::format("[{}, {})", samples.from, samples.to);
  }
  std::string Text(const Counterpart& held) const {
    const std::string name = Name(original_, held.of);
    switch (held.kind) {
      case Counterpart::kWhole: return name;
      case Counterpart::kPart: return fmt::format("samples {} of {}", Text(held.samples), name);
      default: return fmt::format("what samples {} give of {}", Text(held.samples), name);
    }
  }

  // "X@2" -> X and 2; of an op of the original.
  struct Copy {
    OpId of;
    int64_t number = 0;
    std::string_view rest;  // ".mean"
  };
  std::optional<Copy> CopyOf(OpId id) const {
    const std::string_view name = step_.op(id).name;
    for (size_t at = name.rfind('@'); at != std::string_view::npos && at > 0;
         at = name.rfind('@', at - 1)) {
      const OpId of = original_.FindOp(name.substr(0, at));
      int64_t number = 0;
      const auto [end, error] =
          std::from_chars(name.data() + at + 1, name.data() + name.size(), number);
      if (!of.valid() || error != std::errc()) continue;
      return Copy{of, number, name.substr(static_cast<size_t>(end - name.data()))};
    }
    return std::nullopt;
  }

  MaybeViolation Visit(OpId id) {
    const Op& op = step_.op(id);
    // What joins parts of a result is named after it.
    const bool joins =
        op.type == "aten.cat.default" && held_[op.inputs[0]].kind == Counterpart::kPart;
    if (const OpId same = original_.FindOp(op.name); same.valid() && !joins) {
      return CheckWhole(id, same);
    }
    const auto copy = CopyOf(id);
    if (copy && copy->rest.empty() && !IsOfResult(id, copy->of)) return CheckCopy(id, *copy);
    if (op.inputs.empty()) return MakeNothing(id);
    if (op.type == "aten.slice.Tensor") return Cut(id);
    if (op.type == "aten.add.Tensor") return AddUp(id);
    if (op.type.starts_with("aten.div.")) return Divide(id);
    if (op.type == "aten.view.default") return View(id);
    if (op.type == "aten.clone.default" || op.type == "aten.zeros_like.default") return Into(id);
    if (op.type == "aten.cat.default") return Join(id);
    return Weigh(id);
  }

  // What cuts the result of an op that is done once is named as its copies would be.
  bool IsOfResult(OpId id, OpId of) const {
    const Op& op = step_.op(id);
    if (op.inputs.size() != 1 || !held_[op.inputs[0]].of.valid()) return false;
    return original_.tensor(held_[op.inputs[0]].of).producer == of;
  }

  // ---- ops of the original, on all of their tensors

  // What has been written into it since it was made is what the original's has.
  MaybeViolation CheckContent(OpId id, size_t input, OpId due, size_t at) const {
    const std::string by = WrittenBy(step_, id, input), due_by = WrittenBy(original_, due, at);
    if (by.substr(0, by.find('@')) == due_by) return std::nullopt;
    return At(id, ViolationKind::kStaleParameter,
              fmt::format("{} reads {} as \"{}\" has left it, where \"{}\" is due", Name(step_, id),
                          Name(step_, step_.op(id).inputs[input]), by, due_by));
  }
  static std::string WrittenBy(const Graph& graph, OpId id, size_t input) {
    const Tensor& tensor = graph.tensor(graph.op(id).inputs[input]);
    const int32_t version = graph.op(id).input_versions[input];
    if (version == tensor.version) return "";
    const OpId writer = graph.storage(tensor.storage).versions[static_cast<size_t>(version)].writer;
    return graph.op(writer).name;
  }

  bool IsUnread(OpId op, size_t input) const {
    const OpRule* const rule = axes_.rule(op);
    const std::string_view type = original_.op(op).type;
    return type == "aten.ones_like.default" || type == "aten.zeros_like.default" ||
           type == "aten.empty_like.default" || type == "aten.full_like.default" ||
           (rule != nullptr && placewright::IsUnread(*rule, input));
  }

  MaybeViolation CheckWhole(OpId id, OpId same) {
    const Op& op = step_.op(id);
    const Op& due = original_.op(same);
    if (op.type != due.type || op.inputs.size() != due.inputs.size() ||
        ArgumentsOf(op) != ArgumentsOf(due) || op.outputs.size() != due.outputs.size()) {
      return At(id, ViolationKind::kWrongArgument,
                fmt::format("{} is not the original's op", Name(step_, id)));
    }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (IsUnread(same, i)) continue;
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckRead(id, i, due.inputs[i], nullptr));
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckContent(id, i, same, i));
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      held_[op.outputs[i]] = {Counterpart::kWhole, due.outputs[i], {}};
    }
    return std::nullopt;
  }

  // All of `due` is read, or with `own` what these samples have.
  MaybeViolation CheckRead(OpId id, size_t input, TensorId due, const Counterpart* own) const {
    const Counterpart& held = held_[step_.op(id).inputs[input]];
    if (held.of != due) {
      return At(id, ViolationKind::kWrongInput,
                fmt::format("{} reads {}, where {} is due", Name(step_, id),
                            held.of.valid() ? Text(held) : "something else", Name(original_, due)));
    }
    if (own != nullptr ? held.kind == own->kind && held.samples == own->samples
                       : held.kind == Counterpart::kWhole) {
      return std::nullopt;
    }
    const bool sum = held.kind == Counterpart::kShare;
    const ViolationKind kind = sum                                    ? ViolationKind::kLostSum
                               : held.kind == Counterpart::kUndivided ? ViolationKind::kLocalDivisor
                                                                      : ViolationKind::kWrongPart;
    return At(id, kind,
              fmt::format("{} reads {}, where {} is due", Name(step_, id), Text(held),
                          own == nullptr ? "all of it" : "samples " + Text(own->samples)));
  }

  // ---- copies

  MaybeViolation CheckCopy(OpId id, const Copy& copy) {
    if (copy.number < 1 || copy.number > micro_batches_) {
      return At(
          id, ViolationKind::kDoubledSample,
          fmt::format("{} is of no micro-batch: there are {}", Name(step_, id), micro_batches_));
    }
    if (const int64_t due = ++copies_[copy.of]; due != copy.number) {
      return At(id,
                due < copy.number ? ViolationKind::kMissingSample : ViolationKind::kDoubledSample,
                fmt::format("{} comes where micro-batch {} is due", Name(step_, id), due));
    }
    const Op& op = step_.op(id);
    const Op& due = original_.op(copy.of);
    if (op.inputs.size() != due.inputs.size() || op.outputs.size() != due.outputs.size()) {
      return At(id, ViolationKind::kWrongArgument,
                fmt::format("{} reads or makes another number of tensors", Name(step_, id)));
    }
    const RuleAxisId split = axes_.SplitBy(copy.of, axes_.batch());
    return split.valid() ? CheckPart(id, copy, split) : CheckLinear(id, copy);
  }

  MaybeViolation CheckPart(OpId id, const Copy& copy, RuleAxisId split) {
    const Op& op = step_.op(id);
    const Op& due = original_.op(copy.of);
    const OpRule& rule = *axes_.rule(copy.of);
    const Interval samples = SamplesOf(copy.number);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (IsUnread(copy.of, i)) continue;
      const TensorId input = due.inputs[i];
      const Counterpart& held = held_[op.inputs[i]];
      if (Holds(rule.inputs[i], split)) {
        const Counterpart part{Counterpart::kPart, input, samples};
        CHECK_PLAN_RETURN_IF_VIOLATED(CheckRead(id, i, input, &part));
      } else if (held.kind == Counterpart::kOwn) {
        const Counterpart own{Counterpart::kOwn, input, samples};
        CHECK_PLAN_RETURN_IF_VIOLATED(CheckRead(id, i, input, &own));
      } else if (held.kind == Counterpart::kInto) {
        CHECK_PLAN_RETURN_IF_VIOLATED(CheckInto(id, i, input, copy, split));
      } else {
        CHECK_PLAN_RETURN_IF_VIOLATED(CheckRead(id, i, input, nullptr));
        CHECK_PLAN_RETURN_IF_VIOLATED(CheckOnce(id, i, copy, split));
        if (!Writes(op, op.inputs[i])) {
          CHECK_PLAN_RETURN_IF_VIOLATED(CheckContent(id, i, copy.of, i));
        }
      }
    }
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckCall(id, copy, split));
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      CHECK_PLAN_RETURN_IF_VIOLATED(SetOutput(id, i, copy, split));
    }
    return std::nullopt;
  }

  static bool Writes(const Op& op, TensorId tensor) {
    return std::find(op.writes.begin(), op.writes.end(), tensor) != op.writes.end();
  }

  // What enters a sum by itself enters it in the first micro-batch alone.
  MaybeViolation CheckOnce(OpId id, size_t input, const Copy& copy, RuleAxisId split) const {
    const std::pair<RuleAxisId, int32_t> once(split, static_cast<int32_t>(input));
    const auto& all = axes_.rule(copy.of)->once;
    if (copy.number == 1 || std::find(all.begin(), all.end(), once) == all.end()) {
      return std::nullopt;
    }
    return At(id, ViolationKind::kDoubledSum,
              fmt::format("{} adds {} to a sum that has it from the first micro-batch",
                          Name(step_, id), Name(step_, step_.op(id).inputs[input])));
  }
  MaybeViolation CheckInto(OpId id, size_t input, TensorId due, const Copy& copy,
                           RuleAxisId split) const {
    const TensorId into = step_.op(id).inputs[input];
    const bool zeros = step_.op(step_.tensor(into).producer).type == "aten.zeros_like.default";
    if (held_[into].of != due) {
      return At(id, ViolationKind::kWrongInput,
                fmt::format("{} adds into another tensor than {}", Name(step_, id),
                            Name(original_, due)));
    }
    if (zeros == (copy.number > 1)) return std::nullopt;
    if (!zeros) return CheckOnce(id, input, copy, split);
    return At(id, ViolationKind::kLostSum,
              fmt::format("{} leaves out {}", Name(step_, id), Name(original_, due)));
  }

  MaybeViolation CheckCall(OpId id, const Copy& copy, RuleAxisId split) const {
    const Op& op = step_.op(id);
    const Op& due = original_.op(copy.of);
    OpRule rule = *axes_.rule(copy.of);
    if (IsOwnMean(rule, split) && op.type == due.type) rule.form = PartForm::kSameOp;
    IdVector<RuleAxisId, int64_t> sizes;
    for (const RuleAxis& axis : rule.axes) sizes.push_back(axis.size);
    sizes[split] = sizes[split] / batch_ * of_one_;
    PartCall call = CallOnPart(due, rule, {split}, sizes);
    const PlaceArgument at = PlaceArgumentOf(rule, split);
    if (at.there()) {
      const AxisPlace place = PlaceInRule(axes_, copy.of, split, axes_.batch(), at.TensorOf(rule));
      Value::List numbers;
      for (const int64_t number : NumbersOf({place, SamplesOf(copy.number)})) {
        numbers.push_back(Value(number));
      }
      call.args[static_cast<size_t>(at.argument)] = Value(std::move(numbers));
    }
    if (op.type == call.type && op.args == call.args && op.attributes == call.attributes) {
      return std::nullopt;
    }
    return At(id, ViolationKind::kWrongArgument,
              fmt::format("{} is not {} of samples {}", Name(step_, id), Name(original_, copy.of),
                          Text(SamplesOf(copy.number))));
  }
  static bool IsOwnMean(const OpRule& rule, RuleAxisId split) {
    return rule.form == PartForm::kMean && rule.reduction_argument < 0 &&
           rule.axes[split].parts == Parts::kSplit;
  }

  MaybeViolation SetOutput(OpId id, size_t output, const Copy& copy, RuleAxisId split) {
    const OpRule& rule = *axes_.rule(copy.of);
    const TensorId of = original_.op(copy.of).outputs[output];
    const Interval samples = SamplesOf(copy.number);
    const bool norm = rule.axes[split].parts == Parts::kSynchronised;
    Counterpart held{norm || axes_.in_own_order(of) ? Counterpart::kOwn : Counterpart::kWhole, of,
                     samples};
    if (Holds(rule.outputs[output], split)) {
      held.kind = Counterpart::kPart;
    } else if ((norm && rule.form == PartForm::kBatchNormBackward) ||
               VerdictOf(rule, split, output) == PartVerdict::kSum) {
      held.kind = Counterpart::kShare;
    }
    if (norm && !BatchNormCallOf(original_.op(copy.of))) {
      return At(id, ViolationKind::kNotProven, Name(step_, id) + " has statistics of its part");
    }
    const bool mean =
        rule.form == PartForm::kWeightedMean ||
        (rule.form == PartForm::kMean &&
         !(IsOwnMean(rule, split) && step_.op(id).type == original_.op(copy.of).type));
    if (mean && original_.tensor(of).output_index == 0) held.kind = Counterpart::kUndivided;
    held_[step_.op(id).outputs[output]] = held;
    return std::nullopt;
  }

  // Of shares of sums, or of what each micro-batch has of its own; or what is done once for each (a count).
  MaybeViolation CheckLinear(OpId id, const Copy& copy) {
    const Op& op = step_.op(id);
    const Op& due = original_.op(copy.of);
    if (op.type != due.type || ArgumentsOf(op) != ArgumentsOf(due)) {
      return At(id, ViolationKind::kWrongArgument,
                fmt::format("{} is not {}", Name(step_, id), Name(original_, copy.of)));
    }
    std::vector<int32_t> shares;
    bool own = false;
    const Interval samples = SamplesOf(copy.number);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (IsUnread(copy.of, i)) continue;
      const Counterpart& held = held_[op.inputs[i]];
      const Counterpart same{held.kind, due.inputs[i], samples};
      own = own || held.kind == Counterpart::kOwn;
      if (held.kind == Counterpart::kShare) shares.push_back(static_cast<int32_t>(i));
      const bool whole = held.kind == Counterpart::kWhole;
      CHECK_PLAN_RETURN_IF_VIOLATED(CheckRead(id, i, due.inputs[i], whole ? nullptr : &same));
    }
    const bool counts = shares.empty() && !own && op.writes.size() == 1 && op.inputs.size() == 1;
    const OpRule* const rule = axes_.rule(copy.of);
    const bool linear =
        rule != nullptr &&
        std::any_of(rule->linear.begin(), rule->linear.end(), [&](std::vector<int32_t> together) {
          std::sort(together.begin(), together.end());
          together.erase(std::unique(together.begin(), together.end()), together.end());
          return together == shares;
        });
    if (!linear && !counts && !(own && shares.empty())) {
      return At(
          id, ViolationKind::kLostSum,
          fmt::format("{} is not linear in the shares of sums that it reads", Name(step_, id)));
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      held_[op.outputs[i]] = {counts ? Counterpart::kWhole
                              : own  ? Counterpart::kOwn
                                     : Counterpart::kShare,
                              due.outputs[i], counts ? Interval{} : samples};
    }
    return std::nullopt;
  }

  // ---- what cuts, adds, divides and weighs

  // Only its type is read.
  MaybeViolation MakeNothing(OpId id) const {
    if (step_.op(id).type == "aten.zeros.default") return std::nullopt;
    return At(id, ViolationKind::kNotProven, "the original has no op " + Name(step_, id));
  }

  MaybeViolation Cut(OpId id) {
    const Op& op = step_.op(id);
    const Counterpart& whole = held_[op.inputs[0]];
    const auto number = [&](size_t i) {
      const int64_t* const one = i < op.args.size() ? op.args[i].AsInt() : nullptr;
      return one == nullptr ? int64_t{-1} : *one;
    };
    const bool apart = whole.kind == Counterpart::kApart;
    if (!whole.of.valid() || (whole.kind != Counterpart::kWhole && !apart)) {
      return At(id, ViolationKind::kWrongInput, Name(step_, id) + " cuts what is no whole tensor");
    }
    const AxisPlace place = PlaceInTensor(original_, axes_, whole.of, axes_.batch());
    const int64_t from = number(2), to = number(3);
    const bool fits = place.dimension >= 0 && (place.outer > 1) == apart &&
                      number(1) == place.dimension + (apart ? 1 : 0) && from >= 0 && to > from &&
                      from % place.inner == 0 && to % place.inner == 0 &&
                      to <= place.size * place.inner;
    const Interval samples{from / std::max<int64_t>(place.inner, 1),
                           to / std::max<int64_t>(place.inner, 1)};
    if (!fits || samples.length() != of_one_ || samples.from % of_one_ != 0) {
      return At(
          id, ViolationKind::kWrongPart,
          fmt::format("{} cuts [{}, {}), which is no micro-batch", Name(step_, id), from, to));
    }
    held_[op.outputs[0]] = {Counterpart::kPart, whole.of, samples};
    return std::nullopt;
  }

  // The batch gets a dimension of its own, and what is in front and behind of it is joined again.
  MaybeViolation View(OpId id) {
    const Op& op = step_.op(id);
    const Counterpart& held = held_[op.inputs[0]];
    const std::vector<int64_t>& shape = step_.tensor(op.outputs[0]).shape;
    if (held.of.valid() && held.kind == Counterpart::kWhole) {
      const AxisPlace place = PlaceInTensor(original_, axes_, held.of, axes_.batch());
      std::vector<int64_t> due = original_.tensor(held.of).shape;
      if (place.dimension >= 0) {
        due[static_cast<size_t>(place.dimension)] = place.size * place.inner;
        due.insert(due.begin() + place.dimension, place.outer);
        if (shape == due) {
          held_[op.outputs[0]] = {Counterpart::kApart, held.of, {}};
          return std::nullopt;
        }
      }
    } else if (held.of.valid() && held.kind == Counterpart::kPart) {
      const AxisPlace place = PlaceInTensor(original_, axes_, held.of, axes_.batch());
      if (shape ==
          placewright::ShapeOf(original_.tensor(held.of).shape, TensorBox{{place, held.samples}})) {
        held_[op.outputs[0]] = held;
        return std::nullopt;
      }
    }
    return At(id, ViolationKind::kNotProven, "the original has no view " + Name(step_, id));
  }

  MaybeViolation Into(OpId id) {
    const Op& op = step_.op(id);
    const Counterpart& held = held_[op.inputs[0]];
    if (held.kind == Counterpart::kPart && op.type == "aten.clone.default") {
      held_[op.outputs[0]] = held;
      return std::nullopt;
    }
    if (held.of.valid() && held.kind == Counterpart::kWhole) {
      held_[op.outputs[0]] = {Counterpart::kInto, held.of, {}};
      return std::nullopt;
    }
    return At(id, ViolationKind::kNotProven, "the original has no op " + Name(step_, id));
  }

  MaybeViolation AddUp(OpId id) {
    const Op& op = step_.op(id);
    if (op.inputs.size() != 2 || op.args.size() != 2 || !op.attributes.empty()) {
      return At(id, ViolationKind::kWrongArgument, Name(step_, id) + " does not add two shares");
    }
    const Counterpart &first = held_[op.inputs[0]], &second = held_[op.inputs[1]];
    if (!first.of.valid() || first.of != second.of) {
      return At(id, ViolationKind::kWrongInput,
                fmt::format("{} adds shares of two sums", Name(step_, id)));
    }
    if (first.kind != Counterpart::kShare || second.kind != Counterpart::kShare) {
      const bool whole = first.kind == Counterpart::kWhole || second.kind == Counterpart::kWhole;
      return At(id, whole ? ViolationKind::kDoubledSum : ViolationKind::kWrongInput,
                fmt::format("{} adds {} and {}", Name(step_, id), Text(first), Text(second)));
    }
    if (second.samples.from < first.samples.to) {
      return At(id, ViolationKind::kDoubledSum,
                fmt::format("{} adds {} to {}", Name(step_, id), Text(second), Text(first)));
    }
    if (second.samples.from > first.samples.to) {
      return At(id, ViolationKind::kMissingSample,
                fmt::format("{} leaves out samples [{}, {})", Name(step_, id), first.samples.to,
                            second.samples.from));
    }
    const Interval samples{first.samples.from, second.samples.to};
    held_[op.outputs[0]] = {IsAll(samples) ? Counterpart::kWhole : Counterpart::kShare, first.of,
                            samples};
    return std::nullopt;
  }

  MaybeViolation Divide(OpId id) {
    const Op& op = step_.op(id);
    const Counterpart held = held_[op.inputs[0]];
    if (held.kind != Counterpart::kUndivided) {
      return At(id, ViolationKind::kNotProven, "the original has no op " + Name(step_, id));
    }
    const OpId of = original_.tensor(held.of).producer;
    const OpRule& rule = *axes_.rule(of);
    const RuleAxisId split = axes_.SplitBy(of, axes_.batch());
    bool right = false;
    if (rule.form == PartForm::kWeightedMean && op.inputs.size() == 2) {
      const Counterpart& weight = held_[op.inputs[1]];
      right = weight.kind == Counterpart::kWhole && weight.of.valid() &&
              original_.tensor(weight.of).producer == of &&
              original_.tensor(weight.of).output_index == 1;
    } else if (rule.form == PartForm::kMean && op.args.size() == 2) {
      right = op.args[1] == Value(rule.divisor);
    }
    if (!right) {
      return At(id, ViolationKind::kLocalDivisor,
                fmt::format("{} does not divide by what the mean of the whole batch does",
                            Name(step_, id)));
    }
    size_t output = 0;
    while (original_.op(of).outputs[output] != held.of) ++output;
    const bool part = Holds(rule.outputs[output], split);
    held_[op.outputs[0]] = {part ? Counterpart::kPart : Counterpart::kShare, held.of, held.samples};
    return std::nullopt;
  }

  // targets -> ne(targets, ignored) -> its sum; with weights: weights[targets ne] ne, summed.
  MaybeViolation Weigh(OpId id) {
    const Op& op = step_.op(id);
    const auto stage = [&](size_t input) {
      const Counterpart& held = held_[op.inputs[input]];
      return held.kind == Counterpart::kCounted ? held.stage : std::string_view("");
    };
    const auto whole = [&](size_t input) {
      const Counterpart& held = held_[op.inputs[input]];
      return held.kind == Counterpart::kWhole ? held.of : TensorId();
    };
    const auto make = [&](TensorId targets, std::string_view what) {
      held_[op.outputs[0]] = {Counterpart::kCounted, targets, {}, what};
      return std::nullopt;
    };
    const bool two = op.inputs.size() == 2;
    if (op.type == "aten.ne.Scalar" && whole(0).valid()) {
      ignored_[op.outputs[0]] = op.args.size() > 1 ? op.args[1] : Value();
      return make(whole(0), "counted");
    }
    if (op.type == "aten.mul.Tensor" && two && stage(1) == "counted" &&
        whole(0) == held_[op.inputs[1]].of) {
      return make(whole(0), "classes");
    }
    if (op.type == "aten.index.Tensor" && two && stage(1) == "classes" && whole(0).valid()) {
      weights_[op.outputs[0]] = whole(0);
      return make(held_[op.inputs[1]].of, "weights");
    }
    if (op.type == "aten.mul.Tensor" && two && stage(0) == "weights" && stage(1) == "counted") {
      weights_[op.outputs[0]] = weights_[op.inputs[0]];
      ignored_[op.outputs[0]] = ignored_[op.inputs[1]];
      return make(held_[op.inputs[0]].of, "weighed");
    }
    if (op.type == "aten.sum.default" && !stage(0).empty()) return SumWeights(id);
    return At(id, ViolationKind::kNotProven, "the original has no op " + Name(step_, id));
  }

  // The total weight of the loss that it is named after.
  MaybeViolation SumWeights(OpId id) {
    const Op& op = step_.op(id);
    const std::string_view name = op.name;
    const OpId loss = original_.FindOp(name.substr(0, name.rfind('.')));
    const TensorId counted = op.inputs[0];
    const auto input = [&](size_t argument) -> TensorId {
      const Op& of = original_.op(loss);
      const InputRef* const at = argument < of.args.size() ? of.args[argument].AsInput() : nullptr;
      return at == nullptr ? TensorId() : of.inputs[static_cast<size_t>(at->index)];
    };
    const bool of_loss = loss.valid() && original_.op(loss).type.starts_with("aten.nll_loss");
    Value ignored(int64_t{-100});
    if (of_loss && original_.op(loss).args.size() > 4) ignored = original_.op(loss).args[4];
    const bool weighed = held_[counted].stage == "weighed";
    const bool right = of_loss && held_[counted].of == input(1) &&
                       (weighed ? weights_[counted] == input(2) : !input(2).valid()) &&
                       (weighed || held_[counted].stage == "counted") &&
                       ignored_[counted] == ignored;
    if (!right) {
      return At(id, ViolationKind::kLocalDivisor,
                fmt::format("{} is not the weight of all targets", Name(step_, id)));
    }
    for (const TensorId output : original_.op(loss).outputs) {
      if (original_.tensor(output).output_index == 1) {
        held_[op.outputs[0]] = {Counterpart::kWhole, output, {}};
      }
    }
    return std::nullopt;
  }

  // Parts of what the step gives, in their order.
  MaybeViolation Join(OpId id) {
    const Op& op = step_.op(id);
    const TensorId of = held_[op.inputs[0]].of;
    int64_t next = 0;
    for (const TensorId input : op.inputs) {
      const Counterpart& part = held_[input];
      if (part.kind != Counterpart::kPart || part.of != of || part.samples.from != next) {
        const bool twice = part.of == of && part.samples.from < next;
        return At(id, twice ? ViolationKind::kDoubledSample : ViolationKind::kMissingSample,
                  fmt::format("{} joins {}, where samples from {} on are due", Name(step_, id),
                              part.of.valid() ? Text(part) : "something else", next));
      }
      next = part.samples.to;
    }
    const AxisPlace place = PlaceInTensor(original_, axes_, of, axes_.batch());
    if (next != batch_ || op.args.size() != 2 || op.args[1] != Value(int64_t{place.dimension})) {
      return At(id, ViolationKind::kMissingSample, Name(step_, id) + " does not join all samples");
    }
    held_[op.outputs[0]] = {Counterpart::kWhole, of, {}};
    return std::nullopt;
  }

  // ---- behind the last op

  MaybeViolation CheckEnd() const {
    for (const OpId op : original_.ops()) {
      if (step_.FindOp(original_.op(op).name).valid() && copies_[op] == 0) continue;
      if (copies_[op] == micro_batches_) continue;
      const bool none = copies_[op] == 0;
      return Violation{none ? ViolationKind::kMissingOp : ViolationKind::kMissingSample,
                       fmt::format("the step has {} of {} micro-batches of {}", copies_[op],
                                   micro_batches_, Name(original_, op)),
                       "transforms"};
    }
    const auto outputs = step_.outputs(), due = original_.outputs();
    for (size_t i = 0; i < due.size(); ++i) {
      if (i < outputs.size() && held_[outputs[i]].of == due[i] &&
          (held_[outputs[i]].kind == Counterpart::kWhole ||
           held_[outputs[i]].kind == Counterpart::kOwn)) {
        continue;
      }
      return Violation{ViolationKind::kWrongInput,
                       fmt::format("output {} is not {}", i, Name(original_, due[i])), "outputs"};
    }
    return std::nullopt;
  }

  const Graph& original_;
  const Graph& step_;
  const NamedAxes axes_;
  const int64_t batch_, of_one_, micro_batches_;
  IdVector<TensorId, Counterpart> held_;
  IdVector<OpId, int64_t>
      copies_;  // of each op of the original: of how many micro-batches there is one
  std::map<TensorId, Value> ignored_;     // of what counts targets
  std::map<TensorId, TensorId> weights_;  // and of classes
};

}  // namespace

MaybeViolation CheckMicroBatches(const Graph& original, const Graph& step, int64_t micro_batches) {
  return MicroBatchChecker(original, step, micro_batches).Check();
}

}  // namespace placewright::check
