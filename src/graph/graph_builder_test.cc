#include "graph/graph_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/test_graphs.h"
#include "graph/text_form.h"
#include "graph/uncovered_order_edges.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> OrderText(const Graph& graph) {
  std::vector<std::string> lines;
  for (const OrderEdge& edge : graph.order_edges()) {
    const char* kinds[] = {"RAW", "WAR", "WAW"};
    lines.push_back(graph.op(edge.from).name + " " + graph.op(edge.to).name + " " +
                    kinds[static_cast<int>(edge.kind)]);
  }
  return lines;
}

// A whole tiny training step: y = w x, gradient by a saved tensor, update through momentum.
TEST(GraphBuilder, GoldenOfATinyStep) {
  TinyGraph tiny;
  const TensorId w = tiny.Input("param:m.fc.weight", TensorKind::kParameter, {4, 4});
  const TensorId s = tiny.Input("opt_state:m.fc.weight.exp", TensorKind::kOptimizerState, {4, 4});
  const TensorId x = tiny.Input("input:x", TensorKind::kInput, {2, 4});
  tiny.builder().Tie(w, s);
  tiny.In(Phase::kForward, "m.fc");
  const TensorId t = tiny.View("t", "aten.t.default", w, {4, 4});
  const TensorId y = tiny.Fresh("mm", {x, t}, {2, 4});
  tiny.In(Phase::kBackward);
  const TensorId gy = tiny.Fresh("loss_backward", {y}, {2, 4});
  const TensorId gw = tiny.Fresh("mm_1", {gy, x}, {4, 4});
  const TensorId gx = tiny.Fresh("mm_2", {gy, t}, {2, 4});
  tiny.In(Phase::kOptimizer);
  const TensorId s1 = tiny.InPlace("mul_", {s, gw}, {4, 4});
  const TensorId root = tiny.Fresh("sqrt", {s1}, {4, 4});
  const TensorId w1 = tiny.InPlace("addcdiv_", {w, root}, {4, 4});
  tiny.builder().SetOutputs({w1, gx});
  // Bytes: [2,4] f32 = 32, [4,4] = 64. `mm` reads x and t, so it is no view; `mm` and `mm_2` read
  // the weight before addcdiv_ writes it. t is the weight's storage, so t, sqrt, mul_ and addcdiv_
  // share group 0. x is read directly: no group.
  EXPECT_EQ(ToText(tiny.Build()),
            R"(graph tiny (aten), batch 0: 8 ops, 8 edges, 5 groups
input param:m.fc.weight parameter f32[4,4] s0.0 [0,64)
input opt_state:m.fc.weight.exp optimizer_state f32[4,4] s1.0 [0,64)
input input:x input f32[2,4] s2.0 [0,32)
op t = aten.t.default(param:m.fc.weight) forward @m.fc g0 view
  t f32[4,4] s0.0 [0,64) strides [1,4]
op mm = aten.test.default(input:x, t) forward @m.fc g1
  mm f32[2,4] s3.0 [0,32)
op loss_backward = aten.test.default(mm) backward @m.fc g2
  loss_backward f32[2,4] s4.0 [0,32)
op mm_1 = aten.test.default(loss_backward, input:x) backward @m.fc g3
  mm_1 f32[4,4] s5.0 [0,64)
op mm_2 = aten.test.default(loss_backward, t) backward @m.fc g4
  mm_2 f32[2,4] s6.0 [0,32)
op mul_ = aten.test_.default(opt_state:m.fc.weight.exp, mm_1) optimizer @m.fc g0
  writes opt_state:m.fc.weight.exp
  mul_ f32[4,4] s1.1 [0,64)
op sqrt = aten.test.default(mul_) optimizer @m.fc g0
  sqrt f32[4,4] s7.0 [0,64)
op addcdiv_ = aten.test_.default(param:m.fc.weight, sqrt) optimizer @m.fc g0
  writes param:m.fc.weight
  addcdiv_ f32[4,4] s0.1 [0,64)
storage s0 param:m.fc.weight parameter 64 B, written by: start, addcdiv_
storage s1 opt_state:m.fc.weight.exp optimizer_state 64 B, written by: start, mul_
storage s2 input:x input 32 B, written by: start
storage s3 mm activation 32 B, written by: mm
storage s4 loss_backward activation 32 B, written by: loss_backward
storage s5 mm_1 gradient 64 B, written by: mm_1
storage s6 mm_2 activation 32 B, written by: mm_2
storage s7 sqrt activation 64 B, written by: sqrt
order mm -> addcdiv_ write after read
order mm_2 -> addcdiv_ write after read
group g0: t, mul_, sqrt, addcdiv_
group g1: mm
group g2: loss_backward
group g3: mm_1
group g4: mm_2
)");
}

