// What a small step becomes, op by op.
#include "compile/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "cluster/cluster_builder.h"
#include "cost/cost_model.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// y = x w, and with the gradient g of y: w += x' g. x [4 3], w [3 2].
struct Step {
  Step() {
    GraphBuilder builder("step", "aten");
    builder.set_batch(4);
    const auto input = [&](const char* name, TensorKind kind, std::vector<int64_t> shape) {
      return builder.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
    };
    const TensorId x = input("input:x", TensorKind::kInput, {4, 3});
    const TensorId g = input("input:g", TensorKind::kInput, {4, 2});
    const TensorId w = input("param:w", TensorKind::kParameter, {3, 2});
    const auto add = [&](std::string name, std::string type, std::vector<TensorId> inputs,
                         std::vector<int64_t> shape, Phase phase,
                         AliasKind alias = AliasKind::kFresh) {
      OpSpec op{.name = name, .type = std::move(type), .phase = phase};
      for (size_t i = 0; i < inputs.size(); ++i) {
        op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
      }
      op.inputs = std::move(inputs);
      op.outputs = {{.name = name, .shape = std::move(shape), .alias = alias}};
      if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
      return builder.AddOp(std::move(op)).Take()[0];
    };
    const TensorId y = add("y", "aten.mm.default", {x, w}, {4, 2}, Phase::kForward);
    const TensorId t = add("t", "aten.t.default", {x}, {3, 4}, Phase::kBackward, AliasKind::kView);
    const TensorId gw = add("gw", "aten.mm.default", {t, g}, {3, 2}, Phase::kBackward);
    const TensorId w1 =
        add("w1", "aten.add_.Tensor", {w, gw}, {3, 2}, Phase::kOptimizer, AliasKind::kInPlace);
    builder.SetOutputs({y, w1});
    graph = std::make_unique<Graph>(std::move(builder).Build().Take());
    axes = std::make_unique<NamedAxes>(*graph);
    ClusterBuilder devices("two");
    const int32_t kind = devices.AddKind({.name = "K"}).Take();
    for (const char* name : {"a", "b", "c"}) {
      (void)devices.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
    }
    cluster = std::make_unique<Cluster>(std::move(devices).Build().Take());
  }

  // One layout for all.
  Result<DistributedStep> CompileWith(Layout layout, CompileOptions options = {}) const {
    Layouts layouts;
    layouts.layouts.push_back(std::move(layout));
    layouts.of_group = IdVector<GroupId, LayoutId>(graph->group_count(), LayoutId(0));
    return Compile(*graph, *axes, layouts, *cluster, options);
  }

  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
  std::unique_ptr<Cluster> cluster;
};

// "name = type(inputs) [shape] on device"
std::string Lines(const DistributedStep& step, const Cluster& cluster) {
  std::string text;
  for (const OpId id : step.graph.ops()) {
    const Op& op = step.graph.op(id);
    text += op.name + " = " + std::string(op.type) + "(";
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      text += (i ? ", " : "") + step.graph.tensor(op.inputs[i]).name;
    }
    text += ") [";
    for (const TensorId output : op.outputs) {
      for (const int64_t size : step.graph.tensor(output).shape) {
        text += (text.back() == '[' ? "" : " ") + std::to_string(size);
      }
    }
    text += "] on " + cluster.device(step.placement[id]).name + "\n";
  }
  return text;
}

// Without views, which cost nothing.
std::string LinesOn(const char* device, const DistributedStep& step, const Cluster& cluster) {
  std::string lines;
  for (const OpId id : step.graph.ops()) {
    const Op& op = step.graph.op(id);
    if (op.is_view || cluster.device(step.placement[id]).name != device) continue;
    lines += op.name + " = " + std::string(op.type) + "\n";
  }
  return lines;
}

// The axis of the samples: nothing proves the batch here.
constexpr const char* kSamples = "input:x[0]";

