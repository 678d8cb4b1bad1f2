#include "runtime/executor/executor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "aten/boxed_call.h"
#include "graph/graph_builder.h"
#include "runtime/executor/executable.h"

namespace placewright {
namespace {

// y = x w; w += x (in place); z = y w: z reads the new w, y the old one.
struct Small {
  Small() {
    GraphBuilder builder("small", "aten");
    x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {2, 2}).Take();
    w = builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {2, 2}).Take();
    const auto add = [&](std::string name, std::string type, std::vector<TensorId> inputs,
                         OutputSpec::Alias alias = OutputSpec::Alias::kFresh) {
      OpSpec op;
      op.name = name;
      op.type = std::move(type);
      op.args = {Value(InputRef{0}), Value(InputRef{1})};
      op.inputs = std::move(inputs);
      op.outputs = {{name, DType::kF32, {2, 2}, alias}};
      if (alias != OutputSpec::Alias::kFresh) op.outputs[0].alias_of = 0;
      return builder.AddOp(std::move(op)).Take().front();
    };
    const TensorId y = add("y", "aten.mm.default", {x, w});
    const TensorId grown = add("grown", "aten.add_.Tensor", {w, x}, OutputSpec::Alias::kInPlace);
    const TensorId z = add("z", "aten.mm.default", {y, grown});
    builder.SetOutputs({z, grown});
    graph = std::make_unique<Graph>(std::move(builder).Build().Take());
  }

  Result<std::unique_ptr<Executor>> On(std::vector<int32_t> devices,
                                       std::vector<int64_t> limits = {0, 0},
                                       const Sequences& sequences = {}) const {
    Placement placement;
    for (const int32_t device : devices) placement.push_back(DeviceId(device));
    std::vector<std::unique_ptr<RuntimeDevice>> simulated;
    for (size_t i = 0; i < limits.size(); ++i) {
      simulated.push_back(MakeSimulatedDevice({"sim:" + std::to_string(i), 1, limits[i]}));
    }
    ExecutorOptions options;
    options.sequences = sequences;
    return Executor::Create(*graph, placement, std::move(simulated), options);
  }

  TensorId x, w;
  std::unique_ptr<Graph> graph;
};

at::Tensor Square(float a, float b, float c, float d) {
  return at::tensor({a, b, c, d}).view({2, 2});
}

// x = [1 2; 3 4], w = [1 0; 0 1]: y = x, w becomes [2 2; 3 5], z = [8 12; 18 26]. In the next step y =
// [8 12; 18 26], w = [3 4; 6 9], z = [96 140; 210 306].
TEST(Executor, AWriteComesAfterAllReadersOfTheOldVersion) {
  const Small small;
  for (const std::vector<int32_t>& devices :
       {std::vector<int32_t>{0, 0, 0}, {1, 0, 0}, {0, 1, 1}, {1, 0, 1}, {0, 1, 0}}) {
    auto executor = small.On(devices).Take();
    ASSERT_TRUE(executor->SetInput(small.x, Square(1, 2, 3, 4)).ok());
    ASSERT_TRUE(executor->SetInput(small.w, Square(1, 0, 0, 1)).ok());
    ASSERT_TRUE(executor->Step().ok());
    EXPECT_TRUE(executor->Output(0).equal(Square(8, 12, 18, 26)));
    EXPECT_TRUE(executor->Output(1).equal(Square(2, 2, 3, 5)));
    ASSERT_TRUE(executor->Step().ok());
    EXPECT_TRUE(executor->Output(0).equal(Square(96, 140, 210, 306)));
    EXPECT_TRUE(executor->Input(small.w).equal(Square(3, 4, 6, 9)));
  }
}

