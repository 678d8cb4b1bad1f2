// Plans as files: written beside each other, loaded back, checked; and refused after any change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "check_plan/checker.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "formats/plan/plan_files.h"
#include "formats/plan/plan_json.h"
#include "formats/text/file.h"
#include "simulated_plan.h"

namespace placewright::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Two devices, a shared outgoing link, ties, a parameter with a home, an op without duration.
constexpr std::string_view kCostGraph = R"({"schema": "placewright.costgraph/1", "name": "small",
  "devices": [{"name": "d0", "memory_bytes": 100000}, {"name": "d1", "memory_bytes": 100000}],
  "links": [{"name": "l", "bandwidth": 1000000000, "latency_ns": 3},
            {"name": "m", "bandwidth": 500000000, "latency_ns": 1}],
  "routes": [{"from": "d0", "to": "d1", "links": ["l"]}, {"from": "d1", "to": "d0", "links": ["m"]}],
  "tensors": [{"name": "w", "bytes": 4000, "kind": "parameter"}, {"name": "x", "bytes": 100,
    "kind": "input"}, {"name": "y", "bytes": 700}, {"name": "z", "bytes": 300},
    {"name": "v", "bytes": 10}],
  "ops": [{"name": "a", "time_ns": [50, 70], "inputs": ["x", "w"], "outputs": ["y"]},
          {"name": "b", "time_ns": [20, 30], "inputs": ["x"], "outputs": ["z"]},
          {"name": "c", "time_ns": [10, 5], "inputs": ["y", "z", "w"], "outputs": ["v"]},
          {"name": "d", "time_ns": [0, null], "inputs": ["v"], "outputs": []}],
  "homes": {"w": "d0"}})";

class PlanFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("placewright-" + std::to_string(getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  void Write(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;  // no fsync: there are thousands
  }

  // A cost graph on its own devices: a, b and d on d0, c on d1.
  void WriteSmallPlan() {
    Write(Path("small.json"), kCostGraph);
    LoadedGraph graph = LoadGraph(Path("small.json")).Take();
    const Placement placement =
        ResolvePlacement({{"a", "d0"}, {"b", "d0"}, {"c", "d1"}, {"d", "d0"}}, graph.graph,
                         *graph.cluster)
            .Take();
    SimulatedPlan simulated =
        Simulate(graph.graph, *graph.cluster, *graph.costs, placement, SchedulingPolicy::kFifo);
    simulated.plan.graph = {graph.path, graph.sha256};
    simulated.plan.cluster = {std::string(kClusterInGraph), ClusterHash(*graph.cluster)};
    const Status written = WritePlanFiles(simulated.plan, *graph.costs, simulated.schedule,
                                          graph.graph, *graph.cluster, PlanPath());
    ASSERT_TRUE(written.ok()) << written.error().ToString();
  }

  // The plan file with another content and the digest that belongs to it.
  void WriteWithDigest(Json document) {
    document["digest"] = PlanDigest(document);
    Write(PlanPath(), FormatDocument(document));
  }

  std::string PlanPath() const { return Path("small.plan.json"); }

  // "holds", or the code of the error, or "code name: ..." of the violation.
  std::string Verdict(const PlanInputOptions& options = {}) const {
    auto checked = check::LoadAndCheckPlan(PlanPath(), options);
    if (!checked.ok()) return checked.error().ToString();
    const check::MaybeViolation& violation = checked.value().violation;
    return violation ? ToError(*violation).ToString() : "holds";
  }

  static Json Load(const std::string& path) { return ParseJson(ReadFile(path).Take()).Take(); }

  fs::path folder_;
};

std::vector<Json::json_pointer> NumbersOf(const Json& document) {
  std::vector<Json::json_pointer> places;
  const Json flat = document.flatten();
  for (auto it = flat.begin(); it != flat.end(); ++it) {
    if (it->is_number()) places.emplace_back(it.key());
  }
  return places;
}

// Several other values for a number of a file.
std::vector<Json> OthersFor(const Json& number) {
  if (number.is_number_float()) {
    const double value = number.get<double>();
    return {value + 0.001, value / 2 + 1e-7, 0.123};
  }
  if (number.get<uint64_t>() > INT64_MAX / 2) return {number.get<uint64_t>() - 1};
  const int64_t value = number.get<int64_t>();
  return {value + 1, value - 1, 2 * value + 3};
}

TEST_F(PlanFiles, ARoundTripHolds) {
  WriteSmallPlan();
  EXPECT_EQ(Verdict(), "holds");
  EXPECT_TRUE(fs::exists(Path("small.plan.costs.json")));
  EXPECT_TRUE(fs::exists(Path("small.plan.schedule.json")));
  const Plan plan = LoadPlan(PlanPath()).Take();
  // The graph lies beside the plan, so it is named relative to it, and the folder can be moved.
  EXPECT_EQ(plan.graph.path, "small.json");
  EXPECT_EQ(plan.costs.path, "small.plan.costs.json");
  const fs::path moved = folder_.string() + "-moved";
  fs::rename(folder_, moved);
  folder_ = moved;
  EXPECT_EQ(Verdict(), "holds");
}

TEST_F(PlanFiles, RejectsThePlanWithAnyNumberChanged) {
  WriteSmallPlan();
  const Json good = Load(PlanPath());
  const auto places = NumbersOf(good);
  EXPECT_GT(places.size(), 25u);
  for (const auto& place : places) {
    for (const Json& other : OthersFor(good[place])) {
      if (other == good[place]) continue;
      Json changed = good;
      changed[place] = other;
      Write(PlanPath(), FormatDocument(changed));
      EXPECT_NE(Verdict(), "holds") << place.to_string() << " = " << other.dump();
    }
  }
  Write(PlanPath(), FormatDocument(good));
  EXPECT_EQ(Verdict(), "holds");
}

TEST_F(PlanFiles, RejectsCostsAndScheduleWithAnyNumberChanged) {
  for (const char* part : {"costs", "schedule"}) {
    WriteSmallPlan();
    const std::string path = Path(std::string("small.plan.") + part + ".json");
    const Json good = Load(path);
    Json plan = Load(PlanPath());
    for (const auto& place : NumbersOf(good)) {
      for (const Json& other : OthersFor(good[place])) {
        Json changed = good;
        changed[place] = other;
        const std::string text = FormatDocument(changed);
        Write(path, text);
        WriteWithDigest(plan);
        EXPECT_THAT(Verdict(), HasSubstr("plan-mismatch")) << place.to_string();
        // Even if the plan is made to name the new content.
        if (place.back() == "workspace_bytes") continue;  // checked where it is the largest only
        Json forged = plan;
        forged[part]["sha256"] = Sha256(text);
        WriteWithDigest(forged);
        EXPECT_NE(Verdict(), "holds") << part << place.to_string() << " = " << other.dump();
      }
    }
  }
}

TEST_F(PlanFiles, RejectsAnotherGraphAndAnotherCluster) {
  WriteSmallPlan();
  std::string other(kCostGraph);
  other.replace(other.find("700"), 3, "701");
  Write(Path("other.json"), other);
  PlanInputOptions options;
  options.graph = Path("other.json");
  EXPECT_THAT(Verdict(options), HasSubstr("plan-mismatch"));
  options.graph = Path("small.json");
  EXPECT_EQ(Verdict(options), "holds");
  options.cluster = "2xV100";
  EXPECT_THAT(Verdict(options), HasSubstr("plan-mismatch"));
  fs::remove(Path("small.json"));
  EXPECT_THAT(Verdict(), HasSubstr("file-unreadable"));
}

TEST_F(PlanFiles, NamesWhatIsWrongWithAPlanFile) {
  Write(PlanPath(), "{\"schema\": \"placewright.plan/9\"}");
  EXPECT_THAT(Verdict(), HasSubstr("\"placewright.plan/9\", which a newer Placewright writes"));
  Write(PlanPath(), "{\"schema\": ");
  EXPECT_THAT(Verdict(), HasSubstr("line 1"));
}

TEST_F(PlanFiles, AnUnwritableFolderLeavesNothing) {
  WriteSmallPlan();
  PlanInputs inputs = LoadPlanInputs(PlanPath()).Take();
  const Status written =
      WritePlanFiles(inputs.plan, inputs.costs, inputs.schedule.schedule, inputs.graph.graph,
                     inputs.cluster.cluster, Path("no/such/folder/p.json"));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kFileUnwritable);
}

// Where the plan cannot be written, the files of the earlier one are as they were.
TEST_F(PlanFiles, AFailureLeavesTheEarlierFiles) {
  WriteSmallPlan();
  PlanInputs inputs = LoadPlanInputs(PlanPath()).Take();
  const Json costs = Load(Path("small.plan.costs.json"));
  fs::remove(PlanPath());
  fs::create_directory(PlanPath());
  inputs.costs.SetWorkspace(OpId(0), Bytes(77));
  EXPECT_FALSE(WritePlanFiles(inputs.plan, inputs.costs, inputs.schedule.schedule,
                              inputs.graph.graph, inputs.cluster.cluster, PlanPath())
                   .ok());
  EXPECT_EQ(Load(Path("small.plan.costs.json")), costs);
}