TEST(Compiler, DataParallelismIsASplitOfTheSamples) {
  const Step step;
  const DistributedStep made =
      step.CompileWith(SplitOver(step.axes->Find(kSamples), {DeviceId(0), DeviceId(1)}, {1, 3}))
          .Take();
  EXPECT_EQ(Lines(made, *step.cluster),
            "y@a = aten.mm.default(input:x[0:0-1], param:w@a) [1 2] on a\n"
            "y@b = aten.mm.default(input:x[0:1-4], param:w@b) [3 2] on b\n"
            "t@a = aten.t.default(input:x[0:0-1]) [3 1] on a\n"
            "t@b = aten.t.default(input:x[0:1-4]) [3 3] on b\n"
            "gw@a = aten.mm.default(t@a, input:g[0:0-1]) [3 2] on a\n"
            "gw@b = aten.mm.default(t@b, input:g[0:1-4]) [3 2] on b\n"
            "gw.all_reduce@a = placewright.all_reduce.default(gw@a) [3 2] on a\n"
            "gw.all_reduce@b = placewright.all_reduce.default(gw@b) [3 2] on b\n"
            "w1@a = aten.add_.Tensor(param:w@a, gw.all_reduce@a) [3 2] on a\n"
            "w1@b = aten.add_.Tensor(param:w@b, gw.all_reduce@b) [3 2] on b\n");
  ASSERT_EQ(made.graph.collective_count(), 1u);
  EXPECT_EQ(made.inputs.size(), 8u);  // x and g whole and in two parts each, w on both
}