// old = w x; w += x; fresh = w x, through the tensor that w has been all along, on another device than w's: its copies of
// the two versions are apart, as the new one may be there before the reader of the old one has run.
TEST(Executor, CopiesOfTwoVersionsAreApart) {
  GraphBuilder builder("versions", "aten");
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {2, 2}).Take();
  const TensorId w =
      builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {2, 2}).Take();
  std::vector<TensorId> made;
  for (const char* const name : {"old", "grown", "fresh"}) {
    const bool grows = name == std::string("grown");
    OpSpec op{.name = name, .type = grows ? "aten.add_.Tensor" : "aten.mm.default"};
    op.args = {Value(InputRef{0}), Value(InputRef{1})};
    op.inputs = {w, x};
    op.outputs = {{.name = name, .shape = {2, 2}}};
    if (grows) op.outputs[0].alias = AliasKind::kInPlace;
    if (grows) op.outputs[0].alias_of = 0;
    made.push_back(builder.AddOp(std::move(op)).Take()[0]);
  }
  builder.SetOutputs({made[0], made[2]});
  const Graph graph = std::move(builder).Build().Take();
  Placement placement(3, DeviceId(1));
  placement[OpId(1)] = DeviceId(0);
  const Executable executable =
      MakeExecutable(graph, placement, 2, IdVector<OpId, bool>(3, false)).Take();
  ASSERT_EQ(executable.copies.size(), 2U);
  const auto& before = executable.copies[CopyId(0)].made[0];
  const auto& behind = executable.copies[CopyId(1)].made[0];
  EXPECT_EQ(before.from, behind.from);
  EXPECT_NE(before.to, behind.to);

  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  for (const char* const name : {"sim:0", "sim:1"}) {
    devices.push_back(MakeSimulatedDevice({name, 1, 0}));
  }
  auto executor = Executor::Create(graph, placement, std::move(devices)).Take();
  ASSERT_TRUE(executor->SetInput(x, Square(1, 2, 3, 4)).ok());
  ASSERT_TRUE(executor->SetInput(w, Square(1, 0, 0, 1)).ok());
  ASSERT_TRUE(executor->Step().ok());
  EXPECT_TRUE(executor->Output(0).equal(Square(1, 2, 3, 4)));
  EXPECT_TRUE(executor->Output(1).equal(Square(8, 12, 18, 26)));
}

// z needs y and the new w: only the second list can be followed. On one device the order of y and the
// write is left to no list, since y reads the old w.
TEST(Executor, FollowsGivenSequencesOrRefusesThem) {
  const Small small;
  const auto listed = [](std::vector<OpId> ops) {
    Sequences sequences(2);
    sequences[DeviceId(0)] = std::move(ops);
    return sequences;
  };
  const auto refused = small.On({0, 1, 0}, {0, 0}, listed({OpId(2), OpId(0)}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kPlanInvalid);
  EXPECT_NE(refused.error().place.find("op "), std::string::npos);
  auto executor = small.On({0, 1, 0}, {0, 0}, listed({OpId(0), OpId(2)})).Take();
  ASSERT_TRUE(executor->SetInput(small.x, Square(1, 2, 3, 4)).ok());
  ASSERT_TRUE(executor->SetInput(small.w, Square(1, 0, 0, 1)).ok());
  ASSERT_TRUE(executor->Step().ok());
  EXPECT_TRUE(executor->Output(0).equal(Square(8, 12, 18, 26)));
}

// Ops that nothing orders run in the order of their list, not in that of their ids.
TEST(Executor, ASequenceComesBeforeThePolicy) {
  GraphBuilder builder("row", "aten");
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {2, 2}).Take();
  std::vector<TensorId> outputs;
  for (const char* name : {"a", "b", "c", "d"}) {
    OpSpec op{.name = name, .type = "aten.mm.default"};
    op.args = {Value(InputRef{0}), Value(InputRef{1})};
    op.inputs = {x, x};
    op.outputs = {{.name = name, .shape = {2, 2}}};
    outputs.push_back(builder.AddOp(op).Take()[0]);
  }
  builder.SetOutputs(outputs);
  const Graph graph = std::move(builder).Build().Take();
  const std::vector<OpId> order = {OpId(2), OpId(0), OpId(3), OpId(1)};
  ExecutorOptions options;
  options.sequences = Sequences(1);
  options.sequences[DeviceId(0)] = order;
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  devices.push_back(MakeSimulatedDevice({"sim:0", 1, 0}));
  auto executor =
      Executor::Create(graph, Placement(4, DeviceId(0)), std::move(devices), options).Take();
  ASSERT_TRUE(executor->SetInput(x, Square(1, 2, 3, 4)).ok());
  ASSERT_TRUE(executor->Step().ok());
  const Schedule schedule = executor->LastSchedule();
  for (size_t i = 1; i < order.size(); ++i) {
    EXPECT_GE(schedule.ops[order[i]].start, schedule.ops[order[i - 1]].end);
  }
}

