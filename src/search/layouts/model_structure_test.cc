#include "search/layouts/model_structure.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "search/layouts/products.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A forward pass, op by op.
class ForwardPass {
 public:
  TensorId Input(const std::string& name, std::vector<int64_t> shape) {
    return builder_.AddInput("input:" + name, TensorKind::kInput, DType::kF32, std::move(shape))
        .Take();
  }
  TensorId Weight(const std::string& name, std::vector<int64_t> shape) {
    return builder_.AddInput("param:" + name, TensorKind::kParameter, DType::kF32, std::move(shape))
        .Take();
  }
  ForwardPass& In(std::string module) {
    module_ = std::move(module);
    return *this;
  }
  // `more`: arguments behind the inputs. A view is one of the first input.
  TensorId Op(const std::string& name, const std::string& type, std::vector<TensorId> inputs,
              std::vector<int64_t> shape, std::vector<Value> more = {}, bool view = false) {
    return Several(name, type, std::move(inputs), {std::move(shape)}, std::move(more), view)[0];
  }
  TensorId View(const std::string& name, TensorId of, const std::vector<int64_t>& shape) {
    return Op(name, "aten.view.default", {of}, shape, {List(shape)}, true);
  }
  TensorId Mm(const std::string& name, TensorId a, TensorId b, std::vector<int64_t> shape) {
    return Op(name, "aten.mm.default", {a, b}, std::move(shape));
  }
  TensorId Relu(const std::string& name, TensorId x, std::vector<int64_t> shape) {
    return Op(name, "aten.relu.default", {x}, std::move(shape));
  }
  std::vector<TensorId> Several(const std::string& name, const std::string& type,
                                std::vector<TensorId> inputs,
                                std::vector<std::vector<int64_t>> shapes,
                                std::vector<Value> more = {}, bool view = false) {
    OpSpec op{.name = name, .type = type};
    op.module = module_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    for (Value& value : more) op.args.push_back(std::move(value));
    op.inputs = std::move(inputs);
    for (size_t i = 0; i < shapes.size(); ++i) {
      OutputSpec output{.name = shapes.size() == 1 ? name : name + ":" + std::to_string(i),
                        .shape = std::move(shapes[i])};
      if (view) output.alias = AliasKind::kView;
      if (view) output.alias_of = 0;
      op.outputs.push_back(std::move(output));
    }
    return builder_.AddOp(std::move(op)).Take();
  }
  static Value List(const std::vector<int64_t>& numbers) {
    Value::List list;
    for (const int64_t number : numbers) list.push_back(Value(number));
    return Value(std::move(list));
  }
  void Build() {
    graph = std::make_unique<Graph>(std::move(builder_).Build().Take());
    axes = std::make_unique<NamedAxes>(*graph);
    found = StructureOf(*graph, *axes);
  }
  std::vector<std::string> NamesOf(const std::vector<AxisId>& list) const {
    std::vector<std::string> names;
    for (const AxisId axis : list) names.push_back(axes->axis(axis).name);
    return names;
  }
  std::vector<std::string> PathsOf(const std::vector<ModuleId>& modules) const {
    std::vector<std::string> paths;
    for (const ModuleId module : modules) paths.push_back(graph->module_path(module));
    return paths;
  }

  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
  ModelStructure found;

 private:
  GraphBuilder builder_{"forward", "aten"};
  std::string module_;
};

// y [6 5] = x [6 4] w [4 5], w seen through a view.
TEST(Products, KnowTheirWeightAndAxes) {
  ForwardPass step;
  const TensorId x = step.Input("x", {6, 4}), w = step.Weight("w", {5, 4});
  const TensorId t = step.Op("t", "aten.t.default", {w}, {4, 5}, {}, true);
  step.Mm("y", x, t, {6, 5});
  step.Build();
  const std::vector<Product> products = ForwardProducts(*step.graph, *step.axes);
  ASSERT_THAT(products, SizeIs(1));
  EXPECT_EQ(products[0].weight, w);
  EXPECT_EQ(products[0].read, x);
  EXPECT_THAT(step.NamesOf(products[0].features), ElementsAre("param:w[0]"));
  EXPECT_THAT(step.NamesOf(products[0].summed), ElementsAre("input:x[1]"));
  EXPECT_THAT(products[0].batch, IsEmpty());
}

