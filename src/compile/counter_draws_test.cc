#include "transforms/counter_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "compile/compiler.h"
#include "cost/cost_model.h"
#include "graph/batch/at_batch.h"
#include "graph/graph_builder.h"
#include "transforms/test_draws.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value Int(int64_t value) { return Value(value); }

TEST(CounterBasedDraws, ProbabilitiesThatAreLeftOut) {
  const Graph graph = UseCounterBasedDraws(DrawingStep(0.5), 5).Take();
  EXPECT_EQ(graph.op(OpId(1)).type, "placewright.counter_bernoulli_.default");
  EXPECT_THAT(graph.op(OpId(1)).args, ElementsAre(Value(InputRef{0}), Value(InputRef{1}), Int(5),
                                                  Int(0), Value(0.5), Value(Value::List())));
}

TEST(CounterBasedDraws, CountByDrawAndStep) {
  const Graph graph = UseCounterBasedDraws(DrawingStep(), 5).Take();
  ASSERT_EQ(graph.op_count(), 4u);
  const Op& mask = graph.op(OpId(1));
  EXPECT_EQ(mask.name, "mask");
  EXPECT_EQ(mask.type, "placewright.counter_bernoulli_.default");
  EXPECT_THAT(mask.args, ElementsAre(Value(InputRef{0}), Value(InputRef{1}), Int(5), Int(0),
                                     Value(0.8), Value(Value::List())));
  EXPECT_EQ(graph.tensor(mask.inputs[1]).name, kStepCounter);
  EXPECT_THAT(mask.writes, ElementsAre(mask.inputs[0]));
  const Op& drop = graph.op(OpId(2));
  EXPECT_EQ(drop.type, "placewright.counter_dropout.default");
  EXPECT_THAT(drop.args, ElementsAre(Value(InputRef{0}), Value(InputRef{1}), Int(5), Int(1),
                                     Value(0.1), Value(Value::List())));
  EXPECT_THAT(drop.after, IsEmpty());
  // Behind all that read it.
  const Op& last = graph.op(OpId(3));
  EXPECT_EQ(last.type, "aten.add_.Scalar");
  EXPECT_EQ(graph.tensor(last.inputs[0]).name, kStepCounter);
  EXPECT_EQ(drop.input_versions[1], 0);
  EXPECT_THAT(UnknownTypes(graph), IsEmpty());
  EXPECT_EQ(graph.group(OpId(0)), graph.group(OpId(1)));
  EXPECT_NE(graph.group(OpId(1)), graph.group(OpId(3)));
}

TEST(CounterBasedDraws, KeepWhatIsProvenOfTheBatch) {
  const Graph before = DrawingStep();
  const Graph graph = UseCounterBasedDraws(DrawingStep(), 5).Take();
  ASSERT_NE(graph.batch_scaling(), nullptr);
  for (const TensorId id : graph.tensors()) {
    const bool ours = !before.FindTensor(graph.tensor(id).name).valid();
    EXPECT_EQ(graph.batch_scaling()->dimensions[id].size(), ours ? 0u : 1u);
  }
  const NamedAxes axes(graph);
  EXPECT_TRUE(axes.Holds(graph.FindTensor("kept"), axes.batch()));
}

TEST(CounterBasedDraws, AreMadeOnceOnly) {
  const Graph once = UseCounterBasedDraws(DrawingStep(), 5).Take();
  const size_t ops = once.op_count();
  const Graph twice = UseCounterBasedDraws(UseCounterBasedDraws(DrawingStep(), 5).Take(), 6).Take();
  EXPECT_EQ(twice.op_count(), ops);
  EXPECT_EQ(twice.op(OpId(1)).args, once.op(OpId(1)).args);
}

// A draw of one op: its copy, and the laws of its numbers.
struct OneDraw {
  OneDraw(std::string type, std::vector<Value> args, bool reads, DType dtype = DType::kF32,
          std::vector<NamedValue> attributes = {}, std::vector<ArgumentLaw> laws = {}) {
    GraphBuilder builder("draw", "aten");
    builder.set_batch(6);
    const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {6, 4}).Take();
    OpSpec op{.name = "draw", .type = std::move(type)};
    if (reads) op.inputs = {x};
    op.args = std::move(args);
    op.attributes = std::move(attributes);
    op.outputs = {{.name = "draw", .dtype = dtype, .shape = {6, 4}}};
    if (op.type.find("_.") != std::string::npos) {
      op.outputs[0].alias = AliasKind::kInPlace;
      op.outputs[0].alias_of = 0;
    }
    builder.SetOutputs({builder.AddOp(std::move(op)).Take()[0]});
    Graph plain = std::move(builder).Build().Take();
    BatchScaling scaling{{6, 7, 9}, "", {{0, 1, 2}, {{0, 1}, {0, 1}}}, {}, 0};
    scaling.arguments.offsets = {0, static_cast<int32_t>(laws.size())};
    scaling.arguments.items = std::move(laws);
    plain = WithBatchScaling(std::move(plain), std::move(scaling)).Take();
    graph = UseCounterBasedDraws(std::move(plain), 5).Take();
  }
  const Op& op() const { return graph.op(OpId(0)); }

  Graph graph;
};

Value Size() { return Value(Value::List({Int(6), Int(4)})); }