// A tensor of 16 bytes for x, w, y and z each; y leaves when z has been made.
TEST(Executor, CountsMemoryByDevice) {
  const Small small;
  auto executor = small.On({0, 1, 0}).Take();
  ASSERT_TRUE(executor->SetInput(small.x, Square(1, 2, 3, 4)).ok());
  ASSERT_TRUE(executor->SetInput(small.w, Square(1, 0, 0, 1)).ok());
  ASSERT_TRUE(executor->Step().ok());
  // x, y, z, and two versions of w one after the other, or both.
  EXPECT_EQ(executor->device(DeviceId(0)).memory().used(), 32);  // x and z
  EXPECT_GE(executor->device(DeviceId(0)).memory().peak(), 64);
  EXPECT_LE(executor->device(DeviceId(0)).memory().peak(), 80);
  EXPECT_EQ(executor->device(DeviceId(1)).memory().used(), 32);  // w and x
}

TEST(Executor, ADeviceWithoutRoomEndsTheStep) {
  const Small small;
  auto executor = small.On({0, 1, 0}, {48, 1000}).Take();
  for (int i = 0; i < 2; ++i) {  // and it can be tried again
    ASSERT_TRUE(executor->SetInput(small.x, Square(1, 2, 3, 4)).ok());
    ASSERT_TRUE(executor->SetInput(small.w, Square(1, 0, 0, 1)).ok());
    const Status full = executor->Step();
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().code, ErrorCode::kDeviceMemory);
    EXPECT_NE(full.error().message.find("sim:0"), std::string::npos) << full.error().ToString();
  }
  auto tiny = small.On({0, 1, 0}, {8, 1000}).Take();
  EXPECT_EQ(tiny->SetInput(small.x, Square(1, 2, 3, 4)).error().code, ErrorCode::kDeviceMemory);
}

TEST(Executor, InputsOfOtherShapesAreRefused) {
  const Small small;
  auto executor = small.On({0, 0, 0}).Take();
  EXPECT_EQ(executor->SetInput(small.x, at::zeros({2, 3})).error().code, ErrorCode::kField);
  EXPECT_EQ(executor->SetInput(small.x, at::zeros({2, 2}, at::kLong)).error().code,
            ErrorCode::kField);
}

// What makes tensors from nothing makes them on its device, whatever was recorded.
TEST(BoxedCall, MakesOnTheDeviceThatItIsGiven) {
  for (const Value& stated : {Value("cpu"), Value("cuda:0"), Value()}) {
    Op op;
    op.name = "zeros";
    op.type = "aten.zeros.default";
    op.args = {Value(Value::List{Value(int64_t{2})})};
    op.attributes = {{"device", stated}};
    BoxedCall call = BoxedCall::Create(op).Take();
    call.SetDevice(c10::Device("meta"));
    std::vector<at::Tensor> made;
    call.Run({}, {}, made);
    ASSERT_EQ(made.size(), 1u);
    EXPECT_TRUE(made[0].is_meta());
  }
}

// The kernels of group norms refuse tensors that lie in another order, as parts of a step may.
TEST(BoxedCall, GroupNormsTakeAnyOrder) {
  const at::Tensor x = at::randn({2, 3, 4, 2}).transpose(1, 2);
  ASSERT_FALSE(x.is_contiguous());
  const std::vector<at::Tensor> tensors = {x, at::ones({4}), at::zeros({4})};
  const std::vector<int32_t> place = {0, 1, 2};
  Op op;
  op.name = "norm";
  op.type = "aten.native_group_norm.default";
  op.inputs = {TensorId(0), TensorId(1), TensorId(2)};
  op.args = {Value(InputRef{0}), Value(InputRef{1}), Value(InputRef{2}), Value(int64_t{2}),
             Value(int64_t{4}),  Value(int64_t{6}),  Value(int64_t{2}),  Value(1e-5)};
  std::vector<at::Tensor> made;
  BoxedCall::Create(op).Take().Run(tensors, place, made);
  EXPECT_TRUE(at::allclose(made.at(0), at::group_norm(x, 2, tensors[1], tensors[2], 1e-5)));
}