// Scores of 2 heads of width 4 over 3 words of 2 texts, and a perceptron behind them.
TEST(ModelStructureOf, HeadsAreABatchOfProductsOfActivations) {
  ForwardPass step;
  const TensorId x = step.Input("x", {6, 8});
  const auto projected = [&](const std::string& name) {
    const TensorId y = step.Mm(name, x, step.Weight(name, {8, 8}), {6, 8});
    const TensorId seen = step.View(name + ".seen", y, {2, 3, 2, 4});
    const TensorId turned = step.Op(name + ".turned", "aten.permute.default", {seen}, {2, 2, 3, 4},
                                    {ForwardPass::List({0, 2, 1, 3})}, true);
    const TensorId copy = step.Op(name + ".copy", "aten.clone.default", {turned}, {2, 2, 3, 4});
    return step.View(name + ".flat", copy, {4, 3, 4});
  };
  const TensorId q = projected("q"), k = projected("k");
  const TensorId kt = step.Op("kt", "aten.transpose.int", {k}, {4, 4, 3},
                              {Value(int64_t{1}), Value(int64_t{2})}, true);
  step.Op("scores", "aten.bmm.default", {q, kt}, {4, 3, 3});
  const TensorId inner = step.Mm("inner", x, step.Weight("up", {8, 16}), {6, 16});
  const TensorId relu = step.Relu("relu", inner, {6, 16});
  const TensorId outer = step.Mm("outer", relu, step.Weight("down", {16, 8}), {6, 8});
  step.Mm("scores.words", outer, step.Weight("words", {8, 9}), {6, 9});
  step.Mm("scores.few", outer, step.Weight("few", {8, 7}), {6, 7});
  step.Build();
  EXPECT_EQ(step.found.kind, ModelKind::kAttention);
  EXPECT_THAT(step.NamesOf(step.found.words), ElementsAre("param:words[1]"));
  EXPECT_THAT(step.NamesOf(step.found.heads), ElementsAre("param:q[1].0"));
  EXPECT_THAT(step.NamesOf(step.found.widths), ElementsAre("param:up[1]"));
  EXPECT_THAT(step.found.experts, IsEmpty());
}

// Queries, keys and values of 2 heads of width 4, read by one operator. What is joined with the attention before the
// last product (Flux: proj_mlp) has more outputs than inputs, but is no score of words: a product follows.
TEST(ModelStructureOf, AttentionMayBeOneOperator) {
  ForwardPass step;
  const TensorId x = step.Input("x", {6, 8});
  const auto projected = [&](const std::string& name) {
    const TensorId y = step.Mm(name, x, step.Weight(name, {8, 8}), {6, 8});
    const TensorId seen = step.View(name + ".seen", y, {2, 3, 2, 4});
    return step.Op(name + ".turned", "aten.permute.default", {seen}, {2, 2, 3, 4},
                   {ForwardPass::List({0, 2, 1, 3})}, true);
  };
  const TensorId q = projected("q"), k = projected("k"), v = projected("v");
  const TensorId attention =
      step.Several("attention", "aten._scaled_dot_product_flash_attention_for_cpu.default",
                   {q, k, v}, {{2, 2, 3, 4}, {2, 2, 3}}, {Value(0.0), Value(false)})[0];
  const TensorId turned = step.Op("turned", "aten.permute.default", {attention}, {2, 3, 2, 4},
                                  {ForwardPass::List({0, 2, 1, 3})}, true);
  const TensorId copy = step.Op("copy", "aten.clone.default", {turned}, {2, 3, 2, 4});
  const TensorId flat = step.View("flat", copy, {6, 8});
  const TensorId wide = step.Mm("wide", x, step.Weight("proj_mlp", {8, 16}), {6, 16});
  const TensorId joined =
      step.Op("joined", "aten.cat.default", {flat, wide}, {6, 24}, {Value(int64_t{1})});
  step.Mm("out", joined, step.Weight("proj_out", {24, 8}), {6, 8});
  step.Build();
  EXPECT_EQ(step.found.kind, ModelKind::kAttention);
  EXPECT_THAT(step.NamesOf(step.found.heads), ElementsAre("param:q[1].0"));
  EXPECT_THAT(step.found.words, IsEmpty());
}

