// What layouts take at least against the compiled steps.
#include "search/floors/layout_floor.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "compile/emitter.h"
#include "cost/signature.h"
#include "graph/graph_builder.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/layouts/test_attention.h"
#include "search/layouts/test_layout_optimum.h"
#include "search/layouts/test_steps.h"

namespace placewright {
namespace {

// Every third one has times that were measured.
TEST(LayoutFloor, IsNeverAboveDrawnSteps) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 225; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DrawnProblem tiny(seed);
    if (seed % 3 == 2) tiny.Measure();
    LayoutFloor floor(*tiny.layouts);
    Layouts layouts;
    for (int i = 0; i < 20; ++i) {
      layouts.of_group.raw().clear();
      for (size_t g = 0; g < tiny.graph->group_count(); ++g) {
        const std::vector<Layout> choice = LayoutsOf(*tiny.layouts, GroupId(g));
        layouts.of_group.push_back(LayoutId(layouts.layouts.size()));
        layouts.layouts.push_back(choice[tiny.random.Below(choice.size())]);
      }
      StepSwitches switches;
      switches.local_batch_norm = tiny.random.Below(4) == 0;
      const Result<Evaluation> step = EvaluateCompiled(*tiny.layouts, {layouts, switches});
      if (!step.ok()) continue;
      ++compared;
      EXPECT_LE(floor.Of(layouts), step.value().step_time);
    }
  }
  EXPECT_GT(compared, 3000);
}

// All that is left out are the sums of what is read twice, the arithmetic of softmaxes, whose parts are other ops,
// and the like.
TEST(LayoutFloor, IsNearTheStepOfOneDevice) {
  double floors = 0, steps = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const DrawnProblem tiny(seed);
    Layouts layouts;
    layouts.layouts = {PlacedOn(DeviceId(0))};
    layouts.of_group = IdVector<GroupId, LayoutId>(tiny.layouts->graph.group_count(), LayoutId(0));
    const Result<Evaluation> step = EvaluateCompiled(*tiny.layouts, {layouts, {}});
    if (!step.ok()) continue;
    floors += static_cast<double>(LayoutFloor(*tiny.layouts).Of(layouts).count);
    steps += static_cast<double>(step.value().step_time.count);
  }
  EXPECT_GT(floors, 0.8 * steps);
  EXPECT_LE(floors, steps);
}

// Two equal GPUs.
Cluster TwoGpus(double peak = 1e7) {
  ClusterBuilder builder("two");
  DeviceKind model{.name = "K"};
  model.device_class = DeviceClass::kGpu;
  model.peak.f32 = peak;
  model.memory_bandwidth = BytesPerSecond(int64_t{1} << 34);
  const int32_t kind = builder.AddKind(model).Take();
  for (const char* name : {"a", "b"}) {
    builder.AddDevice({.name = name, .kind = kind, .capacity = Bytes(1 << 28)}).Take();
  }
  EXPECT_TRUE(
      builder.Connect("a", "b", BytesPerSecond(1 << 30), Nanos(10), Duplex::kFull, "").ok());
  return std::move(builder).Build().Take();
}

CostOptions MeasuredAs(const std::vector<std::pair<std::string, int64_t>>& rows) {
  MeasuredDevice device;
  device.on.kind = "K";
  for (const auto& [signature, time] : rows) {
    device.ops.emplace_back();
    device.ops.back().signature = signature;
    device.ops.back().time = Nanos(time);
  }
  CostOptions options;
  options.measured = {std::move(device)};
  return options;
}

// The first axis that is as long, halved between both.
Layouts HalvedBy(const LayoutProblem& problem, int64_t length) {
  Layouts layouts;
  for (const AxisId axis : problem.axes.axes()) {
    if (problem.axes.axis(axis).size != length || !layouts.layouts.empty()) continue;
    layouts.layouts = {SplitOver(axis, {DeviceId(0), DeviceId(1)}, {length / 2, length / 2})};
  }
  layouts.of_group = IdVector<GroupId, LayoutId>(problem.graph.group_count(), LayoutId(0));
  return layouts;
}

// Under a causal mask the first 70 of 100 places of queries take half of the time.
TEST(LayoutFloor, IsNotAboveUnevenPartsOfAttention) {
  constexpr int64_t kPlaces = 512;
  const Graph graph = SelfAttention(/*causal=*/true, kPlaces);
  const Cluster cluster = TwoGpus();
  const auto problem = LayoutProblem::Make(graph, cluster, {}, SchedulingPolicy::kProgram).Take();
  LayoutFloor floor(*problem);
  const AxisId places = problem->axes.Find("input:x[1]");
  Layouts layouts;
  layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  for (const int64_t first : {1, 128, 256, 360, 448, 511}) {
    layouts.layouts.push_back(
        SplitOver(places, {DeviceId(0), DeviceId(1)}, {first, kPlaces - first}));
    for (LayoutId& of : layouts.of_group) of = LayoutId(layouts.layouts.size() - 1);
    const Evaluation step = EvaluateCompiled(*problem, {layouts, {}}).Take();
    EXPECT_LE(floor.Of(layouts), step.step_time) << first;
    EXPECT_GT(floor.Of(layouts).count, 0) << first;
  }
}

