// What an instance is called with: the operator and the arguments that its part is due.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/stated_part.h"

namespace placewright::check {
namespace {

using PlaceNumbers = std::array<int64_t, 5>;  // dimension, outer, size, from, to

// Nothing where the argument is no list of such.
std::optional<std::vector<PlaceNumbers>> PlacesAt(const std::vector<Value>& args, size_t position) {
  const Value::List* const list = position < args.size() ? args[position].AsList() : nullptr;
  if (list == nullptr || list->size() % std::tuple_size_v<PlaceNumbers> != 0) return std::nullopt;
  std::vector<PlaceNumbers> places;
  for (size_t i = 0; i < list->size(); ++i) {
    const int64_t* const number = (*list)[i].AsInt();
    if (number == nullptr) return std::nullopt;
    if (i % std::tuple_size_v<PlaceNumbers> == 0) places.emplace_back();
    places.back()[i % std::tuple_size_v<PlaceNumbers>] = *number;
  }
  return places;
}

// Places in the whole, of which the op itself has `own` (a micro-batch), as they are within that. Nothing where they
// are not all within it.
std::optional<std::vector<PlaceNumbers>> Within(std::vector<PlaceNumbers> places,
                                                const std::vector<PlaceNumbers>& own) {
  for (const auto& [dimension, outer, size, from, to] : own) {
    const auto same = std::find_if(places.begin(), places.end(), [&](const PlaceNumbers& one) {
      return one[0] == dimension && one[1] == outer && one[2] == size;
    });
    if (same == places.end() || (*same)[3] < from || (*same)[4] > to || from >= to) {
      return std::nullopt;
    }
    *same = {dimension, outer, to - from, (*same)[3] - from, (*same)[4] - from};
    for (PlaceNumbers& one : places) {
      if (one[0] == dimension && one[1] > outer && size > 0) one[1] = one[1] / size * (to - from);
    }
  }
  if (own.empty()) return places;
  std::erase_if(places, [](const PlaceNumbers& one) { return one[3] == 0 && one[4] == one[2]; });
  return places;
}

}  // namespace

MaybeViolation InstanceCheck::CheckCall() {
  if (!instance_.cut.whole()) return CheckCallOnPart();
  // Of what has been put together anew, or of what was there.
  const PartCall other = CallOnWhole(stated_, rule_ ? &*rule_ : nullptr);
  if (made_.type == other.type) return CheckSameCall(other.type, other.args, other.attributes);
  return CheckSameCall(stated_.type, stated_.args, stated_.attributes);
}

MaybeViolation InstanceCheck::CheckCallOnPart() {
  IdVector<RuleAxisId, int64_t> sizes;
  for (const RuleAxis& axis : rule_->axes) sizes.push_back(axis.size);
  const std::vector<RuleAxisId> axes = AxesOf(instance_.cut);
  for (const RuleAxisId axis : axes) sizes[axis] = LengthAlong(instance_.cut, axis, sizes[axis]);
  PartCall call = CallOnPart(stated_, *rule_, {axes.begin(), axes.end()}, sizes);
  if (rule_->form == PartForm::kWeightedMean) return CheckWeightedMean(call);
  if (rule_->form == PartForm::kMean) {
    if (made_.type == call.type) {
      division_.number = rule_->divisor;
    } else if (made_.type == stated_.type && SumsOver()) {
      return Wrong(ViolationKind::kLocalDivisor,
                   fmt::format("divides by the size of its part, where {} is due", rule_->divisor));
    } else {
      call.type = stated_.type;
    }
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckPlaceArguments(call.args));
  return CheckSameCall(call.type, call.args, call.attributes);
}

// Which part of the tensor that is output or input 0 a place argument names: five numbers for each axis. Nothing where
// it names none.
std::optional<Part> InstanceCheck::PlaceStated(const PlaceArgument& at) const {
  const auto position = static_cast<size_t>(at.argument);
  const auto named = PlacesAt(made_.args, position);
  if (!named) return std::nullopt;
  const auto own = PlacesAt(stated_.args, position);
  const auto within = at.argument == rule_->place_argument && own ? Within(*named, *own) : named;
  if (!within || within->empty()) return std::nullopt;
  const TensorId tensor = at.of_output ? stated_.outputs[0] : stated_.inputs[0];
  const std::vector<int64_t>& shape = original_.tensor(tensor).shape;
  std::vector<AxisPart> box;
  for (const PlaceNumbers& place : *within) {
    const auto stated = StatedPartOf({place.begin(), place.end()}, shape);
    if (!stated) return std::nullopt;
    box.push_back(*stated);
  }
  Part part = PartAt({box.begin(), box.end()});
  return ShapeOf(shape, part) ? std::optional<Part>(std::move(part)) : std::nullopt;
}

// A draw states all of its part, what has a part of a vocabulary this alone.
Part InstanceCheck::PlaceDue(RuleAxisId axis, const PlaceArgument& at) const {
  const bool alone = at.argument != rule_->place_argument;
  const TensorId tensor = at.of_output ? stated_.outputs[0] : stated_.inputs[0];
  return PartIn(*rule_, at.TensorOf(*rule_), original_.tensor(tensor).shape,
                alone ? Along(instance_.cut, {axis}) : instance_.cut);
}

// Which part it draws, or has of a vocabulary; where that is right it is taken over into `args`.
MaybeViolation InstanceCheck::CheckPlaceArguments(std::vector<Value>& args) const {
  for (const RuleAxisId axis : AxesOf(instance_.cut)) {
    const PlaceArgument at = PlaceArgumentOf(*rule_, axis);
    if (!at.there()) continue;
    const Part due = PlaceDue(axis, at);
    const std::optional<Part> stated = PlaceStated(at);
    if (!stated || !(*stated == due)) {
      return Wrong(ViolationKind::kWrongArgument,
                   fmt::format("says that it is of another part than {}", ToString(due)));
    }
    const auto position = static_cast<size_t>(at.argument);
    args[position] = made_.args[position];
  }
  return std::nullopt;
}

// A sum, to be divided by the weight of all parts, which is the second result.
MaybeViolation InstanceCheck::CheckWeightedMean(PartCall& call) {
  const auto reduction = static_cast<size_t>(rule_->reduction_argument);
  constexpr int64_t kMean = 1;
  if (reduction < made_.args.size() && made_.args[reduction] == Value(kMean)) {
    return Wrong(ViolationKind::kLocalDivisor,
                 "divides by the weight of its part, where that of all parts is due");
  }
  for (const TensorId output : stated_.outputs) {
    if (original_.tensor(output).output_index == 1) division_.tensor = contents_.Same(output);
  }
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckPlaceArguments(call.args));
  return CheckSameCall(call.type, call.args, call.attributes);
}

