// Workloads and splits: what is read, what they become, and what damaged ones give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "formats/dnn_partitioning/format.h"
#include "formats/dnn_partitioning/split_writer.h"
#include "formats/dnn_partitioning/workload_graph.h"
#include "formats/dnn_partitioning/workload_reader.h"
#include "formats/dnn_partitioning/workload_scale.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// 7 -> 3 -> 8, where 8 is backward and of the class of 7; 3 runs on CPUs only.
const char kSmallWorkload[] = R"({
  "maxSizePerFPGA": 1000.5, "maxFPGAs": 2.0, "maxCPUs": 1, "comment": [],
  "nodes": [
    {"id": 7, "name": "a", "cpuLatency": 2, "fpgaLatency": 0.25, "size": 100.5,
     "supportedOnFpga": 1, "isBackwardNode": false, "colorClass": 5, "layerId": 1},
    {"id": 3, "name": "b", "cpuLatency": 1.5, "fpgaLatency": 9, "supportedOnFpga": false,
     "isBackwardNode": 0},
    {"id": 8, "name": "c", "cpuLatency": 4, "fpgaLatency": 0.5, "size": 600,
     "supportedOnFpga": true, "isBackwardNode": 1, "colorClass": 5}],
  "edges": [{"sourceId": 7, "destId": 3, "cost": 0.5, "size": 77},
            {"sourceId": 7, "destId": 8, "cost": 0.5000001},
            {"sourceId": 3, "destId": 8, "cost": 0.125}]})";

Json SmallWorkload() { return ParseJson(kSmallWorkload).Take(); }

PipelineWorkload GoodWorkload(const Json& document) {
  auto result = ReadWorkload(document);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
  return result.Take();
}

TEST(Workload, IsReadAsItStands) {
  const PipelineWorkload w = GoodWorkload(SmallWorkload());
  EXPECT_EQ(w.accelerator_memory, 1000.5);
  EXPECT_EQ(w.accelerators, 2);
  EXPECT_EQ(w.cpus, 1);
  ASSERT_EQ(w.nodes.size(), 3u);
  EXPECT_EQ(w.nodes[0].id, 7);
  EXPECT_EQ(w.nodes[0].size, 100.5);
  EXPECT_EQ(w.nodes[0].color_class, 5);
  EXPECT_FALSE(w.nodes[1].runs_on_accelerator);
  EXPECT_EQ(w.nodes[1].size, 0);
  EXPECT_FALSE(w.nodes[1].color_class.has_value());
  EXPECT_TRUE(w.nodes[2].backward);
  EXPECT_EQ(w.output_cost, (std::vector<double>{0.5, 0.125, 0}));  // of the first edge
  EXPECT_EQ(w.edges[2].from, 1);
  EXPECT_EQ(w.edges[2].to, 2);
}