// w, 24 bytes, lies on a and b, and c computes y with it. From a it takes `latency` + 24 bytes at `bandwidth`, from b
// 2 us + 24 ns.
std::string WeightReadOverRoutes(Nanos latency, BytesPerSecond bandwidth) {
  const Step step;
  ClusterBuilder devices("routes");
  const int32_t kind = devices.AddKind({.name = "K"}).Take();
  for (const char* name : {"a", "b", "c"}) {
    (void)devices.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
  }
  const BytesPerSecond fast(1'000'000'000);
  EXPECT_TRUE(devices.Connect("a", "c", bandwidth, latency, Duplex::kFull, "stated").ok());
  EXPECT_TRUE(devices.Connect("b", "c", fast, Nanos(2000), Duplex::kFull, "stated").ok());
  const Cluster cluster = std::move(devices).Build().Take();
  Layouts layouts;
  layouts.layouts = {CopiesOn({DeviceId(0), DeviceId(1)}), PlacedOn(DeviceId(2))};
  layouts.of_group = IdVector<GroupId, LayoutId>(step.graph->group_count(), LayoutId(0));
  const OpId y = step.graph->FindOp("y");
  layouts.of_group[step.graph->group(y)] = LayoutId(1);
  const DistributedStep made = Compile(*step.graph, *step.axes, layouts, cluster).Take();
  return made.graph.tensor(made.graph.op(made.graph.FindOp("y")).inputs[1]).name;
}

TEST(Compiler, OfSeveralCopiesTheNearestIsRead) {
  const BytesPerSecond fast(1'000'000'000);
  EXPECT_EQ(WeightReadOverRoutes(Nanos(1999), fast), "param:w@a");
  EXPECT_EQ(WeightReadOverRoutes(Nanos(2000), fast), "param:w@a");  // equal: the first
  EXPECT_EQ(WeightReadOverRoutes(Nanos(2001), fast), "param:w@b");
  // 24 bytes at 12 MB/s are 2000 ns, 24 ns less than from b; at 11 MB/s 2182 ns.
  EXPECT_EQ(WeightReadOverRoutes(Nanos(0), BytesPerSecond(12'000'000)), "param:w@a");
  EXPECT_EQ(WeightReadOverRoutes(Nanos(0), BytesPerSecond(11'000'000)), "param:w@b");
}

// Two gradients that are there before the first is read are reduced as one buffer, in the order in which they
// are ready; one that would make the bucket too large stays alone.
TEST(Compiler, ReductionsJoinInBuckets) {
  GraphBuilder builder("two", "aten");
  const auto op = [&](std::string name, std::string type, std::vector<TensorId> inputs,
                      std::vector<int64_t> shape, AliasKind alias = AliasKind::kFresh) {
    const Phase phase = alias == AliasKind::kFresh ? Phase::kBackward : Phase::kOptimizer;
    OpSpec spec{.name = name, .type = std::move(type), .phase = phase};
    for (size_t i = 0; i < inputs.size(); ++i) {
      spec.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    spec.inputs = std::move(inputs);
    spec.outputs = {
        {.name = name, .dtype = DType::kF32, .shape = std::move(shape), .alias = alias}};
    if (alias != AliasKind::kFresh) spec.outputs[0].alias_of = 0;
    return builder.AddOp(std::move(spec)).Take()[0];
  };
  const auto input = [&](const char* name, TensorKind kind, std::vector<int64_t> shape) {
    return builder.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
  };
  const TensorId x = input("input:x", TensorKind::kInput, {3, 4});
  const TensorId g = input("input:g", TensorKind::kInput, {4, 2});
  const TensorId w = input("param:w", TensorKind::kParameter, {3, 2});
  const TensorId v = input("param:v", TensorKind::kParameter, {3, 2});
  const TensorId gw = op("gw", "aten.mm.default", {x, g}, {3, 2});
  const TensorId gv = op("gv", "aten.mm.default", {x, g}, {3, 2});
  builder.SetOutputs({op("v1", "aten.add_.Tensor", {v, gv}, {3, 2}, AliasKind::kInPlace),
                      op("w1", "aten.add_.Tensor", {w, gw}, {3, 2}, AliasKind::kInPlace)});
  const Graph graph = std::move(builder).Build().Take();
  const NamedAxes axes(graph);
  const Step other;
  Layouts layouts;
  layouts.layouts.push_back(SplitOver(axes.Find("input:x[1]"), {DeviceId(0), DeviceId(1)}, {1, 3}));
  layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  CompileOptions options;
  options.switches.fusion = Bytes(48);
  const DistributedStep made = Compile(graph, axes, layouts, *other.cluster, options).Take();
  EXPECT_EQ(LinesOn("b", made, *other.cluster),
            "gw@b = aten.mm.default\n"
            "gv@b = aten.mm.default\n"
            "gw.all_reduce@b.pack = placewright.pack.default\n"
            "gw.all_reduce@b.fused = placewright.all_reduce.default\n"
            "v1@b = aten.add_.Tensor\n"
            "w1@b = aten.add_.Tensor\n");
  ASSERT_EQ(made.graph.collective_count(), 1u);
  EXPECT_THAT(Lines(made, *other.cluster),
              HasSubstr("placewright.all_reduce.default(gw.all_reduce@b.pack) [12] on b"));
  options.switches.fusion = Bytes(47);
  EXPECT_EQ(Compile(graph, axes, layouts, *other.cluster, options).Take().graph.collective_count(),
            2u);
}

// A parameter on one device, readers elsewhere: what a parameter server does.
TEST(Compiler, PartialSumsAreAddedWhereTheyAreWanted) {
  const Step step;
  Layouts layouts;
  layouts.layouts = {SplitOver(step.axes->Find(kSamples), {DeviceId(0), DeviceId(1)}, {2, 2}),
                     PlacedOn(DeviceId(2))};
  layouts.of_group = IdVector<GroupId, LayoutId>(step.graph->group_count(), LayoutId(0));
  layouts.of_group[step.graph->group(step.graph->FindOp("w1"))] = LayoutId(1);
  CompileOptions options;
  options.switches.broadcasts = false;
  DistributedStep made = Compile(*step.graph, *step.axes, layouts, *step.cluster, options).Take();
  std::string lines = Lines(made, *step.cluster);
  EXPECT_THAT(lines, HasSubstr("y@b = aten.mm.default(input:x[0:2-4], param:w) [2 2] on b\n"));
  EXPECT_EQ(made.graph.collective_count(), 0u);
  EXPECT_THAT(lines, HasSubstr("gw.add_n@c = placewright.add_n.default(gw@a, gw@b) [3 2] on c\n"
                               "w1 = aten.add_.Tensor(param:w, gw.add_n@c) [3 2] on c\n"));
  made = Compile(*step.graph, *step.axes, layouts, *step.cluster).Take();
  lines = Lines(made, *step.cluster);
  EXPECT_THAT(
      lines, StartsWith("param:w.broadcast@c = placewright.broadcast.default(param:w) [] on c\n"
                        "param:w.broadcast@a = placewright.broadcast.default() [3 2] on a\n"
                        "param:w.broadcast@b = placewright.broadcast.default() [3 2] on b\n"
                        "y@a = aten.mm.default(input:x[0:0-2], param:w.broadcast@a) [2 2] on a\n"));
  EXPECT_EQ(made.graph.collective_count(), 1u);
  // What is wanted on one other device crosses alone.
  layouts.layouts[0].shares[1].device = DeviceId(2);
  made = Compile(*step.graph, *step.axes, layouts, *step.cluster).Take();
  EXPECT_EQ(made.graph.collective_count(), 0u);
}

// t = w' beside w on c; y = x t and v = y w on a and b: what w holds crosses once, and t is made of it.
TEST(Compiler, WhatIsBroadcastIsViewedWhereItIs) {
  GraphBuilder builder("views", "aten");
  const TensorId x = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {4, 2}).Take();
  const TensorId w =
      builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {3, 2}).Take();
  const auto add = [&](const char* name, const char* type, std::vector<TensorId> inputs,
                       std::vector<int64_t> shape, AliasKind alias = AliasKind::kFresh) {
    OpSpec op{.name = name, .type = type};
    op.args = inputs.size() == 1 ? std::vector<Value>{Value(InputRef{0})}
                                 : std::vector<Value>{Value(InputRef{0}), Value(InputRef{1})};
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = std::move(shape), .alias = alias}};
    if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
    return builder.AddOp(std::move(op)).Take()[0];
  };
  const TensorId t = add("t", "aten.t.default", {w}, {2, 3}, AliasKind::kView);
  const TensorId y = add("y", "aten.mm.default", {x, t}, {4, 3});
  builder.SetOutputs({add("v", "aten.mm.default", {y, w}, {4, 2})});
  const Graph graph = std::move(builder).Build().Take();
  const NamedAxes axes(graph);
  const Step other;
  Layouts layouts;
  layouts.layouts = {SplitOver(axes.Find(kSamples), {DeviceId(0), DeviceId(1)}, {2, 2}),
                     PlacedOn(DeviceId(2))};
  layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  layouts.of_group[graph.group(graph.FindOp("t"))] = LayoutId(1);
  const DistributedStep made = Compile(graph, axes, layouts, *other.cluster).Take();
  EXPECT_EQ(Lines(made, *other.cluster),
            "t = aten.t.default(param:w) [2 3] on c\n"
            "param:w.broadcast@c = placewright.broadcast.default(param:w) [] on c\n"
            "param:w.broadcast@a = placewright.broadcast.default() [3 2] on a\n"
            "param:w.broadcast@b = placewright.broadcast.default() [3 2] on b\n"
            "t@a = aten.t.default(param:w.broadcast@a) [2 3] on a\n"
            "t@b = aten.t.default(param:w.broadcast@b) [2 3] on b\n"
            "y@a = aten.mm.default(input:x[0:0-2], t@a) [2 3] on a\n"
            "y@b = aten.mm.default(input:x[0:2-4], t@b) [2 3] on b\n"
            "v@a = aten.mm.default(y@a, param:w.broadcast@a) [2 2] on a\n"
            "v@b = aten.mm.default(y@b, param:w.broadcast@b) [2 2] on b\n");
  EXPECT_EQ(made.origin[made.graph.FindOp("t@b")], graph.FindOp("t"));
}

