// The guard on real steps: training graphs of the data folder on presets. By default every graph meets
// some presets under either policy, and every preset some graphs; PLACEWRIGHT_MATRIX=all: each meets each.
// And small steps whose ops may be split or copied.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cluster/catalogue.h"
#include "cost/cost_model.h"
#include "formats/input.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/simulated.h"
#include "search/evaluation/simulated_layouts.h"
#include "search/planner_table.h"
#include "search/problem/layout_problem.h"
#include "search/proof/bound.h"
#include "search/proof/infeasibility.h"
#include "search/proof/replicated_bound.h"
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

// Whether the graph and the preset of these numbers meet under the policy: a graph and every 45th preset, the
// next graph and the neighbours of these. Fifteen graphs meet every preset once, under one of the policies.
bool Meet(size_t graph, size_t preset, SchedulingPolicy policy) {
  const char* const stated = std::getenv("PLACEWRIGHT_MATRIX");
  if (stated != nullptr && std::string(stated) == "all") return true;
  return (graph + preset) % 45 == (policy == SchedulingPolicy::kFifo      ? 0U
                                   : policy == SchedulingPolicy::kProgram ? 15U
                                                                          : 30U);
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
    const Placement placement = PlacementOf(problem, result.plan);
    const SimulatedPlan simulated = Simulate(graph.graph, cluster, costs, placement, policy);
    EXPECT_EQ(simulated.plan.step_time, result.step_time);
    EXPECT_EQ(simulated.plan.feasible, result.feasible);
    EXPECT_EQ(Verdict(graph, cluster, costs, placement, simulated), "holds");
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
    PlanOnPresets(graph.value(), i, SchedulingPolicy::kProgram);
  }
}

// With constraints, which hold; a plan that splits ops is the compiled step, to the nanosecond and the byte.
void PlanLayouts(const LoadedGraph& graph, const Cluster& cluster, const Constraints& constraints,
                 bool& splits) {
  const auto layouts =
      LayoutProblem::Make(graph.graph, cluster, {}, SchedulingPolicy::kProgram).Take();
  const CostTable costs = ModelCosts(graph.graph, cluster, {}).Take();
  Problem problem =
      BuildProblem(graph.graph, cluster, costs, constraints, SchedulingPolicy::kProgram).Take();
  problem.layouts = layouts.get();
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem, 2);
  PlannerOptions options;
  options.budget.iterations = 400;
  options.threads = 2;
  options.started = Clock::now();
  PlannerTable table = MakeSearchPlanners();
  PlannerTable of_layouts = MakeLayoutPlanners();
  for (auto& planner : of_layouts) table.push_back(std::move(planner));
  const PlannerResult result = MakeAuto(table)->Plan(problem, *evaluator, options).Take();
  EXPECT_TRUE(result.feasible);
  EXPECT_LE(ReplicatedLowerBound(problem).value().value.count, result.step_time.count);
  int replicated = 0;
  for (const Baseline& baseline : result.baselines) {
    replicated += baseline.algorithm.starts_with("data-parallel");
    if (baseline.feasible) {
      EXPECT_LE(result.step_time.count, baseline.step_time.count) << baseline.algorithm;
    }
  }
  // Without a batch there are no samples to share out, and data parallelism is over all GPUs.
  if (layouts->axes.batch().valid() && constraints.Empty()) {
    EXPECT_GT(replicated, 0);
  }
  options.threads = 1;
  const PlannerResult alone = MakeAuto(table)->Plan(problem, *evaluator, options).Take();
  EXPECT_EQ(alone.step_time, result.step_time);
  EXPECT_EQ(alone.algorithm, result.algorithm);
  if (result.space == PlanSpace::kPlaced) return;
  splits = true;
  const CompiledStep compiled = DecideAndCompile(*layouts, result.plan).Take();
  const Evaluation evaluation = EvaluateStep(compiled);
  EXPECT_EQ(evaluation.step_time, result.step_time);
  EXPECT_EQ(evaluation.feasible, result.feasible);
  for (const OpId op : compiled.step.graph.ops()) {
    const OpId origin = compiled.step.origin[op];
    if (!origin.valid() || origin.index() >= problem.group_of.size()) continue;
    const std::vector<DeviceId>& allowed = problem.groups[problem.group_of[origin]].allowed;
    EXPECT_TRUE(std::binary_search(allowed.begin(), allowed.end(), compiled.step.placement[op]))
        << compiled.step.graph.op(op).name;
  }
}

TEST(PlannerMatrix, StepsWhoseOpsMayBeSplit) {
  std::vector<std::string> paths = {PLACEWRIGHT_SOURCE_DIR
                                    "/examples/tiny_transformer_adam.json.gz"};
  for (const char* const name : {"vgg19_b96_sgd", "nn_transformer_base_b32_s64_adam"}) {
    const std::string path = std::string(PLACEWRIGHT_SHARED_DATA "/fx/") + name + ".json.gz";
    if (std::filesystem::exists(path)) paths.push_back(path);
  }
  bool splits = false;
  for (const std::string& path : paths) {
    const LoadedGraph graph = LoadGraph(path).Take();
    for (const char* const preset : {"4xP100", "mixed-lab", "tag-testbed", "dgx-a100"}) {
      SCOPED_TRACE(path + " on " + preset);
      const Cluster cluster = MakePreset(preset).Take();
      Constraints constraints;
      if (preset[0] == 'm') constraints.forbids.push_back({"*", cluster.device(DeviceId(1)).name});
      PlanLayouts(graph, cluster, constraints, splits);
    }
  }
  EXPECT_EQ(splits, paths.size() > 1);
}

}  // namespace
}  // namespace placewright::tests
