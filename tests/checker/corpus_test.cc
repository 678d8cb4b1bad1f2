// The simulator and the checker, which share no code, agree on every recorded training step.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "check_plan/checker.h"
#include "check_plan/placement_check.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "formats/aten_reader.h"
#include "formats/file.h"
#include "formats/plan_json.h"
#include "simulated_plan.h"

namespace placewright::tests {
namespace {

std::vector<std::string> TrainingGraphs() {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLACEWRIGHT_SHARED_DATA "/fx", ignored)) {
    if (entry.path().string().ends_with(".json.gz")) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

PlanInputs Assemble(const Cluster& cluster, const CostTable& costs, const Placement& placement,
                    SimulatedPlan simulated) {
  PlanInputs inputs;
  inputs.plan = std::move(simulated.plan);
  inputs.cluster.cluster = cluster;
  inputs.costs = costs;
  inputs.schedule = {std::move(simulated.schedule), placement};
  inputs.document = PlanToJson(inputs.plan);
  return inputs;
}

TEST(CheckerCorpus, AgreesWithTheSimulatorOnEveryTrainingGraph) {
  const std::vector<std::string> paths = TrainingGraphs();
  if (paths.empty()) GTEST_SKIP() << "no training graphs under " PLACEWRIGHT_SHARED_DATA "/fx";
  Random random(1);
  for (const std::string& path : paths) {
    Result<std::string> text = ReadFile(path);
    ASSERT_TRUE(text.ok()) << text.error().ToString();
    Result<Graph> graph = ReadAtenGraph(text.value());
    ASSERT_TRUE(graph.ok()) << path << graph.error().ToString();
    for (const char* preset : {"4xP100", "mixed-lab"}) {
      const Cluster cluster = MakePreset(preset).Take();
      const CostTable costs = ModelCosts(graph.value(), cluster, {}).Take();
      for (Order order : {Order::kFifo, Order::kCriticalPath}) {
        const double spread = order == Order::kFifo ? 0.02 : 1;
        const Placement placement = RandomPlacement(graph.value(), cluster, costs, spread, random);
        PlanInputs inputs = Assemble(cluster, costs, placement,
                                     Simulate(graph.value(), cluster, costs, placement, order));
        EXPECT_TRUE(spread < 1 || !inputs.schedule.schedule.transfers.empty()) << path;
        inputs.graph.graph = std::move(graph.value());
        const check::MaybeViolation violation = check::CheckPlan(inputs);
        graph.value() = std::move(inputs.graph.graph);
        ASSERT_FALSE(violation) << path << " on " << preset << ", " << ToString(order) << ": "
                                << ToError(*violation).ToString();
      }
    }
  }
}

// The colocation that the checker works out from storages never asks for more than the groups that
// planners keep together.
TEST(CheckerCorpus, SharedStoragesLieWithinColocationGroups) {
  const std::vector<std::string> paths = TrainingGraphs();
  if (paths.empty()) GTEST_SKIP() << "no training graphs under " PLACEWRIGHT_SHARED_DATA "/fx";
  for (const std::string& path : paths) {
    const Graph graph = ReadAtenGraph(ReadFile(path).Take()).Take();
    const auto least = check::SharedStorageSets(graph);
    size_t sets = 0;
    for (OpId op : graph.ops()) {
      sets += least[op] == op ? 1 : 0;
      ASSERT_EQ(graph.group(op), graph.group(least[op])) << path << " " << graph.op(op).name;
    }
    RecordProperty(std::filesystem::path(path).filename().string(), static_cast<int>(sets));
    EXPECT_GE(sets, graph.group_count()) << path;
  }
}

}  // namespace
}  // namespace placewright::tests
