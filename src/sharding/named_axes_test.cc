#include "sharding/named_axes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "graph/graph_builder.h"

namespace placewright {
namespace {

Value InputValue(int32_t i) { return Value(InputRef{i}); }

// A linear layer over tokens: x [2 3 4] is flattened to [6 4], multiplied by w [4 5], and seen as [2 3 5]
// again; its positions p [3 5] are added.
std::unique_ptr<Graph> Layer(bool scales) {
  GraphBuilder builder("layer", "aten");
  builder.set_batch(2);
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {2, 3, 4}).Take();
  const TensorId w =
      builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {4, 5}).Take();
  const TensorId p =
      builder.AddInput("param:p", TensorKind::kParameter, DType::kF32, {3, 5}).Take();
  const auto add = [&](std::string name, std::string type, std::vector<TensorId> inputs,
                       std::vector<int64_t> shape, bool view = false) {
    OpSpec op{.name = name, .type = std::move(type)};
    for (size_t i = 0; i < inputs.size(); ++i)
      op.args.push_back(InputValue(static_cast<int32_t>(i)));
    if (view) {
      Value::List sizes;
      for (const int64_t size : shape) sizes.push_back(Value(size));
      op.args.push_back(Value(sizes));
    }
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (view) {
      op.outputs[0].alias = AliasKind::kView;
      op.outputs[0].alias_of = 0;
    }
    return builder.AddOp(std::move(op)).Take()[0];
  };
  const TensorId flat = add("flat", "aten.view.default", {x}, {6, 4}, true);
  const TensorId product = add("product", "aten.mm.default", {flat, w}, {6, 5});
  const TensorId tokens = add("tokens", "aten.view.default", {product}, {2, 3, 5}, true);
  builder.SetOutputs({add("sum", "aten.add.Tensor", {tokens, p}, {2, 3, 5})});
  Graph graph = std::move(builder).Build().Take();
  if (!scales) return std::make_unique<Graph>(std::move(graph));
  BatchScaling laws;
  laws.sizes = {2, 3, 5};
  for (const TensorId id : graph.tensors()) {
    const std::string& name = graph.tensor(id).name;
    if (!name.starts_with("param:")) {
      const bool flattened = name == "flat" || name == "product";
      laws.dimensions.items.push_back({0, flattened ? 3 : 1});
    }
    laws.dimensions.offsets.push_back(static_cast<int32_t>(laws.dimensions.items.size()));
  }
  for (const OpId op : graph.ops()) {
    if (graph.op(op).is_view) {
      laws.arguments.items.push_back({0, graph.op(op).name == "flat" ? 3 : 1});
    }
    laws.arguments.offsets.push_back(static_cast<int32_t>(laws.arguments.items.size()));
  }
  return std::make_unique<Graph>(WithBatchScaling(std::move(graph), laws).Take());
}

TEST(NamedAxes, AFlattenedDimensionKeepsItsFactors) {
  const auto graph = Layer(true);
  const NamedAxes axes(*graph);
  const AxisId batch = axes.batch(), tokens = axes.Find("input:x[1]");
  ASSERT_TRUE(batch.valid());
  ASSERT_TRUE(tokens.valid());
  const TensorId product = graph->FindTensor("product");
  ASSERT_EQ(axes.factors(product, 0).size(), 2u);
  EXPECT_EQ(axes.factors(product, 0)[0], batch);
  EXPECT_EQ(axes.factors(product, 0)[1], tokens);
  EXPECT_EQ(axes.factors(graph->FindTensor("param:p"), 0)[0], tokens);
  EXPECT_EQ(axes.axis(batch).size, 2);
  EXPECT_EQ(axes.axis(batch).tensors, 5);
}

TEST(NamedAxes, VerdictsAreOfAnAxis) {
  const auto graph = Layer(true);
  const NamedAxes axes(*graph);
  const OpId product = graph->FindOp("product"), sum = graph->FindOp("sum");
  EXPECT_EQ(axes.verdict(product, axes.batch(), 0), PartVerdict::kConcat);
  EXPECT_EQ(axes.verdict(product, axes.Find("input:x[2]"), 0), PartVerdict::kSum);
  EXPECT_EQ(axes.verdict(sum, axes.Find("input:x[2]"), 0), PartVerdict::kWhole);
  EXPECT_FALSE(axes.Touches(sum, axes.Find("input:x[2]")));
  EXPECT_EQ(axes.verdict(sum, axes.Find("param:w[1]"), 0), PartVerdict::kConcat);
}

TEST(NamedAxes, WithoutAProofNoAxisIsTheBatch) {
  const auto graph = Layer(false);
  const NamedAxes axes(*graph);
  EXPECT_FALSE(axes.batch().valid());
  EXPECT_TRUE(axes.Find("input:x[0]").valid());
}

}  // namespace
}  // namespace placewright