TEST(CounterBasedDraws, NumbersOfEveryForm) {
  const auto expect = [](const OneDraw& drawn, const char* type, Value first,
                         const char* distribution, double a, double b) {
    const bool reads = first.AsInput() != nullptr;
    EXPECT_EQ(drawn.op().type, type);
    EXPECT_THAT(drawn.op().args, ElementsAre(first, Value(InputRef{reads ? 1 : 0}), Int(5), Int(0),
                                             Value(std::string(distribution)), Value(a), Value(b),
                                             Value(Value::List())));
    EXPECT_THAT(UnknownTypes(drawn.graph), IsEmpty());
    const NamedAxes axes(drawn.graph);
    const OpId op(0);
    EXPECT_TRUE(axes.SplitBy(op, axes.batch()).valid()) << type;
    EXPECT_FALSE(axes.rule(op)->draws_random);
  };
  const Value x(InputRef{0});
  const char* in_place = "placewright.counter_draw_.default";
  const char* like = "placewright.counter_draw_like.default";
  const char* fresh = "placewright.counter_draw_new.default";
  expect(OneDraw("aten.normal_.default", {x, Value(0.0), Value(0.1)}, true), in_place, x, "normal",
         0, 0.1);
  expect(OneDraw("aten.uniform_.default", {x, Value(-1.0)}, true), in_place, x, "uniform", -1, 1);
  expect(OneDraw("aten.exponential_.default", {x}, true), in_place, x, "exponential", 1, 0);
  expect(OneDraw("aten.random_.to", {x, Int(7)}, true), in_place, x, "integers", 0, 7);
  expect(OneDraw("aten.randn_like.default", {x}, true), like, x, "normal", 0, 1);
  expect(OneDraw("aten.randint_like.low_dtype", {x, Int(2), Int(9)}, true), like, x, "integers", 2,
         9);
  expect(OneDraw("aten.rand.default", {Size()}, false), fresh, Size(), "uniform", 0, 1);
  expect(OneDraw("aten.randint.default", {Int(9), Size()}, false, DType::kI64), fresh, Size(),
         "integers", 0, 9);
  expect(OneDraw("aten.normal.float_float", {Value(1.0), Value(2.0), Size()}, false), fresh, Size(),
         "normal", 1, 2);
}

// Keywords of memory stay with what makes a tensor; a generator, or complex numbers, do not count.
TEST(CounterBasedDraws, KeywordsAndTypes) {
  const std::vector<NamedValue> bf16 = {{"dtype", Value(std::string("torch.bfloat16"))}};
  EXPECT_EQ(OneDraw("aten.randn.default", {Size()}, false, DType::kBF16, bf16).op().attributes,
            bf16);
  const std::vector<NamedValue> generator = {{"generator", Int(1)}};
  EXPECT_EQ(OneDraw("aten.rand.default", {Size()}, false, DType::kF32, generator).op().type,
            "aten.rand.default");
  EXPECT_EQ(OneDraw("aten.randn.default", {Size()}, false, DType::kC64).op().type,
            "aten.randn.default");
  EXPECT_EQ(OneDraw("aten.randint.low", {Int(3), Int(3), Size()}, false, DType::kI64).op().type,
            "aten.randint.low");
}

// randint(0, batch, [batch, 4]): the size first, its bound behind seed and draw.
TEST(CounterBasedDraws, NumbersKeepTheirLaws) {
  const OneDraw drawn("aten.randint.low", {Int(0), Int(6), Size()}, false, DType::kI64, {},
                      {{1, 1}, {2, 1}});
  EXPECT_THAT(drawn.graph.batch_scaling()->arguments[OpId(0)],
              ElementsAre(ArgumentLaw{0, 1}, ArgumentLaw{5, 1}));
  const OpArguments there = ArgumentsAt(drawn.graph, OpId(0), 9).Take();
  EXPECT_EQ(there.args[0], Value(Value::List({Int(9), Int(4)})));
  EXPECT_EQ(there.args[6], Value(9.0));
}

// Two devices draw 2 and 4 of the 6 samples: nothing is fetched but the counter.
TEST(CounterBasedDraws, AreDrawnInParts) {
  const Graph graph = UseCounterBasedDraws(DrawingStep(), 5).Take();
  const NamedAxes axes(graph);
  ClusterBuilder devices("two");
  const int32_t kind = devices.AddKind({.name = "K"}).Take();
  for (const char* name : {"a", "b"}) {
    (void)devices.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
  }
  Layouts layouts;
  layouts.layouts.push_back(SplitOver(axes.batch(), {DeviceId(0), DeviceId(1)}, {2, 4}));
  layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  const DistributedStep step =
      Compile(graph, axes, layouts, std::move(devices).Build().Take()).Take();
  const auto place = [&](const char* name) {
    return step.graph.op(step.graph.FindOp(name)).args[5];
  };
  EXPECT_EQ(place("mask@a"), Value(Value::List({Int(0), Int(1), Int(6), Int(0), Int(2)})));
  EXPECT_EQ(place("drop@b"), Value(Value::List({Int(0), Int(1), Int(6), Int(2), Int(6)})));
  for (const OpId op : step.graph.ops()) EXPECT_TRUE(step.origin[op].valid());
}

}  // namespace
}  // namespace placewright
