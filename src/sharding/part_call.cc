#include "sharding/part_call.h"

#include <algorithm>
#include <utility>

#include "graph/batch/numbers.h"

namespace placewright {
namespace {

// Of a mean: the operator that sums.
std::string SumFor(std::string_view mean) {
  if (mean == "ReduceMean") return "ReduceSum";
  return mean.ends_with(".dim") ? "aten.sum.dim_IntList" : "aten.sum.default";
}

Value SizesOf(const TensorAxes& tensor, const IdVector<RuleAxisId, int64_t>& sizes) {
  Value::List list;
  for (const std::vector<RuleAxisId>& dimension : tensor) {
    int64_t size = 1;
    for (const RuleAxisId axis : dimension) size *= sizes[axis];
    list.push_back(Value(size));
  }
  return Value(std::move(list));
}

const AxisPartOp* PartOpOf(const OpRule& rule, RuleAxisId axis) {
  for (const AxisPartOp& one : rule.axis_parts) {
    if (one.axis == axis) return &one;
  }
  return nullptr;
}

void TakePartOp(const OpRule& rule, PartCall& call) {
  call.type = rule.part_type;
  call.args.resize(std::min(call.args.size(), static_cast<size_t>(rule.part_args)));
  call.attributes.clear();
}

}  // namespace

PartCall CallOnPart(const Op& op, const OpRule& rule, const SmallVector<RuleAxisId>& split,
                    const IdVector<RuleAxisId, int64_t>& sizes) {
  PartCall call = {std::string(op.type), op.args, op.attributes};
  int32_t number = 0;
  VisitNumbers(call.args, call.attributes, [&](Value& value, const NumberPlace&) {
    const auto item = std::find_if(rule.sizes.begin(), rule.sizes.end(),
                                   [&](const SizeArgument& size) { return size.number == number; });
    ++number;
    if (item == rule.sizes.end()) return;
    int64_t size = item->multiplier;
    for (const RuleAxisId factor : item->axes) size *= sizes[factor];
    value = Value(size);
  });
  if (rule.reduction_argument >= 0 && rule.form != PartForm::kSameOp) {
    const auto at = static_cast<size_t>(rule.reduction_argument);
    if (at < call.args.size()) {
      call.args[at] = Value(kReductionSum);
    } else {
      std::erase_if(call.attributes, [](const auto& named) { return named.name == "reduction"; });
      call.attributes.push_back({"reduction", Value(kReductionSum)});
    }
  } else if (rule.form == PartForm::kMean) {
    call.type = SumFor(op.type);
  }
  if (!rule.part_type.empty()) {
    TakePartOp(rule, call);
    if (rule.part_takes_sizes) call.args.push_back(SizesOf(rule.outputs[0], sizes));
  }
  for (const RuleAxisId axis : split) {
    const AxisPartOp* const part = PartOpOf(rule, axis);
    if (part == nullptr) continue;
    call.type = part->type;
    if (call.args.size() < static_cast<size_t>(part->args)) {
      call.args.push_back(SizesOf(rule.outputs[0], sizes));
    }
    call.args.resize(static_cast<size_t>(part->args));
    call.args.push_back(Value(Value::List()));
    if (!part->keywords) call.attributes.clear();
  }
  return call;
}

PartCall CallOnWhole(const Op& op, const OpRule* rule) {
  PartCall call = {std::string(op.type), op.args, op.attributes};
  const bool another = rule != nullptr && !rule->part_type.empty() && !rule->part_takes_sizes;
  if (another) TakePartOp(*rule, call);
  return call;
}

namespace {

// The part that an op states of itself: none of all of a tensor.
std::vector<AxisPart> StatedBy(const Value& place) {
  std::vector<AxisPart> parts;
  const Value::List* const list = place.AsList();
  for (size_t i = 0; list != nullptr && i + 5 <= list->size(); i += 5) {
    const auto number = [&](size_t k) {
      const int64_t* const one = (*list)[i + k].AsInt();
      return one == nullptr ? int64_t{0} : *one;
    };
    AxisPart part;
    part.place.dimension = static_cast<int32_t>(number(0));
    part.place.outer = number(1);
    part.place.size = number(2);
    part.interval = {number(3), number(4)};
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

void PlaceArgument::Set(const TensorBox& box, PartCall& call) const {
  Value& stated = call.args[static_cast<size_t>(argument)];
  // A part of a part (of a micro-batch) is stated as one of the whole.
  std::vector<AxisPart> parts = StatedBy(stated);
  const std::vector<AxisPart> own = parts;
  for (AxisPart part : box) {
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const AxisPart& one) {
      return one.place.dimension == part.place.dimension && one.place.outer == part.place.outer &&
             one.interval.length() == part.place.size;
    });
    if (same != parts.end()) {
      same->interval = {same->interval.from + part.interval.from,
                        same->interval.from + part.interval.to};
      continue;
    }
    for (const AxisPart& outer : own) {
      if (outer.place.dimension == part.place.dimension && outer.place.outer < part.place.outer) {
        part.place.outer = part.place.outer / outer.interval.length() * outer.place.size;
      }
    }
    parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end());
  Value::List numbers;
  for (const AxisPart& part : parts) {
    for (const int64_t number : NumbersOf(part)) numbers.push_back(Value(number));
  }
  stated = Value(std::move(numbers));
}

PlaceArgument PlaceArgumentOf(const OpRule& rule, RuleAxisId axis) {
  if (const AxisPartOp* const part = PartOpOf(rule, axis)) {
    return {part->args, part->of_output, axis, part->uneven};
  }
  return {rule.place_argument, true, RuleAxisId(), false};
}

}  // namespace placewright
