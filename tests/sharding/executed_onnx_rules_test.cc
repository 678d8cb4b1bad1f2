// Rules of ONNX operators proven by execution: each op, as models are run, in two and in three uneven parts
// of every axis that its rule lets split, gives what the whole gives. In float64.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/onnx/interpreter.h"
#include "graph/graph_builder.h"
#include "rule_check.h"

namespace placewright {
namespace {

// An input of a case: drawn, or integers that are known while a step is recorded.
struct CaseInput {
  std::vector<int64_t> shape;
  int64_t below = 0;           // of indices: they lie in [0, below)
  std::vector<int64_t> known;  // what sizes and repeats hold
  bool absent = false;
};
CaseInput F(std::vector<int64_t> shape) { return {std::move(shape), 0, {}, false}; }
CaseInput I(std::vector<int64_t> shape, int64_t below) {
  return {std::move(shape), below, {}, false};
}
CaseInput Known(std::vector<int64_t> values) {
  return {{static_cast<int64_t>(values.size())}, 0, std::move(values), false};
}
CaseInput None() { return {{}, 0, {}, true}; }

using Attributes = std::map<std::string, ImportedAttribute>;

struct OperatorCase {
  std::string type;
  std::vector<CaseInput> inputs;
  Attributes attributes = {};
  int64_t version = 17;
  size_t outputs = 1;
  size_t axes = 1;  // that the rule lets split, at least

