// A rule held to its op: executed in uneven parts of every axis that it lets split, against the whole.
#ifndef PLACEWRIGHT_TESTS_SHARDING_RULE_CHECK_H_
#define PLACEWRIGHT_TESTS_SHARDING_RULE_CHECK_H_

#include <ATen/ATen.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aten/boxed_call.h"
#include "aten/dtype_names.h"
#include "sharding/op_rule.h"
#include "sharding/part_call.h"

namespace placewright {

inline constexpr double kRuleTolerance = 1e-12;  // of the largest magnitude

struct PartInterval {
  int64_t from = 0, length = 0;
};

// [0, n) in so many parts of different lengths, as far as n allows.
inline std::vector<PartInterval> UnevenParts(int64_t size, int64_t parts) {
  std::vector<PartInterval> intervals;
  int64_t from = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t left = size - from - (parts - 1 - i);
    const int64_t length = i + 1 == parts ? size - from : std::max<int64_t>(1, left / 3);
    intervals.push_back({from, length});
    from += length;
  }
  return intervals;
}

inline Value InDouble(const Value& value) {
  if (const std::string* text = value.AsString()) {
    const std::optional<c10::ScalarType> type = ScalarTypeOf(std::string_view(*text));
    return Value(type && c10::isFloatingType(*type) ? WordOf(at::kDouble) : *text);
  }
  if (const Value::List* list = value.AsList()) {
    Value::List items;
    for (const Value& item : *list) items.push_back(InDouble(item));
    return Value(items);
  }
  return value;
}

// A tensor with these elements, whose strides have the order of `like`'s.
inline at::Tensor DenseAs(const at::Tensor& values, const at::Tensor& like) {
  std::vector<int64_t> order(static_cast<size_t>(like.dim()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return like.stride(a) > like.stride(b); });
  std::vector<int64_t> strides(order.size());
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[static_cast<size_t>(order[i])] = stride;
    stride *= values.size(order[i]);
  }
  at::Tensor dense = at::empty_strided(values.sizes(), strides, values.options());
  return dense.copy_(values);
}

class RuleCheck {
 public:
  // `results` [output]: which of the operator's results it is.
  RuleCheck(const Op& op, const OpRule& rule, std::vector<size_t> results)
      : op_(op), rule_(rule), results_(std::move(results)) {}
  virtual ~RuleCheck() = default;

  // What of the rule is not so, the first found; "" where it holds.
  std::string Run(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
    for (const RuleAxisId axis : IdRange<RuleAxisId>(rule_.axes.size())) {
      const RuleAxis& one = rule_.axes[axis];
      if (one.parts != Parts::kSplit && one.parts != Parts::kSum) continue;
      for (const int64_t parts : {2, 3}) {
        if (one.size < parts) continue;
        std::string wrong;
        try {
          wrong = RunParts(axis, UnevenParts(one.size, parts), inputs, outputs);
        } catch (const std::exception& error) {
          wrong = std::string(error.what()).substr(0, 200);
        }
        if (wrong.empty()) continue;
        std::ostringstream where;
        where << op_.name << ": " << op_.type << ", axis " << axis.value() << " of " << one.size
              << " in " << parts << " parts: " << wrong;
        return where.str();
      }
    }
    return "";
  }

 private:
  std::vector<int64_t> SizesOf(const std::vector<RuleAxisId>& axes) const {
    std::vector<int64_t> sizes;
    for (const RuleAxisId axis : axes) sizes.push_back(rule_.axes[axis].size);
    return sizes;
  }

  at::Tensor PartOf(const at::Tensor& whole, const TensorAxes& axes, RuleAxisId axis,
                    PartInterval interval) const {
    at::Tensor part = whole;
    for (size_t d = 0; d < axes.size(); ++d) {
      const auto found = std::find(axes[d].begin(), axes[d].end(), axis);
      if (found == axes[d].end()) continue;
      std::vector<int64_t> before = part.sizes().vec(), factors = before;
      const std::vector<int64_t> sizes = SizesOf(axes[d]);
      const auto at = static_cast<std::ptrdiff_t>(d);
      factors.erase(factors.begin() + at);
      factors.insert(factors.begin() + at, sizes.begin(), sizes.end());
      part = part.reshape(factors).narrow(at + (found - axes[d].begin()), interval.from,
                                          interval.length);
      before[d] = before[d] / rule_.axes[axis].size * interval.length;
      part = part.reshape(before);
    }
    return part;
  }

  // [dimension, outer, size, from, to] of an axis in a tensor; of one without it the dimension is -1.
  Value PlaceOf(const TensorAxes& tensor, RuleAxisId axis, PartInterval interval) const {
    Value::List numbers = {Value(int64_t{-1})};
    for (size_t d = 0; d < tensor.size(); ++d) {
      int64_t outer = 1;
      for (const RuleAxisId factor : tensor[d]) {
        if (factor == axis) numbers = {Value(static_cast<int64_t>(d)), Value(outer)};
        outer *= rule_.axes[factor].size;
      }
    }
    for (const int64_t number :
         {rule_.axes[axis].size, interval.from, interval.from + interval.length}) {
      numbers.push_back(Value(number));
    }
    return Value(numbers);
  }

