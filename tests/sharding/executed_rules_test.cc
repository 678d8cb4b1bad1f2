// Every rule is proven by execution: each op of the zoo's tiny steps, in two and in three uneven parts of
// every axis that its rule lets split, gives what the whole gives. In float64.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "aten/boxed_call.h"
#include "aten/dtype_names.h"
#include "capture/step/model_step.h"
#include "capture/step/tiny_models.h"
#include "runtime/inputs/seeded_inputs.h"
#include "sharding/op_rule.h"
#include "sharding/part_call.h"

namespace placewright {
namespace {

constexpr double kTolerance = 1e-12;  // of the largest magnitude

struct Interval {
  int64_t from = 0, length = 0;
};

// [0, n) in so many parts of different lengths, as far as n allows.
std::vector<Interval> UnevenParts(int64_t size, int64_t parts) {
  std::vector<Interval> intervals;
  int64_t from = 0;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t left = size - from - (parts - 1 - i);
    const int64_t length = i + 1 == parts ? size - from : std::max<int64_t>(1, left / 3);
    intervals.push_back({from, length});
    from += length;
  }
  return intervals;
}

Value InDouble(const Value& value) {
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
at::Tensor DenseAs(const at::Tensor& values, const at::Tensor& like) {
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

  void Run(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
    for (const RuleAxisId axis : IdRange<RuleAxisId>(rule_.axes.size())) {
      const RuleAxis& one = rule_.axes[axis];
      if (one.parts != Parts::kSplit && one.parts != Parts::kSum) continue;
      for (const int64_t parts : {2, 3}) {
        if (one.size >= parts) RunParts(axis, UnevenParts(one.size, parts), inputs, outputs);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }

 private:
  std::vector<int64_t> SizesOf(const std::vector<RuleAxisId>& axes) const {
    std::vector<int64_t> sizes;
    for (const RuleAxisId axis : axes) sizes.push_back(rule_.axes[axis].size);
    return sizes;
  }

  at::Tensor PartOf(const at::Tensor& whole, const TensorAxes& axes, RuleAxisId axis,
                    Interval interval) const {
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

  std::vector<at::Tensor> Call(const std::vector<at::Tensor>& inputs,
                               const IdVector<RuleAxisId, int64_t>& sizes) const {
    Op part = op_;
    std::string type;
    if (rule_.form == PartForm::kWeightedMean) {
      part.args[3] = Value(int64_t{2});  // reduction: sum
    } else {
      PartCall call = CallOnPart(op_, rule_, sizes);
      type = call.type;
      part.type = type;
      part.args = std::move(call.args);
      part.attributes = std::move(call.attributes);
    }
    Result<BoxedCall> boxed = BoxedCall::Create(part);
    EXPECT_TRUE(boxed.ok()) << boxed.error().ToString();
    std::vector<int32_t> place;
    for (size_t i = 0; i < inputs.size(); ++i) place.push_back(static_cast<int32_t>(i));
    std::vector<at::Tensor> results;
    boxed.value().Run(inputs, place, results);
    if (rule_.form == PartForm::kMean) results[0] = results[0] / DivisorOf(rule_);
    std::vector<at::Tensor> outputs;
    for (const size_t result : results_) outputs.push_back(results[result]);
    return outputs;
  }

  void RunParts(RuleAxisId axis, const std::vector<Interval>& intervals,
                const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
    SCOPED_TRACE(testing::Message()
                 << op_.name << ": " << op_.type << ", axis " << axis.value() << " of "
                 << rule_.axes[axis].size << " in " << intervals.size() << " parts");
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
      std::vector<at::Tensor> results;
      ASSERT_NO_THROW(results = Call(parts, sizes));
      for (size_t i = 0; i < outputs.size(); ++i) {
        switch (VerdictOf(rule_, axis, i)) {
          case PartVerdict::kConcat:
            ExpectEqual(results[i], PartOf(outputs[i], rule_.outputs[i], axis, intervals[p]),
                        outputs[i], magnitudes[i]);
            break;
          case PartVerdict::kSum:
            if (results[i].numel() > 0) {
              magnitudes[i] = std::max(magnitudes[i], results[i].abs().max().item<double>());
            }
            sums[i] = p == 0 ? results[i].clone() : sums[i] + results[i];
            break;
          case PartVerdict::kWhole:
            ExpectEqual(results[i], outputs[i], outputs[i], magnitudes[i]);
            break;
        }
      }
    }
    if (rule_.form == PartForm::kWeightedMean && sums.size() > 1) sums[0] = sums[0] / sums[1];
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (sums[i].defined()) ExpectEqual(sums[i], outputs[i], outputs[i], magnitudes[i]);
    }
  }

  bool Reduces() const {
    return rule_.form != PartForm::kSameOp ||
           std::any_of(rule_.axes.begin(), rule_.axes.end(),
                       [](const RuleAxis& axis) { return axis.parts == Parts::kSum; });
  }

  // Kernels whose last bit depends on where in a vector an element lies.
  bool DependsOnPlace() const { return op_.type.find("sigmoid") != std::string_view::npos; }

  // `magnitude`: of what was summed, where it may have cancelled.
  void ExpectEqual(const at::Tensor& found, const at::Tensor& expected, const at::Tensor& whole,
                   double magnitude) {
    ASSERT_EQ(found.sizes(), expected.sizes());
    ASSERT_EQ(found.scalar_type(), expected.scalar_type());
    if (found.numel() == 0) return;
    if (!found.is_floating_point() || !(Reduces() || DependsOnPlace())) {
      ASSERT_TRUE(found.equal(expected)) << "an op that does not reduce gives other bits";
      return;
    }
    const double scale = std::max(magnitude, whole.abs().max().item<double>());
    const double error = (found - expected).abs().max().item<double>();
    ASSERT_LE(error, kTolerance * scale);
  }

  const Op& op_;
  const OpRule& rule_;
  const std::vector<size_t> results_;
};

class ExecutedRules : public ::testing::TestWithParam<TinyModel> {};

bool MakesNoValues(std::string_view type) { return type.find("empty") != std::string_view::npos; }

TEST_P(ExecutedRules, PartsMakeTheWhole) {
  at::set_num_threads(1);
  at::manual_seed(1);
  const at::NoGradGuard no_grad;
  ModelStep step = ModelStep::Build(GetParam().Request(), false).Take();
  ASSERT_TRUE(step.Run().ok());
  const ModelStep::Recording recording = step.Record().Take();
  const Graph& graph = recording.step.graph;
  // Of what is made without a dtype.
  const caffe2::TypeMeta usual = c10::get_default_dtype();
  c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
  const std::shared_ptr<void> restored(nullptr, [&](void*) { c10::set_default_dtype(usual); });
  std::vector<at::Tensor> values(graph.tensor_count());
  const auto seeded = SeededInputs(graph, 3).Take();
  for (const auto& [id, tensor] : seeded) {
    values[id.index()] = tensor.is_floating_point() ? tensor.to(at::kDouble) : tensor;
  }
  std::map<std::string, int> without;
  int64_t checked = 0;
  for (const OpId id : graph.topological_order()) {
    Op op = graph.op(id);
    for (Value& value : op.args) value = InDouble(value);
    for (NamedValue& named : op.attributes) named.value = InDouble(named.value);
    std::vector<at::Tensor> inputs, before;
    std::vector<int32_t> place;
    for (const TensorId input : op.inputs) {
      place.push_back(static_cast<int32_t>(inputs.size()));
      inputs.push_back(values[input.index()]);
      before.push_back(values[input.index()].clone());
      if (!before.back().sizes().empty()) before.back() = DenseAs(before.back(), inputs.back());
    }
    const BoxedCall call = BoxedCall::Create(op).Take();
    std::vector<at::Tensor> results;
    ASSERT_NO_THROW(call.Run(inputs, place, results)) << op.name << " " << op.type;
    std::vector<at::Tensor> outputs;
    std::vector<size_t> which;
    for (const TensorId output : op.outputs) {
      which.push_back(static_cast<size_t>(graph.tensor(output).output_index));
      values[output.index()] = results[which.back()];
      outputs.push_back(values[output.index()].clone());
    }
    const std::optional<OpRule> rule = RuleOf(graph, id);
    if (!rule) {
      ++without[std::string(op.type)];
      continue;
    }
    // Statistics of all parts are the compiler's; random numbers follow the element.
    const bool by_compiler =
        rule->form == PartForm::kBatchNorm || rule->form == PartForm::kBatchNormBackward;
    if (rule->draws_random || by_compiler || MakesNoValues(op.type)) continue;
    ++checked;
    RuleCheck(op, *rule, which).Run(before, outputs);
    if (HasFatalFailure()) return;
  }
  EXPECT_THAT(without, ::testing::IsEmpty());
  EXPECT_GT(checked, 0);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedRules, ::testing::ValuesIn(TinyModels()),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : testing::PrintToString(test.param)) {
                             name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace placewright
