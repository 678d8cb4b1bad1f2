#include "planning/micro_batch_period.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <placewright/placewright.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "planning/strategy_search.h"
#include "planning/test_perceptron.h"
#include "search/evaluation/simulated.h"
#include "search/planner_table.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

// A step with its problem, of which three micro-batches are written or all.
struct AccumulatedStep {
  AccumulatedStep(const Graph& step, const Cluster& cluster, int64_t micro_batches,
                  std::optional<int64_t> written)
      : graph(
            ApplyTransforms(step, TransformsFor({.micro_batches = micro_batches}), written).Take()),
        layouts(LayoutProblem::Make(*graph, cluster, {}, SchedulingPolicy::kProgram).Take()),
        problem(
            BuildProblem(layouts->graph, cluster, layouts->costs, {}, SchedulingPolicy::kProgram)
                .Take()) {
    problem.layouts = layouts.get();
    evaluator = MakeSimulatedEvaluator(problem, 1);
  }
  const std::unique_ptr<const Graph> graph;
  const std::unique_ptr<LayoutProblem> layouts;
  Problem problem;
  std::unique_ptr<Evaluator> evaluator;
};

// Where nothing crosses from one micro-batch to the next, three say how long any number of them takes, and what memory:
// for some planners on each cluster.
TEST(MicroBatchPeriod, SaysWhatAllOfThemComeTo) {
  const Graph graph = PerceptronWriter(kMany / 8 * 16).Write();
  for (const char* const preset : {"4xP100", "mixed-lab", "2x4xH100"}) {
    const Cluster cluster = ReadCluster(preset).Take();
    int said = 0;
    for (const int64_t micro_batches : {8, 16}) {
      const AccumulatedStep some(graph, cluster, micro_batches, kWrittenMicroBatches);
      const AccumulatedStep all(graph, cluster, micro_batches, {});
      for (const auto& planner : MakeLayoutPlanners({})) {
        const auto of_some = planner->Plan(some.problem, *some.evaluator, {});
        if (!of_some.ok()) continue;
        const StepPlan& plan = of_some.value().plan;
        const Evaluation three = some.evaluator->EvaluatePlan(plan).Take();
        const auto compiled = some.evaluator->Compile(plan).Take();
        const auto period = PeriodOfMicroBatches(some.layouts->graph, *compiled);
        if (!period) continue;
        const auto of_all = planner->Plan(all.problem, *all.evaluator, {});
        ASSERT_TRUE(of_all.ok()) << planner->name();
        const Evaluation whole = all.evaluator->EvaluatePlan(of_all.value().plan).Take();
        ++said;
        EXPECT_EQ(three.step_time + *period * (micro_batches - kWrittenMicroBatches),
                  whole.step_time)
            << preset << " " << planner->name() << " " << micro_batches;
        for (size_t d = 0; d < whole.devices.size(); ++d) {
          EXPECT_EQ(three.devices[d].peak, whole.devices[d].peak) << preset << planner->name();
        }
      }
    }
    EXPECT_GT(said, 2) << preset;
  }
}

// What was found of three micro-batches is laid out for all of them, with what it came to.
TEST(StrategySearch, AFoldedPlanIsLaidOutForItsStep) {
  const Graph graph = PerceptronWriter(kMany).Write();
  const AccumulatedStep all(graph, FourGpus(), 8, {});
  const auto planners = MakeLayoutPlanners();
  const auto fsdp = std::find_if(planners.begin(), planners.end(),
                                 [](const auto& one) { return one->name() == "fsdp"; });
  StrategySearchResult found;
  found.best = Strategy{.algorithm = "fsdp", .rewriting = {.micro_batches = 8}};
  found.plan.algorithm = "fsdp";
  found.plan.step_time = Nanos(100);
  found.folded = Evaluation{.feasible = true, .step_time = Nanos(100)};
  ASSERT_TRUE(found.LayOut(all.problem).ok());
  EXPECT_FALSE(found.folded);
  EXPECT_EQ(found.plan.step_time, Nanos(100));
  EXPECT_EQ(found.plan.plan, (*fsdp)->Plan(all.problem, *all.evaluator, {}).Take().plan);
  found.plan.plan = {};
  ASSERT_TRUE(found.LayOut(all.problem).ok());
  EXPECT_EQ(found.plan.plan, StepPlan());  // it is laid out once
}

}  // namespace
}  // namespace placewright