MaybeViolation InstanceCheck::CheckSameCall(std::string_view type, const std::vector<Value>& args,
                                            const std::vector<NamedValue>& attributes) const {
  if (made_.type != type) {
    return Wrong(ViolationKind::kWrongArgument,
                 fmt::format("is {}, where {} is due", Printable(made_.type, 80), type));
  }
  const auto differs = [&](const std::string& place, const Value& made, const Value& due) {
    return Wrong(ViolationKind::kWrongArgument,
                 fmt::format("has {} {}, where {} is due", place, ToString(made), ToString(due)));
  };
  for (size_t i = 0; i < std::max(args.size(), made_.args.size()); ++i) {
    const Value made = i < made_.args.size() ? made_.args[i] : Value();
    const Value due = i < args.size() ? args[i] : Value();
    if (!(made == due)) return differs(fmt::format("args[{}]", i), made, due);
  }
  if (made_.attributes.size() != attributes.size()) {
    return Wrong(ViolationKind::kWrongArgument,
                 fmt::format("has {} keyword arguments, where {} are due", made_.attributes.size(),
                             attributes.size()));
  }
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (made_.attributes[i] == attributes[i]) continue;
    return differs(fmt::format("kwargs.{}", attributes[i].name), made_.attributes[i].value,
                   attributes[i].value);
  }
  return std::nullopt;
}

}  // namespace placewright::check