// mm reads w, then mul_ writes it; nothing else joins them.
TEST(GraphBuilder, AWriteWaitsForReadersOfTheOldVersion) {
  TinyGraph tiny;
  const TensorId w = tiny.Input("w", TensorKind::kParameter, {4});
  tiny.Fresh("mm", {w});
  tiny.InPlace("mul_", {w});
  const Graph graph = tiny.Build();
  EXPECT_EQ(graph.edge_count(), 0u);
  EXPECT_THAT(OrderText(graph), ElementsAre("mm mul_ WAR"));
}

TEST(GraphBuilder, ReadersThatNameTheOldTensorReadTheNewestVersion) {
  TinyGraph tiny;
  const TensorId w = tiny.Input("w", TensorKind::kBuffer, {4});
  tiny.InPlace("add_", {w});
  tiny.Fresh("read", {w});  // names w, whose content add_ has replaced
  const Graph graph = tiny.Build();
  EXPECT_EQ(graph.op(OpId(1)).input_versions, std::vector<int32_t>{1});
  EXPECT_EQ(graph.edge_count(), 0u);
  EXPECT_THAT(OrderText(graph), ElementsAre("add_ read RAW"));
}

// Two slices of one buffer are activated in place; the reader of the first slice names the first
// write, but comes after both: it reads version 2, and does not make the second write wait.
TEST(GraphBuilder, WritesThroughSlicesMakeOneVersionEach) {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {8});
  const TensorId buffer = tiny.Fresh("buffer", {x}, {8});
  const TensorId a = tiny.View("a", "aten.slice.Tensor", buffer, {4}, {Int(0), Int(0), Int(4)});
  const TensorId b = tiny.View("b", "aten.slice.Tensor", buffer, {4}, {Int(0), Int(4), Int(8)});
  const TensorId a1 = tiny.InPlace("a_", {a});
  tiny.InPlace("b_", {b});
  tiny.Fresh("read", {a1});
  const Graph graph = tiny.Build();
  const OpId read = graph.FindOp("read");
  EXPECT_EQ(graph.op(read).input_versions, std::vector<int32_t>{2});
  EXPECT_EQ(graph.op(graph.FindOp("b_")).input_versions, std::vector<int32_t>{1});
  const Tensor& a_ = graph.tensor(graph.FindTensor("a_"));
  EXPECT_EQ(a_.version, 1);
  EXPECT_EQ(a_.offset, Bytes(0));
  EXPECT_EQ(a_.length, Bytes(16));
  const Tensor& b_ = graph.tensor(graph.FindTensor("b_"));
  EXPECT_EQ(b_.version, 2);
  EXPECT_EQ(b_.offset, Bytes(16));
  // None of these pairs is a data edge. b_ both reads and writes after a_: the first kind is kept.
  EXPECT_THAT(OrderText(graph), ElementsAre("buffer a_ RAW", "a_ b_ RAW", "b_ read RAW"));
}

TEST(GraphBuilder, AViewIsNoReaderButComesAfterTheWriteItShows) {
  TinyGraph tiny;
  const TensorId w = tiny.Input("w", TensorKind::kParameter, {2, 2});
  tiny.View("before", "aten.t.default", w, {2, 2});
  tiny.InPlace("add_", {w}, {2, 2});
  tiny.View("behind", "aten.t.default", w, {2, 2});
  const Graph graph = tiny.Build();
  EXPECT_THAT(OrderText(graph), ElementsAre("add_ behind RAW"));
  EXPECT_EQ(graph.tensor(graph.FindTensor("behind")).version, 1);
  EXPECT_TRUE(graph.op(OpId(0)).is_view);
  EXPECT_FALSE(graph.op(OpId(1)).is_view);
}

// A running buffer is written without being returned.
TEST(GraphBuilder, RunningBuffersGetAVersion) {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4});
  const TensorId mean = tiny.Input("running_mean", TensorKind::kBuffer, {4});
  tiny.Writing("norm", {x, mean}, 1);
  tiny.Writing("norm_1", {x, mean}, 1);
  const Graph graph = tiny.Build();
  EXPECT_EQ(graph.storage(StorageId(1)).versions.size(), 3u);
  EXPECT_EQ(graph.group(OpId(0)), graph.group(OpId(1)));  // both write the buffer
  EXPECT_THAT(OrderText(graph), ElementsAre("norm norm_1 RAW"));
  EXPECT_EQ(graph.edge_count(), 0u);
}

