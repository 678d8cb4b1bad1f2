#include "sharding/part_call.h"

#include <algorithm>

#include "base/check.h"
#include "graph/batch/numbers.h"

namespace placewright {
namespace {

// Of a mean: the operator that sums.
std::string SumFor(std::string_view mean) {
  if (mean == "ReduceMean") return "ReduceSum";
  return mean.ends_with(".dim") ? "aten.sum.dim_IntList" : "aten.sum.default";
}

const AxisPartOp* PartOpOf(const OpRule& rule, RuleAxisId axis) {
  for (const AxisPartOp& one : rule.axis_parts) {
    if (one.axis == axis) return &one;
  }
  return nullptr;
}

}  // namespace

PartCall CallOnPart(const Op& op, const OpRule& rule, RuleAxisId axis,
                    const IdVector<RuleAxisId, int64_t>& sizes) {
  PW_CHECK(rule.form != PartForm::kWeightedMean);
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
  if (rule.form == PartForm::kMean) call.type = SumFor(op.type);
  if (!rule.part_type.empty()) {
    call.type = rule.part_type;
    call.args.resize(std::min(call.args.size(), static_cast<size_t>(rule.part_args)));
    call.attributes.clear();
  }
  if (const AxisPartOp* const part = PartOpOf(rule, axis)) {
    call.type = part->type;
    call.args.resize(static_cast<size_t>(part->args));
    call.args.push_back(Value(Value::List()));
    call.attributes.clear();
  }
  return call;
}

PlaceArgument PlaceArgumentOf(const OpRule& rule, RuleAxisId axis) {
  if (const AxisPartOp* const part = PartOpOf(rule, axis)) return {part->args, part->of_output};
  return {rule.place_argument, true};
}

int64_t DivisorOf(const OpRule& rule) {
  int64_t divisor = 1;
  for (const RuleAxis& axis : rule.axes) divisor *= axis.parts == Parts::kSum ? axis.size : 1;
  return divisor;
}

}  // namespace placewright