// Gradients of parts of the samples, an update of parts of the columns, on the same devices.
TEST(Compiler, ASumThatIsWantedInPartsIsScattered) {
  const Step step;
  Layouts layouts;
  layouts.layouts = {SplitOver(step.axes->Find(kSamples), {DeviceId(0), DeviceId(1)}, {2, 2}),
                     SplitOver(step.axes->Find("input:g[1]"), {DeviceId(1), DeviceId(0)}, {1, 1})};
  layouts.of_group = IdVector<GroupId, LayoutId>(step.graph->group_count(), LayoutId(0));
  layouts.of_group[step.graph->group(step.graph->FindOp("w1"))] = LayoutId(1);
  CompileOptions options;
  DistributedStep made = Compile(*step.graph, *step.axes, layouts, *step.cluster, options).Take();
  EXPECT_THAT(
      Lines(made, *step.cluster),
      HasSubstr("gw.reduce_scatter@a = placewright.reduce_scatter.default(gw@a) [3 1] on a\n"
                "gw.reduce_scatter@b = placewright.reduce_scatter.default(gw@b) [3 1] on b\n"
                "w1@b = aten.add_.Tensor(param:w@b, gw.reduce_scatter@b) [3 1] on b\n"
                "w1@a = aten.add_.Tensor(param:w@a, gw.reduce_scatter@a) [3 1] on a\n"));
  // Members are in the order of the sum's pieces; which part each gets is for the reader to say.
  const std::vector<Value>& args = made.graph.op(made.graph.FindOp("gw.reduce_scatter@a")).args;
  const std::vector<int64_t> stated = {1, 1, 2, 1, 2};  // dimension, outer, size, from, to
  ASSERT_EQ(args.size(), 1 + stated.size());
  for (size_t i = 0; i < stated.size(); ++i) EXPECT_EQ(*args[i + 1].AsInt(), stated[i]) << i;
  // On other devices, or without collectives, every device fetches the parts that it adds.
  options.collectives = false;
  made = Compile(*step.graph, *step.axes, layouts, *step.cluster, options).Take();
  EXPECT_EQ(made.graph.collective_count(), 0u);
  layouts.layouts[1].shares[0].device = DeviceId(1);
  layouts.layouts[1].shares[1].device = DeviceId(2);
  made = Compile(*step.graph, *step.axes, layouts, *step.cluster).Take();
  EXPECT_THAT(Lines(made, *step.cluster),
              HasSubstr("w1@c = aten.add_.Tensor(param:w@c, gw.split.add_n@c) [3 1] on c\n"));
}

