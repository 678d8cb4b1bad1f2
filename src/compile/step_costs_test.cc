// What parts of ops cost.
#include "compile/step_costs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cluster/catalogue.h"
#include "compile/compiler.h"
#include "compile/emitter.h"
#include "cost/slowest.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

// y = x w on `devices`, all of it on each.
struct Repeated {
  explicit Repeated(std::vector<DeviceId> devices, CostOptions options = {}) {
    GraphBuilder builder("step", "aten");
    const TensorId x =
        builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {512, 512}).Take();
    const TensorId w =
        builder.AddInput("param:w", TensorKind::kParameter, DType::kF32, {512, 512}).Take();
    OpSpec op{.name = "y", .type = "aten.mm.default", .inputs = {x, w}};
    op.args = {Value(InputRef{0}), Value(InputRef{1})};
    op.outputs = {{.name = "y", .shape = {512, 512}}};
    builder.SetOutputs({builder.AddOp(std::move(op)).Take()[0]});
    const Graph graph = std::move(builder).Build().Take();
    Layouts layouts;
    layouts.layouts.push_back(CopiesOn(devices));
    layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
    const DistributedStep step = Compile(graph, NamedAxes(graph), layouts, cluster, {}).Take();
    const CostTable whole = ModelCosts(graph, cluster, options).Take();
    const Communication communication(cluster, options.measured_collectives);
    const CostTable costs = CostsOfStep(step, graph, communication, options).Take();
    for (const OpId part : step.graph.ops()) {
      const DeviceId device = step.placement[part];
      times.emplace_back(whole.time(OpId(0), device), costs.time(part, device));
    }
  }

  Cluster cluster = MakePreset("mixed-lab").Take();
  std::vector<std::pair<Nanos, Nanos>> times;  // of the op alone, and of each instance
};

std::vector<DeviceId> DevicesOfClass(DeviceClass device_class, std::string_view kind = "") {
  const Cluster cluster = MakePreset("mixed-lab").Take();
  std::vector<DeviceId> found;
  for (const DeviceId device : cluster.devices()) {
    const DeviceKind& one = cluster.kind(device);
    if (one.device_class == device_class && (kind.empty() || one.name == kind)) {
      found.push_back(device);
    }
  }
  return found;
}

std::string_view CommonKind() {
  static const Cluster cluster = MakePreset("mixed-lab").Take();
  for (const DeviceKind& kind : cluster.kinds()) {
    if (DevicesOfClass(DeviceClass::kGpu, kind.name).size() > 1) return kind.name;
  }
  return "";
}

int64_t Slower(Nanos time, size_t devices) {
  return static_cast<int64_t>(
      std::ceil(static_cast<double>(time.count) * SlowestOf(static_cast<int32_t>(devices))));
}

TEST(StepCosts, AnOpOnOneGpuCostsWhatItDoes) {
  const Repeated one({DevicesOfClass(DeviceClass::kGpu).front()});
  ASSERT_EQ(one.times.size(), 1u);
  EXPECT_EQ(one.times[0].first, one.times[0].second);
}

TEST(StepCosts, PartsOnEqualGpusTakeAsLongAsOnTheSlowest) {
  const std::vector<DeviceId> equal = DevicesOfClass(DeviceClass::kGpu, CommonKind());
  ASSERT_GT(equal.size(), 1u);
  const Repeated parts(equal);
  ASSERT_EQ(parts.times.size(), equal.size());
  for (const auto& [whole, part] : parts.times) {
    EXPECT_EQ(part.count, Slower(whole, equal.size()));
    EXPECT_GT(part, whole);
  }
}

// GPUs of other kinds and CPUs do not count.
TEST(StepCosts, OnlyGpusOfAKindAreCompared) {
  std::vector<DeviceId> devices = {DevicesOfClass(DeviceClass::kGpu, CommonKind()).front()};
  for (const DeviceId cpu : DevicesOfClass(DeviceClass::kCpu)) devices.push_back(cpu);
  ASSERT_GT(devices.size(), 1u);
  for (const auto& [whole, part] : Repeated(devices).times) EXPECT_EQ(part, whole);
}

TEST(StepCosts, StatedTimesStay) {
  CostOptions options;
  options.overrides = {{.op = "y", .time = Nanos(12'345)}};
  for (const auto& [whole, part] :
       Repeated(DevicesOfClass(DeviceClass::kGpu, CommonKind()), options).times) {
    EXPECT_EQ(part, Nanos(12'345));
    EXPECT_EQ(part, whole);
  }
}

// A batch norm on two devices: its ops in parts that take time, by their types.
std::string TimedOpsOfANorm(DeviceClass device_class) {
  const Cluster cluster = MakePreset("mixed-lab").Take();
  const std::vector<DeviceId> devices = DevicesOfClass(device_class);
  GraphBuilder builder("step", "aten");
  std::vector<TensorId> inputs = {
      builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {8, 16, 32, 32}).Take()};
  for (const char* name : {"param:w", "param:b", "buffer:m", "buffer:v"}) {
    const TensorKind kind = name[0] == 'p' ? TensorKind::kParameter : TensorKind::kBuffer;
    inputs.push_back(builder.AddInput(name, kind, DType::kF32, {16}).Take());
  }
  OpSpec norm{.name = "bn", .type = "aten.native_batch_norm.default", .inputs = inputs};
  norm.args = References(5);
  norm.args.insert(norm.args.end(), {Value(true), Value(0.1), Value(1e-5)});
  norm.outputs = {{.name = "bn:0", .shape = {8, 16, 32, 32}},
                  {.name = "bn:1", .shape = {16}},
                  {.name = "bn:2", .shape = {16}}};
  norm.writes = {3, 4};
  builder.SetOutputs({builder.AddOp(std::move(norm)).Take()[0]});
  const Graph graph = std::move(builder).Build().Take();
  const NamedAxes axes(graph);
  Layouts layouts;
  layouts.layouts.push_back(
      SplitOver(axes.Find("input:x[0]"), {devices.at(0), devices.at(1)}, {4, 4}));
  layouts.of_group = IdVector<GroupId, LayoutId>(graph.group_count(), LayoutId(0));
  const DistributedStep step = Compile(graph, axes, layouts, cluster, {}).Take();
  const CostTable costs = CostsOfStep(step, graph, Communication(cluster, {}), {}).Take();
  std::string timed;
  for (const OpId op : step.graph.ops()) {
    const bool counts = step.origin[op].valid() && step.placement[op] == devices[0];
    if (!counts || costs.time(op, devices[0]) == Nanos()) continue;
    timed += std::string(step.graph.op(op).type) + " ";
  }
  return timed;
}

TEST(StepCosts, ANormInPartsCostsAGpuItsKernels) {
  const std::string kernels =
      "aten.batch_norm_update_stats.default aten.new_full.default aten.cat.default "
      "aten.addmv.default aten.native_batch_norm.default ";
  EXPECT_EQ(TimedOpsOfANorm(DeviceClass::kGpu), kernels);
  const std::string all = TimedOpsOfANorm(DeviceClass::kCpu);
  EXPECT_NE(all.find("aten.lerp_.Scalar"), std::string::npos);
  EXPECT_GT(all.size(), kernels.size());
}

}  // namespace
}  // namespace placewright
