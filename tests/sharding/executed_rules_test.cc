// Every rule is proven by execution: each op of the zoo's tiny steps, in two and in three uneven parts of
// every axis that its rule lets split, gives what the whole gives. In float64.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/random.h"
#include "capture/step/model_step.h"
#include "capture/step/tiny_models.h"
#include "cost/signature.h"
#include "rule_check.h"
#include "runtime/inputs/seeded_inputs.h"
#include "runtime/ops/vocabulary_ops.h"
#include "sharding/separable_results.h"

namespace placewright {
namespace {

bool MakesNoValues(std::string_view type) { return type.find("empty") != std::string_view::npos; }

// Statistics of all parts are the compiler's; random numbers follow the element.
bool CanBeChecked(const OpRule& rule, std::string_view type) {
  const bool by_compiler =
      rule.form == PartForm::kBatchNorm || rule.form == PartForm::kBatchNormBackward;
  return !rule.draws_random && !by_compiler && !MakesNoValues(type);
}

// Executes a model's step op by op in float64 and shows every op with what it read and made.
template <class Visit>
void VisitOps(const TinyModel& model, const Visit& visit) {
  at::set_num_threads(1);
  at::manual_seed(1);
  RegisterVocabularyOps();
  const at::NoGradGuard no_grad;
  ModelStep step = ModelStep::Build(model.Request(), false).Take();
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
    at::Tensor& value = values[id.index()];
    value = tensor.is_floating_point() ? tensor.to(at::kDouble) : tensor;
    // Of zeros (biases, states) nothing could be seen.
    if (value.is_floating_point() && value.eq(0).all().item<bool>()) value = at::rand_like(value);
  }
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
    visit(graph, id, op, which, before, outputs);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

class ExecutedRules : public ::testing::TestWithParam<TinyModel> {};

TEST_P(ExecutedRules, PartsMakeTheWhole) {
  std::set<std::string> without, checked;
  VisitOps(GetParam(),
           [&](const Graph& graph, OpId id, const Op& op, const std::vector<size_t>& results,
               const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
             const std::optional<OpRule> rule = RuleOf(graph, id);
             if (!rule) without.insert(std::string(op.type));
             if (!rule || !CanBeChecked(*rule, op.type)) return;
             // Layers that are alike have the same ops.
             if (!checked.insert(SignatureOf(graph, id).text).second) return;
             ASSERT_EQ(RuleCheck(op, *rule, results).Run(inputs, outputs), "");
           });
  EXPECT_THAT(without, ::testing::IsEmpty());
  EXPECT_THAT(checked, ::testing::Not(::testing::IsEmpty()));
}

// Each result by itself is what the op gives, bit for bit but for a bias, and can be computed in parts as in the op.
TEST_P(ExecutedRules, ResultsThatAreSeparableCanBeMadeApart) {
  const auto made_apart = [](const Graph& graph, OpId id, const Op& op, size_t result,
                             const std::vector<at::Tensor>& inputs, const at::Tensor& expected) {
    GradientMask mask{};
    mask[result] = true;
    const Op part = WithResults(graph, op, mask);
    const OpRule rule = RuleWithResults(graph, op, *RuleOf(graph, id), mask);
    std::vector<int32_t> place;
    for (size_t i = 0; i < inputs.size(); ++i) place.push_back(static_cast<int32_t>(i));
    std::vector<at::Tensor> results;
    BoxedCall::Create(part).Take().Run(inputs, place, results);
    constexpr size_t kBias = 2;  // whose gradient is a sum, by itself in another order
    const bool equal =
        result == kBias ? at::allclose(results[result], expected) : results[result].equal(expected);
    EXPECT_TRUE(equal) << op.name << " " << result;
    EXPECT_EQ(RuleCheck(part, rule, {result}).Run(inputs, {expected}), "");
  };
  std::set<std::string> checked;
  VisitOps(GetParam(),
           [&](const Graph& graph, OpId id, const Op& op, const std::vector<size_t>& results,
               const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
             const auto mask = SeparableResults(op);
             if (!mask || !checked.insert(SignatureOf(graph, id).text).second) return;
             for (size_t i = 0; i < results.size(); ++i) {
               ASSERT_TRUE((*mask)[results[i]]) << op.name;
               made_apart(graph, id, op, results[i], inputs, outputs[i]);
             }
           });
}

INSTANTIATE_TEST_SUITE_P(Zoo, ExecutedRules, ::testing::ValuesIn(TinyModels()),
                         [](const auto& test) { return NameOf(test.param); });

// How a rule's splits look from outside: what of each tensor a part has, and what the outputs are. Two rules
// of which this is equal are the same.
std::set<std::string> SplitsOf(const OpRule& rule) {
  std::set<std::string> splits;
  for (const RuleAxisId axis : IdRange<RuleAxisId>(rule.axes.size())) {
    const RuleAxis& one = rule.axes[axis];
    if (one.size < 2 || (one.parts != Parts::kSplit && one.parts != Parts::kSum)) continue;
    std::ostringstream split;
    const auto add = [&](const TensorAxes& tensor) {
      for (const std::vector<RuleAxisId>& dimension : tensor) {
        int64_t outer = 1;
        for (const RuleAxisId factor : dimension) {
          if (factor == axis) split << "of " << outer << "x" << one.size;
          outer *= rule.axes[factor].size;
        }
        split << "|";
      }
      split << ";";
    };
    for (const TensorAxes& tensor : rule.inputs) add(tensor);
    for (const TensorAxes& tensor : rule.outputs) add(tensor);
    for (size_t i = 0; i < rule.outputs.size(); ++i)
      split << ToString(VerdictOf(rule, axis, i)) << " ";
    for (const auto& [of, input] : rule.once) {
      if (of == axis) split << "once " << input << " ";
    }
    for (const SizeArgument& size : rule.sizes) {
      const bool follows = std::find(size.axes.begin(), size.axes.end(), axis) != size.axes.end();
      if (follows) split << "size " << size.number << " ";
    }
    splits.insert(split.str());
  }
  return splits;
}

// A mistake that somebody could make in the rule.
OpRule WithMistake(OpRule rule, Random& random) {
  const auto below = [&](size_t count) { return static_cast<size_t>(random.Below(count)); };
  RuleAxis& axis = rule.axes[RuleAxisId(below(rule.axes.size()))];
  std::vector<TensorAxes*> tensors;
  for (TensorAxes& tensor : rule.inputs) tensors.push_back(&tensor);
  for (TensorAxes& tensor : rule.outputs) tensors.push_back(&tensor);
  TensorAxes& tensor = *tensors[below(tensors.size())];
  switch (below(6)) {
    case 0:  // a sum forgotten, or one too many
      axis.parts = axis.parts == Parts::kSum ? Parts::kSplit : Parts::kSum;
      break;
    case 1:  // split, though it must be whole
      axis.parts = below(2) == 0 ? Parts::kSplit : Parts::kSum;
      break;
    case 2:  // two dimensions exchanged
      if (tensor.size() >= 2) std::swap(tensor[below(tensor.size())], tensor[below(tensor.size())]);
      break;
    case 3:  // factors the other way round
      for (std::vector<RuleAxisId>& dimension : tensor)
        std::reverse(dimension.begin(), dimension.end());
      break;
    case 4:  // a factor dropped: another axis in its place
      if (!tensor.empty()) {
        std::vector<RuleAxisId>& dimension = tensor[below(tensor.size())];
        if (!dimension.empty()) {
          RuleAxisId& factor = dimension[below(dimension.size())];
          const int64_t size = rule.axes[factor].size;
          factor = rule.axes.push_back({size, Parts::kWhole});
        }
      }
      break;
    default:  // a size that does not follow, or a bias added by every part
      if (!rule.sizes.empty())
        rule.sizes.erase(rule.sizes.begin() +
                         static_cast<std::ptrdiff_t>(below(rule.sizes.size())));
      rule.once.clear();
  }
  return rule;
}

// The shapes still are the tensors': what does not fit is no rule (RuleMaker::Take).
bool StillFits(const OpRule& rule, const std::vector<at::Tensor>& inputs,
               const std::vector<at::Tensor>& outputs) {
  const auto fits = [&](const TensorAxes& axes, const at::Tensor& tensor) {
    for (size_t d = 0; d < axes.size(); ++d) {
      int64_t size = 1;
      for (const RuleAxisId axis : axes[d]) size *= rule.axes[axis].size;
      if (size != tensor.size(static_cast<int64_t>(d))) return false;
    }
    return true;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!fits(rule.inputs[i], inputs[i])) return false;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!fits(rule.outputs[i], outputs[i])) return false;
  }
  return true;
}