// A real training step on a preset: every number of its plan counts.
TEST_F(PlanFiles, RealStepOnAPreset) {
  const std::string source = PLACEWRIGHT_SHARED_DATA "/fx/tiny_rnnlm_1x64_b2_t3_sgd.json.gz";
  if (!fs::exists(source)) GTEST_SKIP() << source << " is missing";
  LoadedGraph graph = LoadGraph(source).Take();
  const LoadedCluster cluster = LoadCluster("4xP100").Take();
  const CostTable costs = ModelCosts(graph.graph, cluster.cluster, {}).Take();
  Random random(3);
  const Placement placement = RandomPlacement(graph.graph, cluster.cluster, costs, 0.5, random);
  SimulatedPlan simulated =
      Simulate(graph.graph, cluster.cluster, costs, placement, SchedulingPolicy::kCriticalPath);
  simulated.plan.graph = {graph.path, graph.sha256};
  simulated.plan.cluster = {cluster.path, cluster.sha256};
  ASSERT_TRUE(WritePlanFiles(simulated.plan, costs, simulated.schedule, graph.graph,
                             cluster.cluster, PlanPath())
                  .ok());
  EXPECT_EQ(Verdict(), "holds");
  const Json good = Load(PlanPath());
  for (const auto& place : NumbersOf(good)) {
    Json changed = good;
    changed[place] = OthersFor(good[place]).front();
    Write(PlanPath(), FormatDocument(changed));
    EXPECT_NE(Verdict(), "holds") << place.to_string();
  }
}

// As plans were written before GPUs kept a reserve: their machines are as described.
TEST_F(PlanFiles, APlanWithoutReservesKeepsNone) {
  const std::string source = PLACEWRIGHT_SHARED_DATA "/fx/tiny_rnnlm_1x64_b2_t3_sgd.json.gz";
  if (!fs::exists(source)) GTEST_SKIP() << source << " is missing";
  LoadedGraph graph = LoadGraph(source).Take();
  for (const bool as_described : {true, false}) {
    const LoadedCluster cluster = LoadCluster("4xP100", {.as_described = as_described}).Take();
    const CostTable costs = ModelCosts(graph.graph, cluster.cluster, {}).Take();
    SimulatedPlan simulated =
        Simulate(graph.graph, cluster.cluster, costs,
                 Placement(graph.graph.op_count(), DeviceId(0)), SchedulingPolicy::kFifo);
    simulated.plan.graph = {graph.path, graph.sha256};
    simulated.plan.cluster = {cluster.path, cluster.sha256};
    ASSERT_TRUE(WritePlanFiles(simulated.plan, costs, simulated.schedule, graph.graph,
                               cluster.cluster, PlanPath())
                    .ok());
    EXPECT_EQ(Verdict(), "holds");
    Json old = Load(PlanPath());
    for (Json& device : old["devices"]) device.erase("reserve_bytes");
    WriteWithDigest(old);
    if (as_described) {
      EXPECT_EQ(Verdict(), "holds");
      EXPECT_EQ(LoadPlanInputs(PlanPath()).Take().cluster.cluster.device(DeviceId(0)).capacity,
                Bytes(int64_t{12} << 30));
    } else {
      EXPECT_THAT(Verdict(), HasSubstr("capacity_bytes"));  // 5% less than there is
    }
  }
}

// The published vectors of the simulator's rules, as plans.
TEST_F(PlanFiles, EveryVectorOfTheRules) {
  const std::string source = PLACEWRIGHT_SHARED_DATA "/simulator/vectors.json.gz";
  if (!fs::exists(source)) GTEST_SKIP() << source << " is missing";
  const Json vectors = Load(source);
  ASSERT_GT(vectors.size(), 50u);
  for (const Json& vector : vectors) {
    Json costgraph = vector;
    costgraph.erase("expected");
    Write(Path("small.json"), costgraph.dump());
    Result<LoadedGraph> graph = LoadGraph(Path("small.json"));
    ASSERT_TRUE(graph.ok()) << graph.error().ToString();
    const LoadedGraph& g = graph.value();
    const Placement placement = ResolvePlacement(*g.placement, g.graph, *g.cluster).Take();
    for (SchedulingPolicy policy : {SchedulingPolicy::kFifo, SchedulingPolicy::kCriticalPath}) {
      SimulatedPlan simulated = Simulate(g.graph, *g.cluster, *g.costs, placement, policy);
      simulated.plan.graph = {g.path, g.sha256};
      simulated.plan.cluster = {std::string(kClusterInGraph), ClusterHash(*g.cluster)};
      ASSERT_TRUE(WritePlanFiles(simulated.plan, *g.costs, simulated.schedule, g.graph, *g.cluster,
                                 PlanPath())
                      .ok());
      ASSERT_EQ(Verdict(), "holds") << vector["name"] << " " << ToString(policy);
      EXPECT_EQ(simulated.plan.step_time.count,
                vector["expected"][std::string(ToString(policy))]["step_time_ns"]);
    }
  }
}

}  // namespace
}  // namespace placewright::tests