TEST(Workload, BecomesAPlanningProblem) {
  const CostGraph g = WorkloadToCostGraph(GoodWorkload(SmallWorkload())).Take();
  ASSERT_EQ(g.graph.op_count(), 3u);
  EXPECT_EQ(g.graph.op(OpId(1)).name, "b");
  EXPECT_EQ(g.graph.op(OpId(2)).phase, Phase::kBackward);
  EXPECT_EQ(g.graph.group(OpId(0)), g.graph.group(OpId(2)));  // one colour class
  EXPECT_NE(g.graph.group(OpId(0)), g.graph.group(OpId(1)));
  EXPECT_EQ(g.graph.edge_count(), 3u);
  ASSERT_EQ(g.cluster.DeviceNames(),
            (std::vector<std::string>{"accelerator1", "accelerator2", "cpu1"}));
  // A unit of time is a millisecond. b runs on no accelerator.
  EXPECT_EQ(g.costs.time(OpId(0), DeviceId(1)), Nanos(250'000));
  EXPECT_EQ(g.costs.time(OpId(0), DeviceId(2)), Nanos(2'000'000));
  EXPECT_FALSE(g.costs.Supports(OpId(1), DeviceId(0)));
  EXPECT_EQ(g.costs.time(OpId(1), DeviceId(2)), Nanos(1'500'000));
  EXPECT_EQ(g.costs.source(OpId(1)), CostSource::kGiven);
}

Bytes MemoryOf(const CostGraph& g, std::string_view node) {
  const TensorId tensor = g.graph.FindTensor(std::string(node) + "/memory");
  return g.graph.storage(g.graph.tensor(tensor).storage).bytes;
}

// Sizes are rounded up, limits down. The activations of a and b, 16,384 and 4,096 B (below), and a
// granule of 512 for each of the three sizes are less than a 32nd of the limit.
TEST(Workload, LargeSizesAreBytes) {
  Json document = SmallWorkload();
  document["maxSizePerFPGA"] = 1e6 + 0.5;
  const CostGraph g = WorkloadToCostGraph(GoodWorkload(document)).Take();
  EXPECT_EQ(MemoryOf(g, "a"), Bytes(101));
  EXPECT_EQ(g.cluster.device(DeviceId(0)).capacity, Bytes(1'000'000));
  EXPECT_FALSE(ScaleOf(GoodWorkload(document)).exact());
}

// Sizes and limit sum to 100.5 + 600 + 1,000.5 = 1,701 < 2^11: they count 2^39 times. Uncounted are
// 16,384 + 4,096 + 3 * 512 + 1 = 22,017 B.
TEST(Workload, SmallSizesAreMultiplied) {
  const PipelineWorkload w = GoodWorkload(SmallWorkload());
  const CostGraph g = WorkloadToCostGraph(w).Take();
  const int64_t factor = int64_t{1} << 39;
  EXPECT_EQ(MemoryOf(g, "a"), Bytes(201 * (factor / 2)));
  EXPECT_EQ(g.cluster.device(DeviceId(0)).capacity, Bytes(2001 * (factor / 2) + 22'017));
  EXPECT_TRUE(ScaleOf(w).exact());
  EXPECT_THAT(WorkloadNotes(w), testing::Contains(HasSubstr("multiplied by 549755813888")));
}

TEST(Workload, MovingTakesItsCost) {
  const CostGraph g = WorkloadToCostGraph(GoodWorkload(SmallWorkload())).Take();
  // The largest cost, 0.5 ms, is 16,384 B: 32,768,000 B/s. b's 0.125 ms are 4,096 B.
  const Bytes a = g.graph.tensor(g.graph.FindTensor("a")).bytes;
  const Bytes b = g.graph.tensor(g.graph.FindTensor("b")).bytes;
  EXPECT_EQ(a, Bytes(16'384));
  EXPECT_EQ(b, Bytes(4'096));
  const DeviceId first(0), second(1), cpu(2);
  EXPECT_EQ(g.cluster.TransferDuration(first, cpu, a), Nanos(500'000));
  EXPECT_EQ(g.cluster.TransferDuration(cpu, second, b), Nanos(125'000));
  // From accelerator to accelerator through the host: out and in again.
  EXPECT_EQ(g.cluster.TransferDuration(first, second, a), Nanos(1'000'000));
}

TEST(Workload, WithoutNamesOrWithEqualOnesIdsName) {
  Json document = SmallWorkload();
  document["nodes"][2]["name"] = "a";
  const CostGraph g = WorkloadToCostGraph(GoodWorkload(document)).Take();
  EXPECT_EQ(g.graph.op(OpId(0)).name, "node7");
  EXPECT_EQ(g.graph.op(OpId(2)).name, "node8");
}

TEST(Workload, NeedsDevicesToBecomeAProblem) {
  for (const int64_t accelerators : {0, 1025}) {
    Json document = SmallWorkload();
    document["maxFPGAs"] = accelerators;
    document["maxCPUs"] = 0;
    const auto result = WorkloadToCostGraph(GoodWorkload(document));
    ASSERT_FALSE(result.ok()) << accelerators;
    EXPECT_EQ(result.error().code, ErrorCode::kClusterInvalid);
  }
}

TEST(Workload, ASmallFileMakesNoHugeTable) {
  Json document = SmallWorkload();
  document["maxFPGAs"] = 1000;
  document["edges"] = Json::array();
  const Json node = document["nodes"][1];
  document["nodes"] = Json::array();
  for (int i = 0; i < 33'600; ++i) {  // times 1,001 devices: beyond 2^25
    document["nodes"].push_back(node);
    document["nodes"].back()["id"] = i;
  }
  const auto result = WorkloadToCostGraph(GoodWorkload(document));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kFileTooLarge);
}

struct BadCase {
  const char* what;
  ErrorCode code;
  const char* place;
  void (*damage)(Json& document);
};

TEST(Workload, BadFieldsAreNamed) {
  const BadCase cases[] = {
      {"a negative time", ErrorCode::kField, "nodes[1].cpuLatency",
       [](Json& d) { d["nodes"][1]["cpuLatency"] = -1; }},
      {"a huge time", ErrorCode::kField, "nodes[0].fpgaLatency",
       [](Json& d) { d["nodes"][0]["fpgaLatency"] = 1e300; }},
      {"a text for a size", ErrorCode::kField, "nodes[0].size",
       [](Json& d) { d["nodes"][0]["size"] = "1"; }},
      {"a fraction for an id", ErrorCode::kField, "nodes[0].id",
       [](Json& d) { d["nodes"][0]["id"] = 7.5; }},
      {"2 for a flag", ErrorCode::kField, "nodes[2].isBackwardNode",
       [](Json& d) { d["nodes"][2]["isBackwardNode"] = 2; }},
      {"no flag", ErrorCode::kField, "nodes[2]",
       [](Json& d) { d["nodes"][2].erase("supportedOnFpga"); }},
      {"a node that is none", ErrorCode::kField, "nodes[1]", [](Json& d) { d["nodes"][1] = 3; }},
      {"an id twice", ErrorCode::kDuplicateName, "nodes[1].id",
       [](Json& d) { d["nodes"][1]["id"] = 7; }},
      {"an edge to nothing", ErrorCode::kUnknownName, "edges[1].destId",
       [](Json& d) { d["edges"][1]["destId"] = 99; }},
      {"another cost", ErrorCode::kWorkloadCost, "edges[1].cost",
       [](Json& d) { d["edges"][1]["cost"] = 0.50001; }},
      {"a negative limit", ErrorCode::kField, "maxSizePerFPGA",
       [](Json& d) { d["maxSizePerFPGA"] = -1; }},
      {"no limit", ErrorCode::kField, "", [](Json& d) { d.erase("maxSizePerFPGA"); }},
      {"a fraction of a device", ErrorCode::kField, "maxFPGAs",
       [](Json& d) { d["maxFPGAs"] = 1.5; }},
      {"absurdly many devices", ErrorCode::kField, "maxCPUs", [](Json& d) { d["maxCPUs"] = 1e30; }},
      {"no edges", ErrorCode::kField, "", [](Json& d) { d.erase("edges"); }},
  };
  for (const BadCase& c : cases) {
    Json document = SmallWorkload();
    c.damage(document);
    const auto result = ReadWorkload(document);
    ASSERT_FALSE(result.ok()) << c.what;
    EXPECT_EQ(result.error().code, c.code) << c.what;
    EXPECT_EQ(result.error().place, c.place) << c.what;
  }
}

TEST(Workload, ACycleIsReadButIsNoProblem) {
  Json document = SmallWorkload();
  document["edges"].push_back({{"sourceId", 8}, {"destId", 3}, {"cost", 1}});
  const auto result = WorkloadToCostGraph(GoodWorkload(document));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kGraphCycle);
}

// Whatever a damaged file still is, nothing worse than an error comes of it.
void Digest(std::string_view text) {
  const auto document = ParseJson(text);
  if (!document.ok()) return;
  const auto workload = ReadWorkload(document.value());
  if (workload.ok()) (void)WorkloadToCostGraph(workload.value());
  if (IsSplit(document.value())) (void)ReadSplit(document.value());
}

TEST(Workload, DamagedBytes) {
  const std::string good(kSmallWorkload);
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseJson(good.substr(0, length)).ok()) << length;
  }
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    Digest(bad);
  }
}

TEST(Split, ReadsAndWritesWhatThePackageDoes) {
  const auto split =
      ReadSplit(ParseJson(R"({"maxLoad": 3, "fpgas": [{"nodes": [7, 8], "load": 1}, {"nodes": []}],
                    "cpus": [{"nodes": [3]}]})")
                    .Take());
  ASSERT_TRUE(split.ok()) << split.error().ToString();
  EXPECT_EQ(split.value().accelerators, (std::vector<std::vector<int64_t>>{{7, 8}, {}}));
  EXPECT_EQ(split.value().cpus, (std::vector<std::vector<int64_t>>{{3}}));
  const auto again = ReadSplit(ParseJson(WriteSplit(split.value())).Take());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().accelerators, split.value().accelerators);
  EXPECT_EQ(again.value().cpus, split.value().cpus);
}

TEST(Split, IntegersMayHaveAPoint) {
  const auto split = ReadSplit(ParseJson(R"({"fpgas": [{"nodes": [1.0, 2]}]})").Take());
  ASSERT_TRUE(split.ok()) << split.error().ToString();
  EXPECT_EQ(split.value().accelerators, (std::vector<std::vector<int64_t>>{{1, 2}}));
}

TEST(Split, IsRecognised) {
  const auto is_split = [](const char* text) { return IsSplit(ParseJson(text).Take()); };
  EXPECT_TRUE(is_split(R"({"fpgas": []})"));
  EXPECT_TRUE(is_split(R"({"fpgas": {}})"));             // a bad one, but no map of devices
  EXPECT_FALSE(is_split(R"({"fpgas": "host0/gpu0"})"));  // an op of that name
  EXPECT_FALSE(is_split(R"({"cpus": [], "edges": []})"));
}

TEST(Split, BadOnes) {
  for (const char* text :
       {R"([])", R"({"a": 1})", R"({"fpgas": 1})", R"({"fpgas": {}})", R"({"fpgas": [1]})",
        R"({"fpgas": [{}]})", R"({"cpus": [{"nodes": ["1"]}]})", R"({"cpus": [{"nodes": [1.5]}]})",
        R"({"cpus": [{"nodes": [1e30]}]})", R"({"fpgas": [], "cpus": [], "edges": []})"}) {
    const auto split = ReadSplit(ParseJson(text).Take());
    ASSERT_FALSE(split.ok()) << text;
    EXPECT_EQ(split.error().code, ErrorCode::kField) << text;
  }
}

TEST(Split, PlacesOpsAndComesBack) {
  const PipelineWorkload w = GoodWorkload(SmallWorkload());
  // 8 is not listed and follows 7.
  const auto named = PlacementOfSplit(w, {{{}, {7}}, {{3}}});
  ASSERT_TRUE(named.ok()) << named.error().ToString();
  EXPECT_EQ(named.value(),
            (NamedPlacement{{"a", "accelerator2"}, {"b", "cpu1"}, {"c", "accelerator2"}}));
  const CostGraph g = WorkloadToCostGraph(w).Take();
  const Split split =
      SplitOfPlacement(w, ResolvePlacement(named.value(), g.graph, g.cluster).Take());
  EXPECT_EQ(split.accelerators, (std::vector<std::vector<int64_t>>{{}, {7, 8}}));
  EXPECT_EQ(split.cpus, (std::vector<std::vector<int64_t>>{{3}}));
  const auto beyond = PlacementOfSplit(w, {{{}, {}, {7}}, {{3}}});
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::kSplitDevices);
  EXPECT_EQ(beyond.error().place, "fpgas[2]");
  EXPECT_EQ(PlacementOfSplit(w, {{{7}}, {}}).error().code, ErrorCode::kSplitIncomplete);
}

TEST(Workload, EveryPublicOneIsReadWhole) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(PLACEWRIGHT_SHARED_DATA) / "public/dnn-partitioning";
  if (!fs::exists(folder)) GTEST_SKIP() << "no folder of real data: " << folder;
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    const auto loaded = LoadGraph(entry.path().string());
    ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
    EXPECT_EQ(loaded.value().format, &kDnnPartitioningFormat);
    const PipelineWorkload& w = *loaded.value().Details<PipelineWorkload>();
    EXPECT_EQ(loaded.value().graph.op_count(), w.nodes.size());
    EXPECT_EQ(loaded.value().graph.edge_count(), w.edges.size());
    EXPECT_EQ(loaded.value().graph.op(OpId(0)).name, w.nodes[0].name);
    EXPECT_EQ(static_cast<int64_t>(loaded.value().cluster->device_count()),
              w.accelerators + w.cpus);
  }
  EXPECT_EQ(files, 15u);
}

}  // namespace
}  // namespace placewright
