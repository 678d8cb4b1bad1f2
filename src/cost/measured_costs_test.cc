#include "cost/measured_costs.h"

#include <gtest/gtest.h>

#include "cluster/cluster_builder.h"
#include "cost/cost_model.h"
#include "cost/signature.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

// Two workers of one kind and an accelerator of another.
Cluster Machine() {
  ClusterBuilder builder("machine");
  DeviceKind worker{.name = "worker", .device_class = DeviceClass::kCpu, .architecture = "zen4"};
  worker.peak.f32 = 1e11;
  worker.memory_bandwidth = BytesPerSecond(10'000'000'000);
  worker.cores = 1;
  DeviceKind gpu = worker;
  gpu.name = "gpu";
  gpu.device_class = DeviceClass::kGpu;
  gpu.architecture = "volta";
  gpu.cores = 0;
  const int32_t cpus = builder.AddKind(worker).Take(), gpus = builder.AddKind(gpu).Take();
  EXPECT_TRUE(builder.AddDevice({"a", cpus, 0, Bytes(1 << 30), Bytes()}).ok());
  EXPECT_TRUE(builder.AddDevice({"b", cpus, 0, Bytes(1 << 30), Bytes()}).ok());
  EXPECT_TRUE(builder.AddDevice({"c", gpus, 0, Bytes(1 << 30), Bytes()}).ok());
  for (const auto& [x, y] : {std::pair("a", "b"), {"b", "c"}, {"a", "c"}}) {
    EXPECT_TRUE(
        builder.Connect(x, y, BytesPerSecond(1'000'000'000), Nanos(0), Duplex::kFull, "").ok());
  }
  return std::move(builder).Build().Take();
}

// neg and exp of [batch, 3].
Graph Chain(int64_t batch) {
  GraphBuilder builder("chain", "aten");
  builder.set_batch(batch);
  TensorId at = builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {batch, 3}).Take();
  for (const char* name : {"neg", "exp"}) {
    OpSpec op;
    op.name = name;
    op.type = std::string("aten.") + name + ".default";
    op.args = {Value(InputRef{0})};
    op.inputs = {at};
    op.outputs = {{name, DType::kF32, {batch, 3}, OutputSpec::Alias::kFresh}};
    at = builder.AddOp(std::move(op)).Take().front();
  }
  BatchScaling scaling;
  scaling.sizes = {batch, batch + 1, 2 * batch};
  scaling.dimensions = Csr<TensorId, DimensionLaw>{{0, 1, 2, 3}, {{0, 1}, {0, 1}, {0, 1}}};
  scaling.arguments = Csr<OpId, ArgumentLaw>{{0, 0, 0}, {}};
  return WithBatchScaling(std::move(builder).Build().Take(), std::move(scaling)).Take();
}

MeasuredOp Row(int64_t batch, OpId op, int64_t time, int64_t workspace = 0) {
  const Signature signature = SignatureOf(Chain(batch), op);
  return {signature.text, signature.family, batch, Nanos(time),
          Nanos(time),    Nanos(time),      5,     Bytes(workspace)};
}

struct Applied {
  Applied(int64_t batch, std::vector<MeasuredOp> rows, int64_t cores = 1) {
    const Graph graph = Chain(batch);
    const Cluster cluster = Machine();
    costs = ModelCosts(graph, cluster, {}).Take();
    modelled = costs;
    const std::vector<MeasuredDevice> measured = {{{"worker", cores, false, "1.13", "blas"}, rows}};
    use = ApplyMeasured(graph, MeasuredIndex(measured, cluster), costs);
  }
  CostTable costs, modelled;
  MeasuredUse use;
};

TEST(MeasuredCosts, AreOfTheDevicesThatWereMeasured) {
  const Applied applied(8, {Row(8, OpId(0), 700, 64)});
  for (const int32_t device : {0, 1}) {
    EXPECT_EQ(applied.costs.time(OpId(0), DeviceId(device)), Nanos(700));
    EXPECT_EQ(applied.costs.source(OpId(0), DeviceId(device)), CostSource::kMeasured);
    EXPECT_EQ(applied.costs.time(OpId(1), DeviceId(device)),
              applied.modelled.time(OpId(1), DeviceId(device)));
  }
  EXPECT_EQ(applied.costs.workspace(OpId(0)), Bytes(64));
  EXPECT_EQ(applied.costs.time(OpId(0), DeviceId(2)), applied.modelled.time(OpId(0), DeviceId(2)));
  EXPECT_EQ(applied.costs.source(OpId(0), DeviceId(2)), CostSource::kModelled);
  ASSERT_EQ(applied.use.environments.size(), 1u);
  EXPECT_EQ(applied.use.environments[0].rows, 1);
  EXPECT_EQ(std::count(applied.use.environments[0].lines.begin(),
                       applied.use.environments[0].lines.end(), '\t'),
            2);
  EXPECT_EQ(applied.use.missing, (std::vector<std::string>{"aten.exp.default"}));
}

TEST(MeasuredCosts, OtherNumbersOfCoresAreOtherDevices) {
  const Applied applied(8, {Row(8, OpId(0), 700)}, /*cores=*/2);
  EXPECT_EQ(applied.costs.time(OpId(0), DeviceId(0)), applied.modelled.time(OpId(0), DeviceId(0)));
  EXPECT_TRUE(applied.use.environments.empty());
}

// 100 + 50 n: measured at 4 and 8, so 6 lies between and 16 beyond.
TEST(MeasuredCosts, LieOnTheLineThroughOtherBatches) {
  const std::vector<MeasuredOp> rows = {Row(4, OpId(0), 300, 40), Row(8, OpId(0), 500, 80)};
  const Applied between(6, rows);
  EXPECT_EQ(between.costs.time(OpId(0), DeviceId(0)), Nanos(400));
  EXPECT_EQ(between.costs.source(OpId(0), DeviceId(0)), CostSource::kMeasured);
  EXPECT_EQ(between.costs.workspace(OpId(0)), Bytes(60));
  const Applied beyond(16, rows);
  EXPECT_EQ(beyond.costs.time(OpId(0), DeviceId(0)), Nanos(900));
  EXPECT_EQ(beyond.costs.source(OpId(0), DeviceId(0)), CostSource::kModelled);
  // A line that is below nothing even at the smallest batch.
  const Applied convex(4, {Row(8, OpId(0), 100), Row(16, OpId(0), 120), Row(32, OpId(0), 2000)});
  EXPECT_EQ(convex.costs.time(OpId(0), DeviceId(0)), Nanos(50));
  // 100 n - 300 would be less than nothing at 2: a half of what 4 take.
  const Applied steep(2, {Row(4, OpId(0), 100), Row(8, OpId(0), 500)});
  EXPECT_EQ(steep.costs.time(OpId(0), DeviceId(0)), Nanos(50));
  // Of one batch alone nothing follows.
  const Applied alone(6, {Row(4, OpId(0), 300)});
  EXPECT_EQ(alone.costs.time(OpId(0), DeviceId(0)), alone.modelled.time(OpId(0), DeviceId(0)));
}

TEST(MeasuredCosts, FollowTheMachinesState) {
  const Graph graph = Chain(8);
  const Cluster cluster = Machine();
  MeasuredDevice device{{"worker", 1, false, "1.13", "blas"}, {Row(8, OpId(0), 700)}};
  device.ops[0].state = {Nanos(100), Nanos(10), Nanos(1000)};
  const auto time = [&](MachineState now) {
    CostTable costs = ModelCosts(graph, cluster, {}).Take();
    device.now = now;
    const std::vector<MeasuredDevice> measured = {device};
    ApplyMeasured(graph, MeasuredIndex(measured, cluster), costs);
    return costs.time(OpId(0), DeviceId(0));
  };
  EXPECT_EQ(time({}), Nanos(700));
  // Its 192 bytes stay in the caches.
  EXPECT_EQ(time({Nanos(200), Nanos(30), Nanos(9000)}), Nanos(1610));
}

}  // namespace
}  // namespace placewright