TEST(GraphBuilder, AWrittenInputIsABuffer) {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4});
  const TensorId y = tiny.Input("y", TensorKind::kInput, {4});
  tiny.InPlace("clamp_", {x});
  tiny.Fresh("read", {y});
  const Graph graph = tiny.Build();
  EXPECT_EQ(graph.storage(StorageId(0)).kind, TensorKind::kBuffer);
  EXPECT_EQ(graph.tensor(graph.FindTensor("clamp_")).kind, TensorKind::kBuffer);
  EXPECT_EQ(graph.storage(StorageId(1)).kind, TensorKind::kInput);
}

TEST(GraphBuilder, AfterIsADataEdgeCountedOnce) {
  TinyGraph tiny;
  const TensorId x = tiny.Input("x", TensorKind::kInput, {4});
  const TensorId a = tiny.Fresh("a", {x});
  tiny.Fresh("b", {x});
  tiny.After({"a", "b"}).Fresh("c", {a, a});
  const Graph graph = tiny.Build();
  // a -> c (twice as an input, once as after) and b -> c
  EXPECT_EQ(graph.edge_count(), 2u);
  EXPECT_THAT(graph.producers(OpId(2)), ElementsAre(OpId(0), OpId(1)));
}

TEST(GraphBuilder, AfterMayNotNameNothing) {
  TinyGraph tiny;
  tiny.After({"ghost"}).Fresh("a", {});
  const Result<Graph> graph = tiny.TryBuild();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::kUnknownName);
  EXPECT_THAT(graph.error().ToString(), HasSubstr("ghost"));
}

TEST(GraphBuilder, HomesAreViewersOrWritersElseTheFirstReader) {
  TinyGraph tiny;
  const TensorId only_read = tiny.Input("only_read", TensorKind::kParameter, {4});
  const TensorId viewed = tiny.Input("viewed", TensorKind::kParameter, {4});
  const TensorId idle = tiny.Input("idle", TensorKind::kParameter, {4});
  tiny.Fresh("a", {viewed});
  tiny.Fresh("b", {only_read});
  tiny.View("c", "aten.detach.default", viewed, {4});
  const Graph graph = tiny.Build();
  const auto home = [&](TensorId id) { return graph.home_op(graph.tensor(id).storage); };
  EXPECT_EQ(home(only_read), OpId(1));
  EXPECT_EQ(home(viewed), OpId(2));
  EXPECT_FALSE(home(idle).valid());
  EXPECT_EQ(graph.home_op(graph.tensor(graph.FindTensor("a")).storage), OpId(0));
}

// Gradient clipping: the norms of all gradients meet in one coefficient that scales each gradient.
TEST(GraphBuilder, OpsThatServeSeveralParametersJoinNone) {
  TinyGraph tiny;
  const TensorId w1 = tiny.Input("param:a.w", TensorKind::kParameter, {4});
  const TensorId w2 = tiny.Input("param:b.w", TensorKind::kParameter, {4});
  const TensorId g1 = tiny.In(Phase::kBackward).Fresh("g1", {w1});
  const TensorId g2 = tiny.Fresh("g2", {w2});
  tiny.In(Phase::kOptimizer);
  const TensorId n1 = tiny.Fresh("norm1", {g1});
  const TensorId n2 = tiny.Fresh("norm2", {g2});
  const TensorId coefficient = tiny.Fresh("coefficient", {n1, n2});
  const TensorId c1 = tiny.Fresh("clip1", {g1, coefficient});
  const TensorId c2 = tiny.Fresh("clip2", {g2, coefficient});
  tiny.InPlace("update1", {w1, c1});
  tiny.InPlace("update2", {w2, c2});
  const Graph graph = tiny.Build();
  const auto group = [&](const char* op) { return graph.group(graph.FindOp(op)); };
  EXPECT_EQ(group("clip1"), group("update1"));
  EXPECT_EQ(group("clip2"), group("update2"));
  EXPECT_NE(group("update1"), group("update2"));
  for (const char* op : {"norm1", "norm2", "coefficient", "g1", "g2"}) {
    EXPECT_NE(group(op), group("update1")) << op;
    EXPECT_NE(group(op), group("update2")) << op;
  }
  EXPECT_EQ(graph.module_path(graph.op(graph.FindOp("clip1")).module), "a");
  EXPECT_EQ(graph.tensor(g1).kind, TensorKind::kGradient);
}