// Products of activations per sample, where nothing proves the batch and the state that a recurrent layer
// starts from is a parameter with the samples; of 6 samples, 3 words, width 4.
TEST(ModelStructureOf, SamplesOfAStateThatIsAParameterAreNoHeads) {
  for (const bool read : {false, true}) {
    ForwardPass step;
    const auto samples = [&](const std::string& name) {
      return read ? step.Input(name, {6, 3, 4}) : step.Weight(name, {6, 3, 4});
    };
    const TensorId x = samples("x");
    const TensorId state = step.Weight("state", {6, 3, 4});
    const TensorId q = step.Op("q", "aten.add.Tensor", {x, state}, {6, 3, 4});
    const TensorId kt = step.Op("kt", "aten.transpose.int", {q}, {6, 4, 3},
                                {Value(int64_t{1}), Value(int64_t{2})}, true);
    const TensorId scores = step.Op("scores", "aten.bmm.default", {q, kt}, {6, 3, 3});
    const TensorId w = read ? step.Weight("w", {6, 3, 2}) : step.Weight("w", {3, 2});
    if (read) {
      step.Op("y", "aten.bmm.default", {scores, w}, {6, 3, 2});
    } else {
      step.Mm("y", step.View("flat", scores, {18, 3}), w, {18, 2});
    }
    step.Build();
    EXPECT_FALSE(step.axes->batch().valid());
    EXPECT_THAT(step.found.heads, IsEmpty()) << read;
    EXPECT_NE(step.found.kind, ModelKind::kAttention) << read;
  }
}

// What is summed over twice, or is needed whole, is no inner width.
TEST(ModelStructureOf, AnInnerWidthHasOneReaderThatSumsIt) {
  for (const bool twice : {false, true}) {
    ForwardPass step;
    const TensorId x = step.Input("x", {6, 8});
    const TensorId inner = step.Mm("inner", x, step.Weight("up", {8, 16}), {6, 16});
    const TensorId between =
        twice ? step.Relu("relu", inner, {6, 16})
              : step.Op("product", "aten.cumprod.default", {inner}, {6, 16}, {Value(int64_t{-1})});
    step.Mm("outer", between, step.Weight("down", {16, 8}), {6, 8});
    if (twice) step.Mm("other", between, step.Weight("aside", {16, 8}), {6, 8});
    step.Build();
    EXPECT_THAT(step.found.widths, IsEmpty()) << twice;
  }
}

// 3 experts as the first dimension of one weight.
TEST(ModelStructureOf, ExpertsMayBeAnAxisOfAWeight) {
  ForwardPass step;
  step.Op("y", "aten.bmm.default", {step.Input("x", {3, 5, 4}), step.Weight("w", {3, 4, 6})},
          {3, 5, 6});
  step.Build();
  EXPECT_EQ(step.found.kind, ModelKind::kExperts);
  ASSERT_THAT(step.found.experts, SizeIs(1));
  EXPECT_EQ(step.axes->axis(step.found.experts[0]).size, 3);
}

// What becomes of the parts of a tensor that is cut in two and joined again.
struct Halves {
  bool routed = true;       // by scores of each of 10 tokens for two experts
  bool own_weights = true;  // or one for both
  int64_t first = 5;        // tokens of the first part, of 10
};
void BuildHalves(const Halves& halves, ForwardPass& step) {
  TensorId x = step.Input("x", {10, 4});
  if (halves.routed) {
    const TensorId scores = step.In("mix.gate").Mm("scores", x, step.Weight("g", {4, 2}), {10, 2});
    const TensorId chosen = step.Op("softmax", "aten._softmax.default", {scores}, {10, 2},
                                    {Value(int64_t{-1}), Value(false)});
    const TensorId best = step.Op("best", "aten.amax.default", {chosen}, {10, 1},
                                  {ForwardPass::List({-1}), Value(true)});
    x = step.In("mix").Op("dispatch", "aten.mul.Tensor", {x, best}, {10, 4});
  }
  const int64_t second = 10 - halves.first;
  const std::vector<TensorId> parts = step.In("mix").Several(
      "split", "aten.split_with_sizes.default", {x}, {{halves.first, 4}, {second, 4}},
      {ForwardPass::List({halves.first, second}), Value(int64_t{0})}, true);
  const TensorId w = step.Weight("w0", {4, 4}), other = step.Weight("w1", {4, 4});
  step.In("mix.first");
  const TensorId a =
      step.Relu("ra", step.Mm("a", parts[0], w, {halves.first, 4}), {halves.first, 4});
  step.In("mix.second");
  const TensorId b = step.Relu(
      "rb", step.Mm("b", parts[1], halves.own_weights ? other : w, {second, 4}), {second, 4});
  step.In("mix").Op("join", "aten.cat.default", {a, b}, {10, 4});
  step.Build();
}