  friend std::ostream& operator<<(std::ostream& out, const OperatorCase& c) {
    return out << c.type;
  }
};

ImportedAttribute Int(int64_t value) { return value; }
ImportedAttribute Ints(std::vector<int64_t> values) { return values; }
ImportedAttribute Word(std::string value) { return value; }

std::vector<OperatorCase> Cases() {
  const auto axis = [](int64_t value) { return Attributes{{"axis", Int(value)}}; };
  const auto axes = [](std::vector<int64_t> values) {
    return Attributes{{"axes", Ints(std::move(values))}};
  };
  const CaseInput x = F({4, 6, 5});
  std::vector<OperatorCase> cases = {
      {"Add", {x, F({6, 1})}, {}, 17, 1, 3},
      {"Sub", {F({5}), x}, {}, 17, 1, 3},
      {"Mul", {x, F({})}, {}, 17, 1, 3},
      {"Div", {x, x}, {}, 17, 1, 3},
      {"Max", {x, F({5}), F({1})}, {}, 17, 1, 3},
      {"PRelu", {x, F({6, 1})}, {}, 17, 1, 3},
      {"Clip", {x, F({}), F({})}, {}, 17, 1, 3},
      {"MatMul", {F({4, 6}), F({6, 5})}, {}, 17, 1, 3},
      {"MatMul", {F({3, 1, 4, 6}), F({2, 6, 5})}, {}, 17, 1, 5},
      {"MatMul", {F({6}), F({2, 6, 5})}, {}, 17, 1, 3},
      {"MatMul", {F({2, 4, 6}), F({6})}, {}, 17, 1, 3},
      {"Gemm", {F({6, 4}), F({5, 6}), F({5})}, {{"transA", Int(1)}, {"transB", Int(1)}}, 17, 1, 3},
      {"Gemm", {F({4, 6}), F({6, 5}), F({4, 1})}, {{"alpha", 0.5}, {"beta", 3.0}}, 17, 1, 3},
      {"Einsum", {F({3, 4, 6}), F({3, 6, 5})}, {{"equation", Word("bik,bkj->bij")}}, 17, 1, 4},
      {"Einsum", {F({3, 4}), F({4, 5})}, {{"equation", Word("ij,jk")}}, 17, 1, 3},
      {"Conv", {F({4, 6, 7, 7}), F({5, 6, 3, 3}), F({5})}, {}, 17, 1, 3},
      {"Conv", {F({4, 6, 7}), F({9, 2, 3}), F({9})}, {{"group", Int(3)}}, 17, 1, 2},
      {"ConvTranspose", {F({4, 6, 5}), F({6, 4, 3}), F({4})}, {}, 17, 1, 3},
      {"ConvTranspose", {F({4, 6, 5}), F({6, 4, 3})}, {{"group", Int(3)}}, 17, 1, 2},
      {"MaxPool", {F({4, 3, 8, 8})}, {{"kernel_shape", Ints({2, 2})}}, 17, 1, 2},
      {"AveragePool",
       {F({4, 3, 8})},
       {{"kernel_shape", Ints({3})}, {"pads", Ints({1, 1})}},
       17,
       1,
       2},
      {"GlobalAveragePool", {F({4, 3, 8, 8})}, {}, 17, 1, 2},
      {"GlobalMaxPool", {F({4, 3, 8, 8})}, {}, 17, 1, 2},
      {"LRN", {F({4, 6, 5})}, {{"size", Int(3)}}, 17, 1, 2},
      {"BatchNormalization", {F({4, 3, 5}), F({3}), F({3}), F({3}), F({3})}, {}, 17, 1, 3},
      {"InstanceNormalization", {F({4, 3, 5}), F({3}), F({3})}, {}, 17, 1, 2},
      {"LayerNormalization", {x, F({5}), F({5})}, {}, 17, 1, 2},
      {"LpNormalization", {x}, axis(1), 17, 1, 2},
      {"Softmax", {x}, axis(-1), 17, 1, 2},
      {"Softmax", {x}, {}, 11, 1, 1},
      {"LogSoftmax", {x}, axis(2), 13, 1, 2},
      {"ReduceSum", {x}, axes({1}), 11, 1, 3},
      {"ReduceMean", {x}, axes({0, -1}), 11, 1, 3},
      {"ReduceMean", {x}, {{"keepdims", Int(0)}}, 13, 1, 3},
      {"ReduceL1", {x}, axes({2}), 13, 1, 3},
      {"ReduceL2", {x}, axes({2}), 13, 1, 2},
      {"ReduceSumSquare", {x}, axes({1}), 13, 1, 3},
      {"ReduceMax", {x}, axes({1}), 13, 1, 2},
      {"ReduceLogSumExp", {x}, axes({0}), 13, 1, 2},
      {"ArgMax", {x}, axis(1), 13, 1, 2},
      {"CumSum", {x, Known({1})}, axis(1), 14, 1, 2},
      {"Resize", {F({4, 3, 4, 4}), None(), None(), Known({4, 3, 8, 6})}, {}, 17, 1, 2},
      {"TopK", {x, Known({3})}, axis(1), 17, 2, 2},
      {"LSTM",
       {F({5, 4, 3}), F({1, 8, 3}), F({1, 8, 2}), F({1, 16}), None(), F({1, 4, 2}), F({1, 4, 2})},
       {{"hidden_size", Int(2)}},
       14,
       3,
       1},
      {"LSTM",
       {F({5, 4, 3}), F({2, 8, 3}), F({2, 8, 2})},
       {{"hidden_size", Int(2)}, {"direction", Word("bidirectional")}},
       14,
       3,
       1},
      {"GRU",
       {F({5, 4, 3}), F({1, 6, 3}), F({1, 6, 2}), F({1, 12})},
       {{"hidden_size", Int(2)}},
       14,
       2,
       1},
      {"Reshape", {F({4, 6, 10}), Known({24, 2, 5})}, {}, 17, 1, 4},
      {"Flatten", {F({4, 6, 5})}, {}, 17, 1, 3},
      {"Unsqueeze", {F({4, 6})}, axes({1}), 11, 1, 2},
      {"Squeeze", {F({4, 1, 6})}, axes({1}), 11, 1, 2},
      {"Transpose", {x}, {{"perm", Ints({2, 0, 1})}}, 17, 1, 3},
      {"Transpose", {x}, {}, 17, 1, 3},
      {"Expand", {F({6, 1}), Known({4, 6, 5})}, {}, 17, 1, 3},
      {"Tile", {F({4, 6}), Known({1, 3})}, {}, 17, 1, 2},
      {"Slice",
       {F({4, 12})},
       {{"starts", Ints({3})}, {"ends", Ints({6})}, {"axes", Ints({1})}},
       9,
       1,
       2},
      {"Slice",
       {F({4, 12})},
       {{"starts", Ints({1, 0})}, {"ends", Ints({5, 2147483647})}, {"axes", Ints({1, 0})}},
       9,
       1,
       1},
      {"Split", {F({4, 12})}, {{"axis", Int(1)}, {"split", Ints({4, 4, 4})}}, 11, 3, 2},
      {"Split", {F({4, 12})}, {{"axis", Int(1)}, {"split", Ints({4, 8})}}, 11, 2, 1},
      {"Concat", {F({4, 3, 5}), F({4, 2, 5})}, axis(1), 17, 1, 2},
      {"Concat", {F({4, 3}), F({4, 3})}, axis(-1), 17, 1, 2},
      {"Gather", {F({9, 5}), I({4, 3}, 9)}, {}, 17, 1, 3},
      {"Gather", {F({4, 9, 5}), I({6}, 9)}, axis(1), 17, 1, 3},
      {"GatherElements", {F({4, 9}), I({4, 3}, 9)}, axis(1), 17, 1, 2},
      {"GatherND", {F({4, 6, 5}), I({4, 3, 1}, 6)}, {{"batch_dims", Int(1)}}, 17, 1, 3},
      {"ScatterElements", {F({4, 9}), I({4, 1}, 9), F({4, 1})}, axis(1), 17, 1, 1},
      {"Pad", {F({4, 6})}, {{"pads", Ints({0, 1, 0, 2})}}, 10, 1, 1},
      {"Trilu", {F({4, 5, 5})}, {}, 17, 1, 1},
      {"DepthToSpace", {F({4, 8, 3, 3})}, {{"blocksize", Int(2)}}, 17, 1, 1},
      {"SpaceToDepth", {F({4, 2, 4, 4})}, {{"blocksize", Int(2)}}, 17, 1, 1},
      {"OneHot", {I({4, 6}, 5), Known({5}), F({2})}, axis(1), 17, 1, 2},
      {"ConstantOfShape", {Known({4, 6})}, {}, 17, 1, 2},
  };
  for (const char* type : {"Relu", "Sigmoid", "Tanh", "Erf", "Exp", "HardSigmoid", "LeakyRelu",
                           "Neg", "Sqrt", "Identity", "Softplus", "Elu"}) {
    cases.push_back({type, {x}, {}, 17, 1, 3});
  }
  return cases;
}

placewright::Value ValueOf(const ImportedAttribute& attribute) {
  if (const auto* number = std::get_if<int64_t>(&attribute)) return placewright::Value(*number);
  if (const auto* number = std::get_if<double>(&attribute)) return placewright::Value(*number);
  if (const auto* text = std::get_if<std::string>(&attribute)) return placewright::Value(*text);
  placewright::Value::List list;
  for (const int64_t number : std::get<std::vector<int64_t>>(attribute)) {
    list.push_back(placewright::Value(number));
  }
  return placewright::Value(list);
}

ImportedAttribute AttributeOf(const placewright::Value& value) {
  if (const int64_t* number = value.AsInt()) return *number;
  if (const double* number = value.AsDouble()) return *number;
  if (const std::string* text = value.AsString()) return *text;
  std::vector<int64_t> numbers;
  for (const placewright::Value& item : *value.AsList()) numbers.push_back(*item.AsInt());
  return numbers;
}

// One node, run as models are.
std::vector<at::Tensor> RunNode(const OperatorCase& c, const std::string& type,
                                const Attributes& attributes,
                                const std::vector<at::Tensor>& inputs) {
  ImportedNode node;
  node.type = type;
  node.place = "node op (" + type + ")";
  node.attributes = attributes;
  std::unordered_map<std::string, lowering::Value> known;
  size_t next = 0;
  for (const CaseInput& input : c.inputs) {
    node.inputs.push_back(input.absent ? "" : "x" + std::to_string(next));
    if (input.absent) continue;
    known[node.inputs.back()] =
        input.known.empty() ? lowering::Value(inputs[next]) : lowering::Value::Host(inputs[next]);
    ++next;
  }
  ImportedModel model;
  model.versions[""] = c.version;
  for (size_t i = 0; i < c.outputs; ++i) node.outputs.push_back("y" + std::to_string(i));
  model.graph.outputs = node.outputs;
  model.graph.nodes = {node};
  return lowering::Interpreter(model, {}).Run(std::move(known));
}

std::vector<at::Tensor> DrawInputs(const OperatorCase& c) {
  at::manual_seed(1);
  std::vector<at::Tensor> tensors;
  for (const CaseInput& input : c.inputs) {
    if (input.absent) continue;
    if (!input.known.empty()) {
      tensors.push_back(at::tensor(input.known, at::kLong));
    } else if (input.below > 0) {
      tensors.push_back(at::randint(input.below, input.shape, at::kLong));
    } else {
      tensors.push_back(at::rand(input.shape, at::kDouble) + 0.1);
    }
  }
  return tensors;
}

std::unique_ptr<Graph> GraphOf(const OperatorCase& c, const std::vector<at::Tensor>& inputs,
                               const std::vector<at::Tensor>& outputs) {
  GraphBuilder builder("one", "onnx");
  OpSpec op{.name = "op", .type = c.type};
  const auto dtype = [](const at::Tensor& tensor) {
    return tensor.scalar_type() == at::kDouble ? DType::kF64 : DType::kI64;
  };
  size_t next = 0;
  for (const CaseInput& input : c.inputs) {
    op.args.emplace_back();
    if (input.absent) continue;
    op.args.back() = placewright::Value(InputRef{static_cast<int32_t>(next)});
    op.inputs.push_back(builder
                            .AddInput("input:" + std::to_string(next), TensorKind::kInput,
                                      dtype(inputs[next]), inputs[next].sizes().vec())
                            .Take());
    ++next;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    op.outputs.push_back({.name = "op:" + std::to_string(i),
                          .dtype = dtype(outputs[i]),
                          .shape = outputs[i].sizes().vec()});
  }
  for (const auto& [name, value] : c.attributes) op.attributes.push_back({name, ValueOf(value)});
  (void)builder.AddOp(std::move(op)).Take();
  return std::make_unique<Graph>(std::move(builder).Build().Take());
}

class OnnxRuleCheck : public RuleCheck {
 public:
  OnnxRuleCheck(const OperatorCase& c, const Op& op, const OpRule& rule,
                std::vector<size_t> results)
      : RuleCheck(op, rule, std::move(results)), case_(c), one_(op), axes_(rule) {}