// Of a thousand mistakes all that change a split are found, but for those that the op allows: it is executed
// so, and gives what the whole gives (a convolution of one place can be split in space).
TEST(PlantedErrors, AreFound) {
  constexpr int kMistakes = 1000;
  Random random(17);
  int planted = 0, found = 0;
  std::map<std::string, int> allowed;
  for (const TinyModel& model : TinyModels()) {
    if (model.precision != CapturePrecision::kAsIs || planted == kMistakes) continue;
    int here = 0;
    VisitOps(model,
             [&](const Graph& graph, OpId id, const Op& op, const std::vector<size_t>& results,
                 const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
               const std::optional<OpRule> rule = RuleOf(graph, id);
               if (!rule || rule->axes.empty() || !CanBeChecked(*rule, op.type)) return;
               if (here == 60 || planted == kMistakes || random.Below(3) > 0) return;
               const OpRule wrong = WithMistake(*rule, random);
               if (!StillFits(wrong, inputs, outputs)) return;
               if (SplitsOf(wrong) == SplitsOf(*rule)) return;  // no mistake
               ++here;
               ++planted;
               if (!RuleCheck(op, wrong, results).Run(inputs, outputs).empty()) {
                 ++found;
               } else {
                 ++allowed[std::string(op.type)];
               }
             });
  }
  int executed = 0;
  for (const auto& [type, count] : allowed) {
    executed += count;
    std::printf("allowed by the op: %s (%d)\n", type.c_str(), count);
  }
  std::printf("%d planted: %d found, %d that the op allows\n", planted, found, executed);
  EXPECT_EQ(planted, kMistakes);
  EXPECT_GT(found, kMistakes - kMistakes / 20);
}

}  // namespace
}  // namespace placewright
