// The simulator and the checker, which share no code, agree on every recorded training step and on
// every model of the data folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "check_plan/placement_check.h"
#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "simulated_plan.h"

namespace placewright::tests {
namespace {

class CheckerCorpus : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::error_code ignored;
    const std::string folder = std::string(PLACEWRIGHT_SHARED_DATA) + "/" + GetParam();
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.is_regular_file()) paths_.push_back(entry.path().string());
    }
    std::sort(paths_.begin(), paths_.end());
    if (paths_.empty()) GTEST_SKIP() << folder << " is missing";
  }

  std::vector<std::string> paths_;
};

TEST_P(CheckerCorpus, AgreesWithTheSimulator) {
  Random random(1);
  for (const std::string& path : paths_) {
    Result<LoadedGraph> graph = LoadGraph(path);
    if (!graph.ok() && graph.error().code == ErrorCode::kGraphShape) continue;  // needs --batch
    ASSERT_TRUE(graph.ok()) << graph.error().ToString();
    for (const char* preset : {"4xP100", "mixed-lab"}) {
      const Cluster cluster = MakePreset(preset).Take();
      const CostTable costs = ModelCosts(graph.value().graph, cluster, {}).Take();
      // Long runs of groups on one device, and every group anywhere.
      for (const auto& [policy, spread] : {std::pair(SchedulingPolicy::kFifo, 0.02),
                                           std::pair(SchedulingPolicy::kCriticalPath, 1.0),
                                           std::pair(SchedulingPolicy::kProgram, 0.02)}) {
        const Placement placement =
            RandomPlacement(graph.value().graph, cluster, costs, spread, random);
        ASSERT_EQ(Verdict(graph.value(), cluster, costs, placement,
                          Simulate(graph.value().graph, cluster, costs, placement, policy)),
                  "holds")
            << path << " on " << preset << ", " << ToString(policy);
      }
    }
  }
}

// The colocation that the checker works out from storages never asks for more than the groups that
// planners keep together.
TEST_P(CheckerCorpus, SharedStoragesLieWithinColocationGroups) {
  for (const std::string& path : paths_) {
    const Result<LoadedGraph> loaded = LoadGraph(path);
    if (!loaded.ok()) continue;
    const Graph& graph = loaded.value().graph;
    const auto min = check::SharedStorageSets(graph);
    for (OpId op : graph.ops()) {
      ASSERT_EQ(graph.group(op), graph.group(min[op])) << path << " " << graph.op(op).name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, CheckerCorpus, ::testing::Values("fx", "onnx"),
                         [](const auto& folder) { return std::string(folder.param); });

}  // namespace
}  // namespace placewright::tests
