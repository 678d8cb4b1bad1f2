// The guard on real steps: training graphs of the data folder on presets. By default every graph meets
// some presets under either policy, and every preset some graphs; PLACEWRIGHT_MATRIX=all: each meets each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "search/evaluation/simulated.h"
#include "search/planner_table.h"
#include "search/proof/bound.h"
#include "search/proof/infeasibility.h"
#include "simulated_plan.h"

namespace placewright::tests {
namespace {

std::vector<std::string> TrainingGraphs() {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(PLACEWRIGHT_SHARED_DATA "/fx", ignored)) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Whether the graph and the preset of these numbers meet under the policy: a graph and every fifth preset,
// the next graph and the neighbours of these.
bool Meet(size_t graph, size_t preset, SchedulingPolicy policy) {
  const char* const stated = std::getenv("PLACEWRIGHT_MATRIX");
  if (stated != nullptr && std::string(stated) == "all") return true;
  return (graph + preset) % 5 == (policy == SchedulingPolicy::kFifo ? 0U : 2U);
}

void PlanOnPresets(LoadedGraph& graph, size_t number, SchedulingPolicy policy) {
  const PlannerTable table = MakeSearchPlanners();
  const std::unique_ptr<Planner> automatic = MakeAuto(table);
  for (size_t i = 0; i < Presets().size(); ++i) {
    if (!Meet(number, i, policy)) continue;
    const Preset& preset = Presets()[i];
    SCOPED_TRACE(graph.path + " on " + std::string(preset.name));
    const Cluster cluster = MakePreset(preset.name).Take();
    const CostTable costs = ModelCosts(graph.graph, cluster, {}).Take();
    const Problem problem = BuildProblem(graph.graph, cluster, costs, {}, policy).Take();
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem, 2);
    ASSERT_TRUE(CheckNotProvenInfeasible(problem, *evaluator, ConstructivePlans(table)).ok());
    PlannerOptions options;
    options.budget.iterations = 100;
    options.threads = 2;
    options.started = Clock::now();
    const PlannerResult result = automatic->Plan(problem, *evaluator, options).Take();
    EXPECT_TRUE(result.feasible);
    EXPECT_LE(LowerBound(problem).value.count, result.step_time.count);
    const auto in_auto = std::count_if(table.begin(), table.end(), [&](const auto& planner) {
      const IterativePlanner* search = planner->AsIterative();
      return planner->in_auto() && (search == nullptr || search->joins_after(problem) <= 100);
    });
    EXPECT_EQ(result.baselines.size(), static_cast<size_t>(in_auto));
    for (const Baseline& baseline : result.baselines) {
      if (baseline.feasible) {
        EXPECT_LE(result.step_time.count, baseline.step_time.count) << baseline.algorithm;
      }
    }
    const SimulatedPlan simulated = Simulate(graph.graph, cluster, costs, result.placement, policy);
    EXPECT_EQ(simulated.plan.step_time, result.step_time);
    EXPECT_EQ(simulated.plan.feasible, result.feasible);
    EXPECT_EQ(Verdict(graph, cluster, costs, result.placement, simulated), "holds");
  }
}

TEST(PlannerMatrix, StepsOnPresets) {
  const std::vector<std::string> paths = TrainingGraphs();
  if (paths.empty()) GTEST_SKIP() << PLACEWRIGHT_SHARED_DATA "/fx is missing";
  for (size_t i = 0; i < paths.size(); ++i) {
    Result<LoadedGraph> graph = LoadGraph(paths[i]);
    ASSERT_TRUE(graph.ok()) << graph.error().ToString();
    PlanOnPresets(graph.value(), i, SchedulingPolicy::kFifo);
    PlanOnPresets(graph.value(), i, SchedulingPolicy::kCriticalPath);
  }
}

}  // namespace
}  // namespace placewright::tests