 private:
  std::vector<at::Tensor> Call(const std::vector<at::Tensor>& inputs,
                               const IdVector<RuleAxisId, int64_t>& sizes, RuleAxisId split,
                               PartInterval) const override {
    const PartCall call = CallOnPart(one_, axes_, {split}, sizes);
    Attributes attributes;
    for (const NamedValue& named : call.attributes)
      attributes[named.name] = AttributeOf(named.value);
    std::vector<at::Tensor> given = inputs;
    // The tensor of sizes is that of the part's own result.
    constexpr std::string_view kSized[] = {"Reshape", "Expand", "ConstantOfShape", "Resize"};
    if (std::find(std::begin(kSized), std::end(kSized), case_.type) != std::end(kSized)) {
      std::vector<int64_t> made;
      for (const std::vector<RuleAxisId>& dimension : axes_.outputs[0]) {
        made.push_back(1);
        for (const RuleAxisId axis : dimension) made.back() *= sizes[axis];
      }
      given.back() = at::tensor(made, at::kLong);
    }
    std::vector<at::Tensor> results = RunNode(case_, call.type, attributes, given);
    if (axes_.form == PartForm::kMean) results[0] = results[0] / axes_.divisor;
    return results;
  }
  // Products inside of recurrent layers and kernels for longer rows may round otherwise.
  bool Reduces() const override { return true; }