// The columns of w: its gradient's, too, so that nothing has to be summed.
TEST(Compiler, ASplitOfAWeightNeedsNoSum) {
  const Step step;
  const DistributedStep made =
      step.CompileWith(SplitOver(step.axes->Find("input:g[1]"), {DeviceId(0), DeviceId(1)}, {1, 1}))
          .Take();
  const std::string lines = Lines(made, *step.cluster);
  EXPECT_EQ(made.graph.collective_count(), 0u) << lines;
  EXPECT_THAT(lines, HasSubstr("w1@b = aten.add_.Tensor(param:w@b, gw@b) [3 1] on b\n"));
}

// One device: the step itself.
TEST(Compiler, APlacementIsTheSimplestLayout) {
  const Step step;
  const DistributedStep made = step.CompileWith(PlacedOn(DeviceId(1))).Take();
  ASSERT_EQ(made.graph.op_count(), step.graph->op_count());
  for (const OpId op : made.graph.ops()) {
    EXPECT_EQ(made.graph.op(op).name, step.graph->op(op).name);
    EXPECT_EQ(made.origin[op], op);
    EXPECT_EQ(made.placement[op], DeviceId(1));
  }
}

// p *= 0.9; r = 1 - p, by which all of four parameters are updated. Where b updates one of them alone, its copy of r
// serves this one, but p, which both copies read, lies with a.
TEST(Compiler, WhatAllUpdatesShareIsApartFromTheOneThatADeviceHas) {
  GraphBuilder builder("shared", "aten");
  const auto add = [&](const std::string& name, std::string type, std::vector<TensorId> inputs,
                       AliasKind alias) {
    OpSpec op{.name = name, .type = std::move(type), .phase = Phase::kOptimizer};
    for (size_t i = 0; i < inputs.size(); ++i) {
      op.args.push_back(Value(InputRef{static_cast<int32_t>(i)}));
    }
    if (inputs.size() == 1) op.args.push_back(Value(0.9));
    op.inputs = std::move(inputs);
    op.outputs = {{.name = name, .shape = {}, .alias = alias}};
    if (alias != AliasKind::kFresh) op.outputs[0].alias_of = 0;
    return builder.AddOp(std::move(op)).Take()[0];
  };
  const TensorId power =
      builder.AddInput("opt_state:power", TensorKind::kOptimizerState, DType::kF32, {}).Take();
  const TensorId p = add("p", "aten.mul_.Scalar", {power}, AliasKind::kInPlace);
  const TensorId r = add("r", "aten.rsub.Scalar", {p}, AliasKind::kFresh);
  std::vector<TensorId> outputs;
  for (const char* const name : {"w0", "w1", "w2", "w3"}) {
    const TensorId weight =
        builder.AddInput(std::string("param:") + name, TensorKind::kParameter, DType::kF32, {})
            .Take();
    outputs.push_back(add(name, "aten.sub_.Tensor", {weight, r}, AliasKind::kInPlace));
  }
  builder.SetOutputs(std::move(outputs));
  const Graph graph = std::move(builder).Build().Take();
  const NamedAxes axes(graph);
  const Step other;
  Layouts layouts;
  layouts.layouts = {PlacedOn(DeviceId(0)), CopiesOn({DeviceId(0), DeviceId(1)}),
                     PlacedOn(DeviceId(1))};
  layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  layouts.of_group[graph.group(graph.FindOp("r"))] = LayoutId(1);
  layouts.of_group[graph.group(graph.FindOp("w0"))] = LayoutId(2);
  const DistributedStep made = Compile(graph, axes, layouts, *other.cluster).Take();
  IdVector<GroupId, DeviceId> of_group(made.graph.group_count());
  for (const OpId op : made.graph.ops()) {
    DeviceId& device = of_group[made.graph.group(op)];
    if (!device.valid()) device = made.placement[op];
    EXPECT_EQ(device, made.placement[op]) << made.graph.op(op).name;
  }
}