// GPUs side by side are modelled as slower than one; what was measured is taken as it is.
TEST(LayoutFloor, TakesMeasuredTimesOfGpusAsTheyAre) {
  GraphBuilder builder("product", "aten");
  OpSpec op{.name = "product", .type = "aten.mm.default"};
  for (const char* name : {"input:x", "input:y"}) {
    op.inputs.push_back(builder.AddInput(name, TensorKind::kInput, DType::kF32, {64, 64}).Take());
  }
  op.args = {Value(InputRef{0}), Value(InputRef{1})};
  op.outputs = {{.name = "product", .shape = {64, 64}}};
  builder.SetOutputs(builder.AddOp(std::move(op)).Take());
  const Graph graph = std::move(builder).Build().Take();
  const Cluster cluster = TwoGpus();
  const auto problem =
      LayoutProblem::Make(graph, cluster,
                          MeasuredAs({{"aten.mm.default(f32[64,64], f32[64,64])", 10'000'000},
                                      {"aten.mm.default(f32[32,64], f32[64,64])", 5'000'000}}),
                          SchedulingPolicy::kFifo)
          .Take();
  const Layouts layouts = HalvedBy(*problem, 64);
  ASSERT_EQ(layouts.layouts.size(), 1u);
  const Nanos step = EvaluateCompiled(*problem, {layouts, {}}).Take().step_time;
  EXPECT_EQ(step, Nanos(5'000'000));
  EXPECT_LE(LayoutFloor(*problem).Of(layouts), step);
  LayoutEvaluator evaluator(*problem);
  EXPECT_FALSE(evaluator.Evaluate(layouts, {}, step).Take().abandoned);
}

// Of a batch norm whose result nothing reads only the statistics are computed in parts.
TEST(LayoutFloor, KnowsThatOnlyStatisticsMayBeWanted) {
  GraphBuilder builder("statistics", "aten");
  OpSpec norm{.name = "norm", .type = "aten.native_batch_norm.default"};
  norm.inputs = {
      builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {512, 64, 32, 32}).Take()};
  for (const char* name : {"param:w", "param:b", "buffer:m", "buffer:v"}) {
    const TensorKind kind = name[0] == 'p' ? TensorKind::kParameter : TensorKind::kBuffer;
    norm.inputs.push_back(builder.AddInput(name, kind, DType::kF32, {64}).Take());
  }
  norm.args = References(5);
  norm.args.insert(norm.args.end(), {Value(true), Value(0.1), Value(1e-5)});
  norm.outputs = {{.name = "y", .shape = {512, 64, 32, 32}},
                  {.name = "mean", .shape = {64}},
                  {.name = "invstd", .shape = {64}}};
  norm.writes = {3, 4};
  builder.SetOutputs({builder.AddOp(std::move(norm)).Take()[1]});
  const Graph graph = std::move(builder).Build().Take();
  const Cluster cluster = TwoGpus(1e15);  // memory is what takes time
  const auto problem =
      LayoutProblem::Make(graph, cluster, CostOptions(), SchedulingPolicy::kFifo).Take();
  const Layouts layouts = HalvedBy(*problem, 512);
  ASSERT_EQ(layouts.layouts.size(), 1u);
  const Nanos step = EvaluateCompiled(*problem, {layouts, {}}).Take().step_time;
  EXPECT_LE(LayoutFloor(*problem).Of(layouts), step);
}

// A contiguous view of a strided one is strided where its base was put together anew: another signature, which
// was not measured.
TEST(LayoutFloor, KnowsThatViewsMayLieOtherwise) {
  GraphBuilder builder("views", "aten");
  TensorId now = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {4, 1024}).Take();
  const auto add = [&](const char* name, const char* type, std::vector<int64_t> shape,
                       std::vector<Value> more, bool view) {
    OpSpec op{.name = name, .type = type};
    op.inputs = {now};
    op.args = {Value(InputRef{0})};
    op.args.insert(op.args.end(), more.begin(), more.end());
    op.outputs = {{.name = name, .shape = std::move(shape)}};
    if (view) {
      op.outputs[0].alias = AliasKind::kView;
      op.outputs[0].alias_of = 0;
    }
    now = builder.AddOp(std::move(op)).Take()[0];
  };
  add("p", "aten.relu.default", {4, 1024}, {}, false);
  add("t1", "aten.t.default", {1024, 4}, {}, true);
  add("t2", "aten.select.int", {1024}, {Value(int64_t{1}), Value(int64_t{0})}, true);
  add("s", "aten.made_up.default", {1024}, {}, false);
  builder.SetOutputs({now});
  const Graph graph = std::move(builder).Build().Take();
  const Cluster cluster = TwoGpus();
  const std::string own = SignatureOf(graph, graph.FindOp("s")).text;
  const auto problem = LayoutProblem::Make(graph, cluster, MeasuredAs({{own, 1'000'000'000}}),
                                           SchedulingPolicy::kFifo)
                           .Take();
  const Layouts layouts = HalvedBy(*problem, 4);
  ASSERT_EQ(layouts.layouts.size(), 1u);
  EXPECT_LE(LayoutFloor(*problem).Of(layouts),
            EvaluateCompiled(*problem, {layouts, {}}).Take().step_time);
}

}  // namespace
}  // namespace placewright
