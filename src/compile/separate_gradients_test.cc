#include "compile/rewrites/separate_gradients.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "compile/compiler.h"
#include "compile/step_costs.h"
#include "cost/communication.h"
#include "cost/signature.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

// y = conv(x, w), x [4 2 5 5], w [6 2 3 3]. Of the gradient g of y: gradients of x, which is used on, of w and the
// bias b, by which these are updated.
struct ConvolutionStep {
  explicit ConvolutionStep(bool of_input = true, bool half = false) {
    GraphBuilder builder("convolution", "aten");
    const auto input = [&](const char* name, TensorKind kind, std::vector<int64_t> shape) {
      return builder.AddInput(name, kind, DType::kF32, std::move(shape)).Take();
    };
    const TensorId x = input("input:x", TensorKind::kInput, {4, 2, 5, 5});
    const TensorId g = input("input:g", TensorKind::kInput, {4, 6, 3, 3});
    const TensorId w = input("param:w", TensorKind::kParameter, {6, 2, 3, 3});
    const TensorId b = input("param:b", TensorKind::kParameter, {6});
    OpSpec back{.name = "back", .type = "aten.convolution_backward.default"};
    back.phase = Phase::kBackward;
    back.inputs = {g, x, w};
    back.args = {Reference(0),
                 Reference(1),
                 Reference(2),
                 Numbers({6}),
                 Numbers({1, 1}),
                 Numbers({0, 0}),
                 Numbers({1, 1}),
                 Value(false),
                 Numbers({0, 0}),
                 Value(int64_t{1}),
                 Value(Value::List{Value(of_input), Value(true), Value(true)})};
    std::vector<std::vector<int64_t>> shapes = {{4, 2, 5, 5}, {6, 2, 3, 3}, {6}};
    for (int32_t i = of_input ? 0 : 1; i < 3; ++i) {
      back.outputs.push_back({.name = "back:" + std::to_string(i)});
      back.outputs.back().shape = shapes[static_cast<size_t>(i)];
      back.outputs.back().output_index = i;
    }
    std::vector<TensorId> made = builder.AddOp(std::move(back)).Take();
    for (size_t i = made.size() - 2; half && i < made.size();
         ++i) {  // mixed precision: as another type
      OpSpec cast{.name = "wide" + std::to_string(i), .type = "aten._to_copy.default"};
      cast.phase = Phase::kBackward;
      cast.inputs = {made[i]};
      cast.args = {Reference(0)};
      cast.outputs = {{.name = cast.name, .shape = shapes[i + (of_input ? 0 : 1)]}};
      made[i] = builder.AddOp(std::move(cast)).Take()[0];
    }
    const auto add = [&](const char* name, std::vector<TensorId> inputs, size_t like, Phase phase) {
      OpSpec op{.name = name, .type = "aten.sub_.Tensor", .phase = phase};
      if (phase == Phase::kBackward) op.type = "aten.relu.default";
      op.inputs = std::move(inputs);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        op.args.push_back(Reference(static_cast<int32_t>(i)));
      }
      op.outputs = {{.name = name, .shape = shapes[like]}};
      if (phase == Phase::kOptimizer) op.outputs[0].alias = AliasKind::kInPlace;
      if (phase == Phase::kOptimizer) op.outputs[0].alias_of = 0;
      return builder.AddOp(std::move(op)).Take()[0];
    };
    if (of_input) add("gx", {made[0]}, 0, Phase::kBackward);
    builder.SetOutputs({add("w1", {w, made[made.size() - 2]}, 1, Phase::kOptimizer),
                        add("b1", {b, made.back()}, 2, Phase::kOptimizer)});
    graph = std::make_unique<Graph>(std::move(builder).Build().Take());
    axes = std::make_unique<NamedAxes>(*graph);
    ClusterBuilder devices("two");
    DeviceKind model{.name = "K"};
    model.peak.f32 = 1e12;
    model.memory_bandwidth = BytesPerSecond(int64_t{1} << 36);
    const int32_t kind = devices.AddKind(model).Take();
    for (const char* name : {"a", "b"}) {
      (void)devices.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 20)}).Take();
    }
    const BytesPerSecond bandwidth(int64_t{1} << 30);
    EXPECT_TRUE(devices.Connect("a", "b", bandwidth, Nanos(10), Duplex::kFull, "").ok());
    cluster = std::make_unique<Cluster>(std::move(devices).Build().Take());
  }

  static Value Reference(int32_t i) { return Value(InputRef{i}); }
  static Value Numbers(const std::vector<int64_t>& numbers) {
    Value::List list;
    for (const int64_t number : numbers) list.push_back(Value(number));
    return Value(list);
  }

  DistributedStep CompileWith(Layout layout, bool apart) const {
    Layouts layouts;
    layouts.layouts.push_back(std::move(layout));
    layouts.of_group = IdVector<GroupId, LayoutId>(graph->group_count(), LayoutId(0));
    CompileOptions options;
    options.switches.gradients_apart = apart;
    return Compile(*graph, *axes, layouts, *cluster, options).Take();
  }

  std::unique_ptr<Graph> graph;
  std::unique_ptr<NamedAxes> axes;
  std::unique_ptr<Cluster> cluster;
};

Layout SplitOf(AxisId axis, int64_t size) {
  return SplitOver(axis, {DeviceId(0), DeviceId(1)}, {1, size - 1});
}