  const OperatorCase& case_;
  const Op& one_;
  const OpRule& axes_;
};

class ExecutedOnnxRules : public ::testing::TestWithParam<OperatorCase> {};

TEST_P(ExecutedOnnxRules, PartsMakeTheWhole) {
  const at::NoGradGuard no_grad;
  const OperatorCase& c = GetParam();
  const std::vector<at::Tensor> inputs = DrawInputs(c);
  const std::vector<at::Tensor> outputs = RunNode(c, c.type, c.attributes, inputs);
  ASSERT_EQ(outputs.size(), c.outputs);
  const std::unique_ptr<Graph> graph = GraphOf(c, inputs, outputs);
  const std::optional<OpRule> rule = RuleOf(*graph, OpId(0));
  ASSERT_TRUE(rule) << c.type;
  std::vector<size_t> results;
  for (size_t i = 0; i < outputs.size(); ++i) results.push_back(i);
  EXPECT_EQ(OnnxRuleCheck(c, graph->op(OpId(0)), *rule, results).Run(inputs, outputs), "");
  size_t axes = 0;
  for (const RuleAxis& axis : rule->axes) {
    axes += axis.size > 1 && (axis.parts == Parts::kSplit || axis.parts == Parts::kSum) ? 1 : 0;
  }
  EXPECT_GE(axes, c.axes);
}

std::string NameOfCase(const testing::TestParamInfo<OperatorCase>& info) {
  return info.param.type + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(All, ExecutedOnnxRules, ::testing::ValuesIn(Cases()), NameOfCase);

}  // namespace
}  // namespace placewright