TEST(GraphBuilder, TiedWeightsShareAGroup) {
  TinyGraph tiny;
  const TensorId a = tiny.Input("a", TensorKind::kParameter, {4});
  const TensorId b = tiny.Input("b", TensorKind::kParameter, {4});
  const TensorId c = tiny.Input("c", TensorKind::kParameter, {4});
  for (TensorId id : {a, b, c}) {
    tiny.In(Phase::kOptimizer).InPlace("write_" + std::to_string(id.value()), {id});
  }
  tiny.builder().Tie(a, b);
  const Graph graph = tiny.Build();
  EXPECT_EQ(graph.group(OpId(0)), graph.group(OpId(1)));
  EXPECT_NE(graph.group(OpId(0)), graph.group(OpId(2)));
}

TEST(GraphBuilder, DuplicateNamesAreRefused) {
  GraphBuilder builder("g", "onnx");
  ASSERT_TRUE(builder.AddInput("x", TensorKind::kInput, DType::kF32, {1}).ok());
  EXPECT_EQ(builder.AddInput("x", TensorKind::kInput, DType::kF32, {1}).error().code,
            ErrorCode::kDuplicateName);
  EXPECT_EQ(builder.DeclareTensor("x", DType::kF32, {1}).error().code, ErrorCode::kDuplicateName);
  OpSpec op;
  op.name = "a";
  op.type = "Relu";
  ASSERT_TRUE(builder.AddOp(op).ok());
  EXPECT_EQ(builder.AddOp(op).error().code, ErrorCode::kDuplicateName);
}

TEST(GraphBuilder, ImpossibleFieldsAreRefused) {
  GraphBuilder builder("g", "onnx");
  const auto code = [&](std::vector<int64_t> shape) {
    const Result<TensorId> id = builder.AddInput("x" + std::to_string(shape.size()),
                                                 TensorKind::kInput, DType::kF32, std::move(shape));
    return id.ok() ? ErrorCode::kInternal : id.error().code;
  };
  EXPECT_EQ(code({-1}), ErrorCode::kGraphShape);
  EXPECT_EQ(code({int64_t{1} << 40, int64_t{1} << 40}), ErrorCode::kField);
  EXPECT_EQ(code(std::vector<int64_t>(65, 1)), ErrorCode::kField);
  EXPECT_TRUE(builder
                  .AddInput("empty", TensorKind::kInput, DType::kF32,
                            {int64_t{1} << 60, int64_t{1} << 60, 0})
                  .ok());
  OpSpec op;
  op.name = "a";
  op.type = "Relu";
  op.writes = {0};
  EXPECT_EQ(builder.AddOp(op).error().code, ErrorCode::kField);
  op.writes.clear();
  op.outputs = {OutputSpec()};
  op.outputs[0].name = "a";
  op.outputs[0].alias = AliasKind::kView;
  op.outputs[0].alias_of = 0;
  EXPECT_EQ(builder.AddOp(op).error().code, ErrorCode::kField);
  EXPECT_EQ(
      builder.AddInput(std::string(20000, 'x'), TensorKind::kInput, DType::kF32, {}).error().code,
      ErrorCode::kField);
}

TEST(GraphBuilder, UnknownNamesComeWithNearOnes) {
  GraphBuilder builder("g", "onnx");
  ASSERT_TRUE(builder.AddInput("weight", TensorKind::kInput, DType::kF32, {1}).ok());
  const Result<TensorId> found = builder.Find("wieght");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kUnknownName);
  EXPECT_THAT(found.error().message, HasSubstr("did you mean weight?"));
}

// Ops in any order, as in cost graphs and ONNX.
class DeclaredGraph : public ::testing::Test {
 protected:
  TensorId Declare(const std::string& name) {
    return builder_.DeclareTensor(name, DType::kOpaque, {}, Bytes(8)).Take();
  }
  Status Op(const std::string& name, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    OpSpec spec;
    spec.name = name;
    spec.type = "costgraph";
    spec.inputs = std::move(inputs);
    return builder_.AddOpWithDeclaredOutputs(std::move(spec), std::move(outputs));
  }
  GraphBuilder builder_{"declared", "costgraph"};
};

TEST_F(DeclaredGraph, OpsInAnyOrderAreSorted) {
  const TensorId x = Declare("x"), y = Declare("y"), z = Declare("z");
  ASSERT_TRUE(Op("last", {y}, {z}).ok());
  ASSERT_TRUE(Op("middle", {x}, {y}).ok());
  ASSERT_TRUE(Op("first", {}, {x}).ok());
  const Graph graph = std::move(builder_).Build().Take();
  EXPECT_THAT(graph.topological_order(), ElementsAre(OpId(2), OpId(1), OpId(0)));
  // storage ids follow the order of declaration
  EXPECT_EQ(graph.tensor(x).storage, StorageId(0));
  EXPECT_EQ(graph.tensor(z).storage, StorageId(2));
  EXPECT_EQ(graph.storage(StorageId(1)).bytes, Bytes(8));
  EXPECT_EQ(graph.group_count(), 3u);
}

