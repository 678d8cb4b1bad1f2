// What parts of ops cost.
#include "compile/step_costs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "cluster/catalogue.h"
#include "compile/compiler.h"
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
    layouts.layouts.emplace_back();
    for (const DeviceId device : devices) layouts.layouts[0].shares.push_back({device, 0, 0});
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

}  // namespace
}  // namespace placewright