// What reads tensors stays where they are, as long as the op names no device.
TEST(BoxedCall, FollowsItsTensors) {
  const std::vector<at::Tensor> tensors = {at::ones({2})};
  const std::vector<int32_t> place = {0};
  for (const bool named : {false, true}) {
    Op op;
    op.name = "copy";
    op.type = "aten._to_copy.default";
    op.args = {Value(InputRef{0})};
    op.inputs = {TensorId(0)};
    if (named) op.attributes = {{"device", Value("cpu")}};
    BoxedCall call = BoxedCall::Create(op).Take();
    call.SetDevice(c10::Device("meta"));
    std::vector<at::Tensor> made;
    call.Run(tensors, place, made);
    EXPECT_EQ(made.at(0).is_meta(), named);
  }
}

// x [1 2 3] of a permuted tensor is said to be transposed and seen as [2 3]; a caller gives it contiguous. Nothing is
// written there later, so the view is a copy, and counted.
TEST(Executor, ViewsThatDoNotFitAreCopies) {
  for (const bool written : {false, true}) {
    GraphBuilder builder("views", "aten");
    const TensorId x =
        builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {2, 4, 3}).Take();
    const auto add = [&](const char* name, const char* type, TensorId input,
                         std::vector<int64_t> shape, AliasKind alias, std::vector<Value> more) {
      OpSpec op{.name = name, .type = type, .inputs = {input}, .args = {Value(InputRef{0})}};
      op.args.insert(op.args.end(), more.begin(), more.end());
      op.outputs = {{.name = name, .shape = std::move(shape), .alias = alias}};
      if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
      return builder.AddOp(std::move(op)).Take()[0];
    };
    const TensorId y = add("y", "aten.neg.default", x, {2, 4, 3}, AliasKind::kFresh, {});
    const TensorId turned = add("turned", "aten.transpose.int", y, {4, 2, 3}, AliasKind::kView,
                                {Value(int64_t{0}), Value(int64_t{1})});
    TensorId seen = add("seen", "aten.view.default", turned, {8, 3}, AliasKind::kView,
                        {Value(Value::List{Value(int64_t{8}), Value(int64_t{3})})});
    if (written) seen = add("out", "aten.neg_.default", seen, {8, 3}, AliasKind::kInPlace, {});
    builder.SetOutputs({seen});
    const Graph graph = std::move(builder).Build().Take();
    std::vector<std::unique_ptr<RuntimeDevice>> devices;
    devices.push_back(MakeSimulatedDevice({"d", 1, 0}));
    auto executor =
        Executor::Create(graph, Placement(graph.op_count(), DeviceId(0)), std::move(devices))
            .Take();
    const at::Tensor value = at::arange(24, at::kFloat).view({2, 4, 3});
    ASSERT_TRUE(executor->SetInput(x, value).ok());
    const Status ran = executor->Step();
    EXPECT_EQ(ran.ok(), !written);
    if (written) continue;
    EXPECT_TRUE(executor->Output(0).equal(-value.transpose(0, 1).reshape({8, 3})));
    EXPECT_EQ(executor->LastCopiedViews().views, 1);
    EXPECT_EQ(executor->LastCopiedViews().bytes, 24 * 4);
    // As the step expects it.
    ASSERT_TRUE(executor->SetInput(x, value.transpose(0, 1).contiguous().transpose(0, 1)).ok());
    ASSERT_TRUE(executor->Step().ok());
    EXPECT_EQ(executor->LastCopiedViews().views, 0);
  }
}

}  // namespace
}  // namespace placewright