TEST(ModelStructureOf, ExpertsMayBeModules) {
  for (const int64_t first : {5, 3}) {  // tokens, as the router has it
    ForwardPass step;
    BuildHalves({.first = first}, step);
    EXPECT_EQ(step.found.kind, ModelKind::kExperts);
    ASSERT_THAT(step.found.mixtures, SizeIs(1));
    ASSERT_THAT(step.found.mixtures[0], SizeIs(2));
    EXPECT_THAT(step.PathsOf(step.found.mixtures[0][0]), ElementsAre("mix.first"));
    EXPECT_THAT(step.PathsOf(step.found.mixtures[0][1]), ElementsAre("mix.second"));
  }
}

// As with the two streams of a diffusion transformer (Flux, SD3) behind their joint attention, where text and image
// go to projections, norms and perceptrons of their own, and with chunks that a list of projections takes.
TEST(ModelStructureOf, PartsThatNothingRoutesAreNoExperts) {
  for (const Halves& halves : {Halves{.own_weights = false}, Halves{.routed = false},
                               Halves{.routed = false, .first = 3}}) {
    ForwardPass step;
    BuildHalves(halves, step);
    EXPECT_NE(step.found.kind, ModelKind::kExperts)
        << halves.routed << halves.own_weights << halves.first;
    EXPECT_THAT(step.found.mixtures, IsEmpty());
  }
}

// h = relu(h w), three times; a product that follows through another module is no recurrence of its own.
TEST(ModelStructureOf, ARecurrentLayerFollowsFromItself) {
  for (const bool inside : {true, false}) {
    ForwardPass step;
    TensorId h = step.Input("h", {6, 4});
    const TensorId w = step.Weight("w", {4, 4});
    for (int i = 0; i < 3; ++i) {
      const std::string number = std::to_string(i);
      h = step.In("cell").Mm("mm" + number, h, w, {6, 4});
      h = step.In(inside ? "cell" : "between").Relu("relu" + number, h, {6, 4});
    }
    step.Build();
    EXPECT_EQ(step.found.kind, inside ? ModelKind::kRecurrent : ModelKind::kOther);
    if (inside) {
      EXPECT_THAT(step.PathsOf(step.found.recurrent), ElementsAre("cell"));
    }
  }
}

// A convolution of 3 x 3 x 4 x 8 + 8 = 296 parameters before a layer of 8 x `classes`: half of all from 37 on.
TEST(ModelStructureOf, LargeFullyConnectedLayersHaveHalfOfTheParameters) {
  for (const int64_t classes : {36, 37}) {
    ForwardPass step;
    const TensorId x = step.Input("x", {2, 4, 3, 3});
    const TensorId none = step.Weight("bias", {8});
    const TensorId y =
        step.Op("conv", "aten.convolution.default", {x, step.Weight("kernel", {8, 4, 3, 3}), none},
                {2, 8, 1, 1},
                {ForwardPass::List({1, 1}), ForwardPass::List({0, 0}), ForwardPass::List({1, 1}),
                 Value(false), ForwardPass::List({0, 0}), Value(int64_t{1})});
    const TensorId flat = step.View("flat", y, {2, 8});
    step.Mm("scores", flat, step.Weight("w", {8, classes}), {2, classes});
    step.Build();
    const bool large = classes == 37;
    EXPECT_EQ(step.found.kind, large ? ModelKind::kFullyConnected : ModelKind::kConvolutional);
    EXPECT_THAT(step.NamesOf(step.found.outputs), ElementsAre("param:w[1]"));
    if (large) {
      EXPECT_DOUBLE_EQ(step.found.matrices, 0.5);
    }
  }
}

TEST(ModelStructureOf, OthersAreOfNoKind) {
  ForwardPass step;
  step.Relu("y", step.Input("x", {2, 4}), {2, 4});
  step.Build();
  EXPECT_EQ(step.found.kind, ModelKind::kOther);
  EXPECT_EQ(step.found.matrices, 0);
}

}  // namespace
}  // namespace placewright