// "name(mask) -> outputs, after names", of device a.
std::string LinesOf(const DistributedStep& step) {
  std::string text;
  for (const OpId id : step.graph.ops()) {
    const Op& op = step.graph.op(id);
    if (step.placement[id] != DeviceId(0)) continue;
    text += op.name;
    if (op.type == "aten.convolution_backward.default") text += " " + ToString(op.args.back());
    text += " ->";
    for (const TensorId output : op.outputs) text += " " + step.graph.tensor(output).name;
    for (const OpId earlier : op.after) text += ", after " + step.graph.op(earlier).name;
    text += "\n";
  }
  return text;
}

// Under data parallelism the gradients of weight and bias are reduced.
TEST(SeparateGradients, WhatIsReducedIsMadeFirst) {
  const ConvolutionStep step;
  EXPECT_EQ(LinesOf(step.CompileWith(SplitOf(step.axes->Find("input:x[0]"), 4), false)),
            "back@a [true, true, true] -> back@a:0 back@a:1 back@a:2\n"
            "gx@a -> gx@a\n"
            "back.all_reduce@a -> back.all_reduce@a\n"
            "w1@a -> w1@a\n"
            "back.all_reduce@a#1 -> back.all_reduce@a#1\n"
            "b1@a -> b1@a\n");
  EXPECT_EQ(LinesOf(step.CompileWith(SplitOf(step.axes->Find("input:x[0]"), 4), true)),
            "back.weight@a [false, true, true] -> back.weight@a:1 back.weight@a:2\n"
            "back.input@a [true, false, false] -> back.input@a:0, after back.weight@a\n"
            "gx@a -> gx@a\n"
            "back.all_reduce@a -> back.all_reduce@a\n"
            "w1@a -> w1@a\n"
            "back.all_reduce@a#1 -> back.all_reduce@a#1\n"
            "b1@a -> b1@a\n");
}

TEST(SeparateGradients, WhatIsReducedAsAnotherTypeIsMadeFirst) {
  const ConvolutionStep step(/*of_input=*/true, /*half=*/true);
  const std::string lines =
      LinesOf(step.CompileWith(SplitOf(step.axes->Find("input:x[0]"), 4), true));
  EXPECT_EQ(lines.substr(0, lines.find("wide")),
            "back.weight@a [false, true, true] -> back.weight@a:1 back.weight@a:2\n"
            "back.input@a [true, false, false] -> back.input@a:0, after back.weight@a\n");
}

// Split by the channels of y, the gradient of x is a sum over the devices.
TEST(SeparateGradients, OrTheInputsGradientIs) {
  const ConvolutionStep step;
  const std::string lines =
      LinesOf(step.CompileWith(SplitOf(step.axes->Find("input:g[1]"), 6), true));
  EXPECT_EQ(lines.substr(0, lines.find("back.all_reduce")),
            "back.input@a [true, false, false] -> back.input@a:0\n"
            "back.weight@a [false, true, true] -> back.weight@a:1 back.weight@a:2, after "
            "back.input@a\n");
}

TEST(SeparateGradients, WhatLiesOnOneDeviceStays) {
  const ConvolutionStep step;
  const DistributedStep placed = step.CompileWith(PlacedOn(DeviceId(0)), true);
  EXPECT_TRUE(placed.graph.FindOp("back").valid());
  EXPECT_EQ(placed.graph.op_count(), step.graph->op_count());
  // Everything on both devices: nothing leaves.
  const Layout both = CopiesOn({DeviceId(0), DeviceId(1)});
  EXPECT_TRUE(step.CompileWith(both, true).graph.FindOp("back@a").valid());
  // No gradient of the input.
  const ConvolutionStep first(false);
  EXPECT_TRUE(first.CompileWith(SplitOf(first.axes->Find("input:x[0]"), 4), true)
                  .graph.FindOp("back@a")
                  .valid());
}

// Both take as long as the one, by the model, as measured and as stated: an odd number of nanoseconds, of which
// each has half, since both are as many multiply-accumulates.
TEST(SeparateGradients, ShareTheTimeOfTheOp) {
  const ConvolutionStep step;
  const DistributedStep one = step.CompileWith(SplitOf(step.axes->Find("input:x[0]"), 4), false);
  const DistributedStep two = step.CompileWith(SplitOf(step.axes->Find("input:x[0]"), 4), true);
  CostOptions options;
  const auto time = [&](const DistributedStep& of, const char* name, DeviceId device) {
    const Communication communication(*step.cluster, {});
    const auto costs_of = CostsOfStep(of, *step.graph, communication, options);
    EXPECT_TRUE(costs_of.ok()) << costs_of.error().ToString();
    const CostTable& costs = costs_of.value();
    return costs.time(of.graph.FindOp(name), device);
  };
  const auto expect_shared = [&] {
    for (const char* device : {"a", "b"}) {
      const DeviceId id(device[0] - 'a');
      const Nanos whole = time(one, ("back@" + std::string(device)).c_str(), id);
      const Nanos first = time(two, ("back.weight@" + std::string(device)).c_str(), id);
      const Nanos second = time(two, ("back.input@" + std::string(device)).c_str(), id);
      EXPECT_GT(whole, Nanos(1));
      EXPECT_EQ(first, Nanos(whole.count / 2));
      EXPECT_EQ(first + second, whole);
    }
  };
  expect_shared();
  MeasuredOp row;
  row.signature = SignatureOf(one.graph, one.graph.FindOp("back@a")).text;
  row.time = Nanos(777);
  options.measured = {{{.kind = "K"}, {row}, {}}};
  EXPECT_EQ(time(one, "back@a", DeviceId(0)), Nanos(777));
  expect_shared();
  options.overrides = {{.op = "back", .time = Nanos(1001)}};
  expect_shared();
}

}  // namespace
}  // namespace placewright
