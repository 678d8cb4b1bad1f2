// Sufficient factor broadcasting of a recorded step: the cut of every gradient beside Cbc, and plans by both modes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cluster/catalogue.h"
#include "formats/input.h"
#include "graph/partition/tag_groups.h"
#include "planning/plan_words.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_specs.h"
#include "search/problem/layout_problem.h"
#include "search/sfb/group_programs.h"
#include "search/sfb/sfb_search.h"
#include "search/sfb/test_cbc.h"

namespace placewright::tests {
namespace {

class SfbOfAStep : public ::testing::Test {
 protected:
  DistributionSpec DataParallelSpec(LayoutOption option) const {
    DistributionSpec spec;
    spec.layouts = {{"*", GroupId(), "batch", {{"*gpu0", {}}, {"*gpu1", {}}}, option}};
    return spec;
  }

  const LoadedGraph graph_ =
      LoadGraph(PLACEWRIGHT_SOURCE_DIR "/examples/tiny_transformer_adam.json.gz").Take();
  const Cluster cluster_ = MakePreset("4xP100").Take();
  const std::unique_ptr<LayoutProblem> problem_ =
      LayoutProblem::Make(graph_.graph, cluster_, CostOptions(), SchedulingPolicy::kFifo).Take();
  const Problem whole_ = [this] {
    Problem problem =
        BuildProblem(graph_.graph, cluster_, problem_->costs, {}, SchedulingPolicy::kFifo).Take();
    problem.layouts = problem_.get();
    return problem;
  }();
  const std::unique_ptr<Evaluator> evaluator_ = MakeSimulatedEvaluator(whole_);
};

TEST_F(SfbOfAStep, EveryGradientsCutIsCbcsOptimum) {
  if (!HasCbc()) GTEST_SKIP() << "Cbc is not installed (coinor-cbc)";
  const CbcFolder folder;
  IdVector<OpId, Nanos> times;
  for (const OpId op : problem_->graph.ops()) {
    times.push_back(std::max(Nanos(0), problem_->costs.MinTime(op)));
  }
  const TagGrouping grouping = TagGroups(problem_->graph, times).Take();
  SfbSolver solver;
  for (const LayoutOption option : {LayoutOption::kAllReduce, LayoutOption::kParameterServer}) {
    const DistributionSpec spec = DataParallelSpec(option);
    const Layouts layouts = ResolvePlan(*problem_, spec).Take().layouts;
    const CompiledStep compiled = CompileSpec(*problem_, spec).Take();
    const auto steps = FindReplicatedSteps(*problem_, layouts, false, InstancesOf(compiled));
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].gradients.size(), 46U);  // as many as parameters
    GroupPrograms programs(steps[0], grouping.part_of, BottleneckOf(cluster_, steps[0].devices));
    int paying = 0;
    for (size_t i = 0; i < steps[0].gradients.size(); ++i) {
      const GroupProgram& one = programs.Make(i);
      const int64_t objective = solver.Solve(one.program).objective;
      ASSERT_EQ(objective, ByCbc(one.program, folder.path)) << "gradient " << i;
      paying += objective < 0 ? 1 : 0;
    }
    EXPECT_GT(paying, 0);
  }
}

// A step with fewer collectives, as its layouts say; the default mode's is never slower.
TEST_F(SfbOfAStep, BothModesCompile) {
  for (const LayoutOption option : {LayoutOption::kAllReduce, LayoutOption::kParameterServer}) {
    const StepPlan plan = ResolvePlan(*problem_, DataParallelSpec(option)).Take();
    for (const SfbMode mode : {SfbMode::kPaper, SfbMode::kCut}) {
      const Result<SfbResult> applied = ApplySfb(*problem_, *evaluator_, plan, mode);
      ASSERT_TRUE(applied.ok()) << applied.error().ToString();
      const SfbResult& result = applied.value();
      EXPECT_EQ(EvaluateCompiled(*problem_, result.plan).Take().step_time, result.after.step_time);
      EXPECT_EQ(result.plan == plan, result.duplicated.empty());
      if (mode == SfbMode::kCut) {
        EXPECT_LE(result.after.step_time, result.before.step_time);
      } else {
        EXPECT_GT(result.from_factors, 0);
      }
      EXPECT_LE(result.tries, kSfbTries);
    }
  }
}

}  // namespace
}  // namespace placewright::tests