// The product of the rows of w needs all of it; what is written are the pieces, not what was gathered.
TEST(Compiler, PiecesAreWrittenThoughAllWasGathered) {
  GraphBuilder builder("gathered", "aten");
  const TensorId w =
      builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {4, 2}).Take();
  OpSpec product{.name = "y", .type = "aten.cumprod.default"};
  product.inputs = {w};
  product.args = {Value(InputRef{0}), Value(int64_t{0})};
  product.outputs = {{.name = "y", .shape = {4, 2}}};
  (void)builder.AddOp(std::move(product)).Take();
  OpSpec add{.name = "w1", .type = "aten.add_.Tensor"};
  add.inputs = {w, w};
  add.args = {Value(InputRef{0}), Value(InputRef{1})};
  add.outputs = {{.name = "w1", .shape = {4, 2}, .alias = AliasKind::kInPlace, .alias_of = 0}};
  builder.SetOutputs({builder.AddOp(std::move(add)).Take()[0]});
  const Graph graph = std::move(builder).Build().Take();
  const NamedAxes axes(graph);
  const Step other;
  Layouts layouts;
  layouts.layouts.push_back(SplitOver(axes.Find("param:w[0]"), {DeviceId(0), DeviceId(1)}, {1, 3}));
  layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  const DistributedStep made = Compile(graph, axes, layouts, *other.cluster).Take();
  EXPECT_EQ(Lines(made, *other.cluster),
            "param:w.all_gather@a = placewright.all_gather.default(param:w@a) [4 2] on a\n"
            "param:w.all_gather@b = placewright.all_gather.default(param:w@b) [4 2] on b\n"
            "y@a = aten.cumprod.default(param:w.all_gather@a) [4 2] on a\n"
            "y@b = aten.cumprod.default(param:w.all_gather@b) [4 2] on b\n"
            "w1@a = aten.add_.Tensor(param:w@a, param:w@a) [1 2] on a\n"
            "w1@b = aten.add_.Tensor(param:w@b, param:w@b) [3 2] on b\n");
}

// y = batch norm of x [6 2 3] with running statistics, and its backward.
struct NormStep {
  NormStep() {
    GraphBuilder builder("norm", "aten");
    builder.set_batch(6);
    std::vector<TensorId> inputs;
    const auto input = [&](const char* name, TensorKind kind, std::vector<int64_t> shape) {
      inputs.push_back(builder.AddInput(name, kind, DType::kF32, std::move(shape)).Take());
    };
    input("input:x", TensorKind::kInput, {6, 2, 3});
    input("param:w", TensorKind::kParameter, {2});
    input("param:b", TensorKind::kParameter, {2});
    input("buffer:m", TensorKind::kBuffer, {2});
    input("buffer:v", TensorKind::kBuffer, {2});
    input("input:g", TensorKind::kInput, {6, 2, 3});
    const auto reference = [](int32_t i) { return Value(InputRef{i}); };
    OpSpec norm{.name = "bn", .type = "aten.native_batch_norm.default"};
    norm.inputs = {inputs.begin(), inputs.begin() + 5};
    for (int32_t i = 0; i < 5; ++i) norm.args.push_back(reference(i));
    norm.args.insert(norm.args.end(), {Value(true), Value(0.25), Value(1e-5)});
    norm.outputs = {{.name = "y", .shape = {6, 2, 3}},
                    {.name = "mean", .shape = {2}},
                    {.name = "invstd", .shape = {2}}};
    norm.writes = {3, 4};
    const std::vector<TensorId> made = builder.AddOp(std::move(norm)).Take();
    OpSpec back{.name = "back", .type = "aten.native_batch_norm_backward.default"};
    back.phase = Phase::kBackward;
    back.inputs = {inputs[5], inputs[0], inputs[1], inputs[3], inputs[4], made[1], made[2]};
    for (int32_t i = 0; i < 7; ++i) back.args.push_back(reference(i));
    back.args.insert(back.args.end(), {Value(true), Value(1e-5),
                                       Value(Value::List{Value(true), Value(true), Value(true)})});
    back.outputs = {{.name = "gx", .shape = {6, 2, 3}},
                    {.name = "gw", .shape = {2}},
                    {.name = "gb", .shape = {2}}};
    const std::vector<TensorId> grads = builder.AddOp(std::move(back)).Take();
    builder.SetOutputs({made[0], grads[0], grads[1], grads[2]});
    graph = std::make_unique<Graph>(std::move(builder).Build().Take());
    axes = std::make_unique<NamedAxes>(*graph);
  }

  DistributedStep CompileWith(const CompileOptions& options) const {
    Layouts layouts;
    layouts.layouts.push_back(
        SplitOver(axes->Find("input:x[0]"), {DeviceId(0), DeviceId(1)}, {2, 4}));
    layouts.of_group = IdVector<GroupId, LayoutId>(graph->group_count(), LayoutId(0));
    return Compile(*graph, *axes, layouts, *devices.cluster, options).Take();
  }

  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
  Step devices;
};