TEST_F(DeclaredGraph, ACycleNamesItsOps) {
  const TensorId x = Declare("x"), y = Declare("y"), z = Declare("z");
  ASSERT_TRUE(Op("a", {z}, {x}).ok());
  ASSERT_TRUE(Op("b", {x}, {y}).ok());
  ASSERT_TRUE(Op("c", {y}, {z}).ok());
  ASSERT_TRUE(Op("d", {z}, {}).ok());  // behind the cycle, not on it
  const Result<Graph> graph = std::move(builder_).Build();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::kGraphCycle);
  EXPECT_THAT(graph.error().message, HasSubstr("a -> b -> c -> a"));
}

TEST_F(DeclaredGraph, ALongCycleIsCutShort) {
  std::vector<TensorId> tensors;
  for (int i = 0; i < 100; ++i) tensors.push_back(Declare("t" + std::to_string(i)));
  for (size_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(Op("op" + std::to_string(i), {tensors[i]}, {tensors[(i + 1) % 100]}).ok());
  }
  const Result<Graph> graph = std::move(builder_).Build();
  ASSERT_FALSE(graph.ok());
  EXPECT_THAT(graph.error().message, HasSubstr("... (100 ops)"));
  EXPECT_LT(graph.error().message.size(), 200u);
}

TEST_F(DeclaredGraph, AnOpThatReadsItsOwnOutputIsACycle) {
  const TensorId x = Declare("x");
  ASSERT_TRUE(Op("a", {x}, {x}).ok());
  const Result<Graph> graph = std::move(builder_).Build();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::kGraphCycle);
}

TEST_F(DeclaredGraph, TwoProducersAndNoneAreErrors) {
  const TensorId x = Declare("x");
  Declare("orphan");
  ASSERT_TRUE(Op("a", {}, {x}).ok());
  EXPECT_EQ(Op("b", {}, {x}).error().code, ErrorCode::kDuplicateName);
  const TensorId input =
      builder_.AddInput("in", TensorKind::kInput, DType::kOpaque, {}, Bytes(1)).Take();
  EXPECT_EQ(Op("c", {}, {input}).error().code, ErrorCode::kDuplicateName);
  const Result<Graph> graph = std::move(builder_).Build();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, ErrorCode::kField);
  EXPECT_THAT(graph.error().place, HasSubstr("orphan"));
}

TEST(GraphBuilder, EmptyGraphsAreFine) {
  const Graph graph = TinyGraph().Build();
  EXPECT_EQ(graph.op_count(), 0u);
  EXPECT_THAT(graph.topological_order(), IsEmpty());
  EXPECT_FALSE(graph.FindOp("x").valid());
}

// w is read by `a`, which leads to the write by data, and by `b`, which does not.
TEST(Edges, OnlyOrderEdgesWithoutADataPathAreListed) {
  TinyGraph tiny;
  const TensorId w = tiny.Input("w", TensorKind::kParameter, {4});
  const TensorId a = tiny.Fresh("a", {w});
  const TensorId a1 = tiny.Fresh("a1", {a});
  tiny.Fresh("b", {w});
  tiny.InPlace("write", {w, a1});
  const Graph graph = tiny.Build();
  EXPECT_THAT(OrderText(graph), ElementsAre("a write WAR", "b write WAR"));
  const std::vector<OrderEdge> alone = OrderEdgesWithoutDataPath(graph, OrderKind::kWriteAfterRead);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(graph.op(alone[0].from).name, "b");
}

// 150 readers: more than the 64 that are followed at a time; every third leads to the write.
TEST(Edges, ManySourcesAreFollowedInBatches) {
  TinyGraph tiny;
  const TensorId w = tiny.Input("w", TensorKind::kParameter, {4});
  std::vector<TensorId> write_inputs{w};
  for (int i = 0; i < 150; ++i) {
    const TensorId read = tiny.Fresh("read" + std::to_string(i), {w});
    if (i % 3 == 0) write_inputs.push_back(tiny.Fresh("use" + std::to_string(i), {read}));
  }
  tiny.InPlace("write", write_inputs);
  const Graph graph = tiny.Build();
  EXPECT_EQ(graph.order_edges().size(), 150u);
  EXPECT_EQ(OrderEdgesWithoutDataPath(graph, OrderKind::kWriteAfterRead).size(), 100u);
}

}  // namespace
}  // namespace placewright
