#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/cluster_builder.h"
#include "cost/cost_model.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

DeviceKind MakeKind(std::string name, DeviceClass device_class) {
  DeviceKind kind;
  kind.name = std::move(name);
  kind.device_class = device_class;
  kind.architecture = device_class == DeviceClass::kCpu ? "broadwell" : "volta";
  kind.peak.f32 = 10e12;
  kind.memory_bandwidth = BytesPerSecond(100'000'000'000);
  kind.memory = Bytes(1 << 30);
  kind.launch_overhead = Nanos(1000);
  return kind;
}

// host0/gpu0, host0/gpu1 (kind "G") and host0/cpu0 (kind "C").
Cluster MakeCluster() {
  ClusterBuilder builder("test");
  const int32_t gpu = builder.AddKind(MakeKind("G", DeviceClass::kGpu)).Take();
  const int32_t cpu = builder.AddKind(MakeKind("C", DeviceClass::kCpu)).Take();
  for (const auto& [name, kind] :
       {std::pair{"host0/gpu0", gpu}, std::pair{"host0/gpu1", gpu}, std::pair{"host0/cpu0", cpu}}) {
    Device device;
    device.name = name;
    device.kind = kind;
    device.capacity = Bytes(1 << 30);
    EXPECT_TRUE(builder.AddDevice(device).ok());
  }
  return std::move(builder).Build().Take();
}

// table -> embedding -> view -> mystery, and a Gather from the table.
Graph MakeGraph() {
  GraphBuilder builder("g", "aten");
  const TensorId table =
      builder.AddInput("table", TensorKind::kParameter, DType::kF32, {100, 8}).Take();
  const TensorId index = builder.AddInput("index", TensorKind::kInput, DType::kI64, {4}).Take();
  const auto add = [&](std::string name, std::string type, std::vector<TensorId> inputs,
                       std::vector<int64_t> shape, DType dtype = DType::kF32, bool view = false) {
    OpSpec spec;
    spec.name = name;
    spec.type = std::move(type);
    spec.inputs = std::move(inputs);
    OutputSpec output;
    output.name = std::move(name);
    output.shape = std::move(shape);
    output.dtype = dtype;
    if (view) {
      output.alias = OutputSpec::Alias::kView;
      output.alias_of = 0;
    }
    spec.outputs = {output};
    return builder.AddOp(std::move(spec)).Take().front();
  };
  const TensorId rows = add("rows", "aten.embedding.default", {table, index}, {4, 8});
  const TensorId flat = add("flat", "aten.view.default", {rows}, {32}, DType::kF32, true);
  add("mystery", "org.example.Mystery", {flat}, {32});
  add("picked", "Gather", {table, index}, {4, 8});
  add("text", "org.example.Text", {flat}, {1}, DType::kString);
  return std::move(builder).Build().Take();
}

struct Fixture {
  Graph graph = MakeGraph();
  Cluster cluster = MakeCluster();
  DeviceId gpu0 = cluster.FindDevice("host0/gpu0"), gpu1 = cluster.FindDevice("host0/gpu1"),
           cpu = cluster.FindDevice("host0/cpu0");
  OpId op(std::string_view name) const { return graph.FindOp(name); }
  Result<CostTable> Costs(CostOptions options = {}, CostModelReport* report = nullptr) const {
    return ModelCosts(graph, cluster, options, report);
  }
};

TEST(ModelCosts, EveryOpHasAModelledTimeAndViewsNone) {
  const Fixture f;
  CostModelReport report;
  const CostTable costs = f.Costs({}, &report).Take();
  // Reads 4 rows of 32 B and 4 indices of 8 B, writes 128 B: 288 B at 83 B/ns, rounded up to 4 ns.
  EXPECT_EQ(costs.time(f.op("rows"), f.gpu0), Nanos(1004));
  EXPECT_EQ(costs.time(f.op("rows"), f.gpu0), costs.time(f.op("rows"), f.gpu1));
  EXPECT_EQ(costs.time(f.op("flat"), f.gpu0), Nanos(0));
  EXPECT_EQ(costs.source(f.op("rows")), CostSource::kModelled);
  EXPECT_THAT(report.unknown_types, ElementsAre("org.example.Mystery", "org.example.Text"));
}

TEST(ModelCosts, OpsOfAFormatWithItsOwnTimesHaveNoUnknownTypes) {
  GraphBuilder builder("profile", "of any name");
  const TensorId x = builder.AddInput("x", TensorKind::kInput, DType::kOpaque, {}, Bytes(8)).Take();
  OpSpec spec;
  spec.name = spec.type = "step";
  spec.inputs = {x};
  ASSERT_TRUE(builder.AddOp(std::move(spec)).ok());
  EXPECT_THAT(UnknownTypes(std::move(builder).Build().Take()), ElementsAre());
}

TEST(ModelCosts, StringsRunOnCpusAlone) {
  const Fixture f;
  const CostTable costs = f.Costs().Take();
  EXPECT_FALSE(costs.Supports(f.op("text"), f.gpu0));
  EXPECT_TRUE(costs.Supports(f.op("text"), f.cpu));
}

TEST(ModelCosts, ProfileTf1KeepsLookupsOnCpus) {
  const Fixture f;
  CostOptions options;
  options.profile = "tf1";
  const CostTable costs = f.Costs(options).Take();
  for (const char* lookup : {"rows", "picked"}) {
    EXPECT_FALSE(costs.Supports(f.op(lookup), f.gpu0)) << lookup;
    EXPECT_TRUE(costs.Supports(f.op(lookup), f.cpu)) << lookup;
  }
  EXPECT_TRUE(costs.Supports(f.op("mystery"), f.gpu0));
  EXPECT_TRUE(f.Costs().Take().Supports(f.op("rows"), f.gpu0));
  options.profile = "tf2";
  EXPECT_THAT(f.Costs(options).error().message, HasSubstr("did you mean tf1"));
}

TEST(ModelCosts, LaterOverridesWinAndAreMarked) {
  const Fixture f;
  CostOverride all, one;
  all.type = "*embedding*";
  all.time = Nanos(500);
  one.op = "rows";
  one.device = "*gpu1";
  one.scale = 3;
  one.source = CostSource::kModelled;
  const CostTable costs = f.Costs({"default", {all, one}}).Take();
  EXPECT_EQ(costs.time(f.op("rows"), f.gpu0), Nanos(500));
  EXPECT_EQ(costs.time(f.op("rows"), f.gpu1), Nanos(1500));  // 3 times what held so far
  EXPECT_EQ(costs.source(f.op("rows"), f.gpu0), CostSource::kMeasured);
  EXPECT_EQ(costs.source(f.op("rows"), f.gpu1), CostSource::kModelled);
  EXPECT_EQ(costs.source(f.op("rows")), CostSource::kModelled);
  EXPECT_EQ(costs.source(f.op("mystery")), CostSource::kModelled);
}

TEST(ModelCosts, AnOverrideOfEverythingLeavesViewsFree) {
  const Fixture f;
  CostOverride all;
  all.type = "*";
  all.time = Nanos(77);
  const CostTable costs = f.Costs({"default", {all}}).Take();
  EXPECT_EQ(costs.time(f.op("flat"), f.gpu0), Nanos(0));
  EXPECT_EQ(costs.time(f.op("mystery"), f.gpu0), Nanos(77));
  EXPECT_EQ(costs.time(f.op("text"), f.gpu0), Nanos(77));  // a time makes it supported
}

TEST(ModelCosts, AnOverrideThatMatchesNothingIsAnError) {
  const Fixture f;
  CostOverride line;
  line.op = "row";
  line.place = "line 3, column 5";
  const Error error = f.Costs({"default", {line}}).error();
  EXPECT_EQ(error.code, ErrorCode::kField);
  EXPECT_EQ(error.place, "line 3, column 5");
  EXPECT_THAT(error.message, HasSubstr("did you mean rows"));
  line.op = "rows";
  line.device = "host0/gpu3";
  EXPECT_THAT(f.Costs({"default", {line}}).error().message, HasSubstr("no device is like"));
  line.op = "flat";  // a view
  line.device = "";
  EXPECT_FALSE(f.Costs({"default", {line}}).ok());
}

TEST(CostShares, WeighTimesByTheirSource) {
  CostTable costs(3, 2);
  IdVector<OpId, DeviceId> placement(3, DeviceId(0));
  for (OpId op : IdRange<OpId>(3)) {
    costs.SetTime(op, DeviceId(0), Nanos(100));
    costs.SetTime(op, DeviceId(1), Nanos(300));
  }
  costs.SetSource(OpId(0), CostSource::kMeasured);
  costs.SetSource(OpId(1), DeviceId(1), CostSource::kGiven);
  placement[OpId(1)] = DeviceId(1);
  // 100 measured, 300 given, 100 modelled of 500.
  const CostShares shares = SharesOf(costs, placement);
  EXPECT_DOUBLE_EQ(shares.measured, 0.2);
  EXPECT_DOUBLE_EQ(shares.given, 0.6);
  EXPECT_DOUBLE_EQ(shares.modelled, 0.2);
  EXPECT_EQ(SharesOf(CostTable(0, 2), {}).modelled, 0);
  // Where nothing takes time, one op of three was measured.
  for (OpId op : IdRange<OpId>(3)) {
    for (DeviceId device : IdRange<DeviceId>(2)) costs.SetTime(op, device, Nanos(0));
  }
  placement[OpId(1)] = DeviceId(0);
  EXPECT_DOUBLE_EQ(SharesOf(costs, placement).measured, 1.0 / 3);
  EXPECT_DOUBLE_EQ(SharesOf(costs, placement).modelled, 2.0 / 3);
}

}  // namespace
}  // namespace placewright