// One AllGather of [mean, variance, share], one AllReduce of both sums.
TEST(Compiler, ABatchNormIsSynchronised) {
  const NormStep step;
  const DistributedStep made = step.CompileWith({});
  EXPECT_EQ(LinesOn("a", made, *step.devices.cluster),
            "bn.batch_norm_update_stats@a = aten.batch_norm_update_stats.default\n"
            "bn.new_full@a = aten.new_full.default\n"
            "bn.cat@a = aten.cat.default\n"
            "bn.cat.all_gather@a = placewright.all_gather.default\n"
            "bn.sub@a = aten.sub.Tensor\n"
            "bn.addmv@a = aten.addmv.default\n"
            "bn.sub@a#1 = aten.sub.Tensor\n"
            "bn.addcmul@a = aten.addcmul.default\n"
            "bn.mv@a = aten.mv.default\n"
            "bn.lerp_@a = aten.lerp_.Scalar\n"
            "bn.mul@a = aten.mul.Scalar\n"
            "bn.lerp_@a#1 = aten.lerp_.Scalar\n"
            "bn.add@a = aten.add.Scalar\n"
            "bn.rsqrt@a = aten.rsqrt.default\n"
            "bn@a = aten.native_batch_norm.default\n"
            "back@a = aten.native_batch_norm_backward.default\n"
            "back.cat@a = aten.cat.default\n"
            "back.cat.all_reduce@a = placewright.all_reduce.default\n"
            "back.mul@a = aten.mul.Tensor\n"
            "back.mul@a#1 = aten.mul.Tensor\n"
            "back.mul@a#2 = aten.mul.Tensor\n"
            "back.mul@a#3 = aten.mul.Tensor\n"
            "back.mul@a#4 = aten.mul.Scalar\n"
            "back.sub@a = aten.sub.Tensor\n"
            "back.addcmul@a = aten.addcmul.default\n"
            "back.addcmul@a#1 = aten.addcmul.default\n");
  ASSERT_EQ(made.graph.collective_count(), 2u);
  const std::string lines = Lines(made, *step.devices.cluster);
  EXPECT_THAT(lines, HasSubstr("placewright.all_gather.default(bn.cat@a) [10] on a"));
  EXPECT_THAT(lines, HasSubstr("placewright.all_reduce.default(back.cat@a) [4] on a"));
  for (const std::string& type : UnknownTypes(made.graph)) {
    EXPECT_THAT(type, StartsWith("placewright."));
  }
  for (const OpId id : made.graph.ops()) {
    const Op& op = made.graph.op(id);
    const bool moves = op.type.starts_with("placewright.");
    EXPECT_EQ(made.origin[id].valid(), !moves) << op.name;
    EXPECT_EQ(op.phase, op.name.starts_with("bn") ? Phase::kForward : Phase::kBackward) << op.name;
  }
}

// 6 of the 18 elements of a channel on a, 12 on b; an unbiased variance is of 17.
TEST(Compiler, ABatchNormWeighsPartsByTheirElements) {
  const NormStep step;
  const DistributedStep made = step.CompileWith({});
  const auto argument = [&](const char* name, size_t i) {
    return *made.graph.op(made.graph.FindOp(name)).args[i].AsDouble();
  };
  EXPECT_DOUBLE_EQ(argument("bn.new_full@a", 2), 1.0 / 3);
  EXPECT_DOUBLE_EQ(argument("bn.new_full@b", 2), 2.0 / 3);
  EXPECT_DOUBLE_EQ(argument("bn.mul@b", 1), 18.0 / 17);
  EXPECT_DOUBLE_EQ(argument("bn.lerp_@b", 2), 0.25);
  EXPECT_DOUBLE_EQ(argument("back.mul@b#4", 1), -1.0 / 18);
}

// Nothing is synchronised but the gradients of weight and bias, which are sums.
TEST(Compiler, ABatchNormMayHaveStatisticsOfEachPart) {
  const NormStep step;
  CompileOptions options;
  options.switches.local_batch_norm = true;
  const DistributedStep made = step.CompileWith(options);
  EXPECT_EQ(LinesOn("b", made, *step.devices.cluster),
            "bn@b = aten.native_batch_norm.default\n"
            "back@b = aten.native_batch_norm_backward.default\n");
  const std::string lines = Lines(made, *step.devices.cluster);
  EXPECT_THAT(lines, HasSubstr("placewright.add_n.default(back@a:1, back@b:1) [2] on a"));
}