  // The outputs of a part, [from, from + length) of the axis.
  virtual std::vector<at::Tensor> Call(const std::vector<at::Tensor>& inputs,
                                       const IdVector<RuleAxisId, int64_t>& sizes, RuleAxisId axis,
                                       PartInterval interval) const {
    PartCall call = CallOnPart(op_, rule_, {axis}, sizes);
    const PlaceArgument place_of = PlaceArgumentOf(rule_, axis);
    if (place_of.argument >= 0) {
      call.args[static_cast<size_t>(place_of.argument)] =
          PlaceOf(place_of.TensorOf(rule_), axis, interval);
    }
    Op part = op_;
    part.type = call.type;
    part.args = std::move(call.args);
    part.attributes = std::move(call.attributes);
    Result<BoxedCall> boxed = BoxedCall::Create(part);
    if (!boxed.ok()) throw std::runtime_error(boxed.error().ToString());
    std::vector<int32_t> place;
    for (size_t i = 0; i < inputs.size(); ++i) place.push_back(static_cast<int32_t>(i));
    std::vector<at::Tensor> results;
    boxed.value().Run(inputs, place, results);
    if (rule_.form == PartForm::kMean) results[0] = results[0] / rule_.divisor;
    std::vector<at::Tensor> outputs;
    for (const size_t result : results_) {
      if (result >= results.size()) throw std::runtime_error("fewer results");
      outputs.push_back(results[result]);
    }
    return outputs;
  }

  std::string RunParts(RuleAxisId axis, const std::vector<PartInterval>& intervals,
                       const std::vector<at::Tensor>& inputs,
                       const std::vector<at::Tensor>& outputs) {
    std::vector<at::Tensor> sums(outputs.size());
    // What is summed may cancel: then its magnitude counts, of which the first input is a measure.
    const bool floats = !inputs.empty() && inputs[0].is_floating_point() && inputs[0].numel() > 0;
    std::vector<double> magnitudes(outputs.size(),
                                   floats ? inputs[0].abs().max().item<double>() : 0);
    for (size_t p = 0; p < intervals.size(); ++p) {
      IdVector<RuleAxisId, int64_t> sizes;
      for (const RuleAxis& one : rule_.axes) sizes.push_back(one.size);
      sizes[axis] = intervals[p].length;
      std::vector<at::Tensor> parts;
      for (size_t i = 0; i < inputs.size(); ++i) {
        at::Tensor part = PartOf(inputs[i], rule_.inputs[i], axis, intervals[p]);
        part = DenseAs(part, inputs[i]);
        const bool once = std::find(rule_.once.begin(), rule_.once.end(),
                                    std::pair(axis, static_cast<int32_t>(i))) != rule_.once.end();
        if (once && p > 0) part.zero_();
        parts.push_back(part);
      }
      const std::vector<at::Tensor> results = Call(parts, sizes, axis, intervals[p]);
      for (size_t i = 0; i < outputs.size(); ++i) {
        std::string wrong;
        switch (VerdictOf(rule_, axis, i)) {
          case PartVerdict::kConcat:
            wrong = Compare(results[i], PartOf(outputs[i], rule_.outputs[i], axis, intervals[p]),
                            outputs[i], magnitudes[i]);
            break;
          case PartVerdict::kSum:
            if (results[i].numel() > 0) {
              magnitudes[i] = std::max(magnitudes[i], results[i].abs().max().item<double>());
            }
            sums[i] = p == 0 ? results[i].clone() : sums[i] + results[i];
            break;
          case PartVerdict::kWhole:
            wrong = Compare(results[i], outputs[i], outputs[i], magnitudes[i]);
            break;
        }
        if (!wrong.empty()) return wrong;
      }
    }
    if (rule_.form == PartForm::kWeightedMean && sums.size() > 1) sums[0] = sums[0] / sums[1];
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!sums[i].defined()) continue;
      const std::string wrong = Compare(sums[i], outputs[i], outputs[i], magnitudes[i]);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  virtual bool Reduces() const {
    return rule_.form != PartForm::kSameOp ||
           std::any_of(rule_.axes.begin(), rule_.axes.end(),
                       [](const RuleAxis& axis) { return axis.parts == Parts::kSum; });
  }

  // Kernels whose last bit depends on where in a vector an element lies.
  bool DependsOnPlace() const {
    return op_.type.find("sigmoid") != std::string_view::npos ||
           op_.type.starts_with("aten.silu") || op_.type.starts_with("aten.gelu");
  }

  // `magnitude`: of what was summed, where it may have cancelled.
  std::string Compare(const at::Tensor& found, const at::Tensor& expected, const at::Tensor& whole,
                      double magnitude) const {
    if (found.sizes() != expected.sizes()) return "another shape";
    if (found.scalar_type() != expected.scalar_type()) return "another dtype";
    if (found.numel() == 0) return "";
    if (!found.is_floating_point() || !(Reduces() || DependsOnPlace())) {
      return found.equal(expected) ? "" : "an op that does not reduce gives other bits";
    }
    const double scale = std::max(magnitude, whole.abs().max().item<double>());
    const double error = (found - expected).abs().max().item<double>();
    if (error <= kRuleTolerance * scale) return "";
    std::ostringstream wrong;
    wrong << "off by " << error << " of " << scale;
    return wrong.str();
  }

  const Op& op_;
  const OpRule& rule_;
  const std::vector<size_t> results_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_SHARDING_RULE_CHECK_H_