// A row of x [8 3] is zeroed through a view, then x is read: split by its rows, the row would be one of a copy, so that
// x is whole on both devices. Split by its columns, it is not.
TEST(Compiler, WritesThroughViewsOfCopiesAreNotLost) {
  GraphBuilder builder("rows", "aten");
  const TensorId x =
      builder.AddInput("param:x", TensorKind::kParameter, DType::kF32, {8, 3}).Take();
  OpSpec select{.name = "row", .type = "aten.select.int"};
  select.inputs = {x};
  select.args = {Value(InputRef{0}), Value(int64_t{0}), Value(int64_t{0})};
  select.outputs = {{.name = "row", .shape = {3}, .alias = AliasKind::kView, .alias_of = 0}};
  const TensorId row = builder.AddOp(std::move(select)).Take()[0];
  OpSpec zero{.name = "zero", .type = "aten.zero_.default"};
  zero.inputs = {row};
  zero.args = {Value(InputRef{0})};
  zero.outputs = {{.name = "zero", .shape = {3}, .alias = AliasKind::kInPlace, .alias_of = 0}};
  (void)builder.AddOp(std::move(zero)).Take();
  OpSpec relu{.name = "y", .type = "aten.relu.default"};
  relu.inputs = {x};
  relu.args = {Value(InputRef{0})};
  relu.outputs = {{.name = "y", .shape = {8, 3}}};
  builder.SetOutputs({builder.AddOp(std::move(relu)).Take()[0]});
  const Graph graph = std::move(builder).Build().Take();
  const NamedAxes axes(graph);
  const Step other;
  const auto compile = [&](const char* axis, int64_t size) {
    Layouts layouts;
    layouts.layouts.push_back(
        SplitOver(axes.Find(axis), {DeviceId(0), DeviceId(1)}, {1, size - 1}));
    layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
    return Compile(graph, axes, layouts, *other.cluster);
  };
  const auto shape_of_x = [&](const char* axis, int64_t size) {
    const auto step = compile(axis, size);
    EXPECT_TRUE(step.ok()) << step.error().ToString();
    return step.value().graph.tensor(step.value().inputs.front().piece).shape;
  };
  EXPECT_EQ(shape_of_x("param:x[1]", 3), (std::vector<int64_t>{8, 1}));
  EXPECT_EQ(shape_of_x("param:x[0]", 8), (std::vector<int64_t>{8, 3}));
}

TEST(Compiler, LayoutsThatCannotBeAreErrors) {
  const Step step;
  const AxisId samples = step.axes->Find(kSamples);
  const auto error = [&](Layout layout) {
    const auto made = step.CompileWith(std::move(layout));
    EXPECT_FALSE(made.ok());
    return made.ok() ? std::string() : made.error().ToString();
  };
  EXPECT_THAT(error({}), HasSubstr("no devices"));
  EXPECT_THAT(error(CopiesOn({DeviceId(0), DeviceId(0)})), HasSubstr("a stands in it twice"));
  EXPECT_THAT(error(PlacedOn(DeviceId(9))), HasSubstr("a device that there is not"));
  EXPECT_THAT(error(SplitOver(AxisId(99), {DeviceId(0)}, {4})),
              HasSubstr("an axis that there is not"));
  EXPECT_THAT(error(SplitOver(samples, {DeviceId(0), DeviceId(1)}, {2, 1})),
              HasSubstr("cover 3 of 4"));
  EXPECT_THAT(error({{{DeviceId(0), {{samples, {0, 2}}}}, {DeviceId(1), {{samples, {3, 4}}}}}}),
              HasSubstr("do not follow one another"));
  EXPECT_THAT(error(SplitOver(samples, {DeviceId(0), DeviceId(1)}, {0, 4})),
              HasSubstr("do not follow one another"));
  // Of several axes, whether each device has two or some have another one.
  for (const Box& other :
       {Box{{samples, {2, 4}}, {AxisId(1), {0, 1}}}, Box{{AxisId(1), {0, 2}}}, Box()}) {
    EXPECT_THAT(error({{{DeviceId(0), {{samples, {0, 2}}}}, {DeviceId(1), other}}}),
                HasSubstr("layouts[0]: its shares are not of the same axes"));
  }
  Layouts forgotten;
  forgotten.layouts = {PlacedOn(DeviceId(0))};
  EXPECT_THAT(Compile(*step.graph, *step.axes, forgotten, *step.cluster).error().ToString(),
              HasSubstr("has no layout"));
}

}  // namespace
}  // namespace placewright
