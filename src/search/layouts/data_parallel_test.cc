#include "search/layouts/data_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/evaluation/simulated.h"
#include "search/layouts/test_steps.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/planner_table.h"

namespace placewright {
namespace {

PlannerResult Best(const LayeredProblem& tiny, int threads, std::optional<int64_t> patience) {
  PlannerOptions options;
  options.threads = threads;
  options.patience = patience;
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  return DataParallelPlanner(DataParallelKind::kBest)
      .Plan(tiny.problem, *evaluator, options)
      .Take();
}

// Six devices of up to six kinds; the devices of a kind are a group.
TEST(DataParallelBest, DoesNotDependOnThreadsAndEndsWithItsPatience) {
  int ended = 0, longer = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Graph graph = TinyStep(random, 2);
    const LayeredProblem tiny(std::move(graph), DrawCluster(random, 6, 1 << 28));
    const PlannerResult all = Best(tiny, 1, std::nullopt);
    EXPECT_TRUE(all.notes.empty());
    for (const std::optional<int64_t> patience : {std::optional<int64_t>(), {2}, {5}}) {
      const PlannerResult one = Best(tiny, 1, patience);
      for (const int threads : {2, 3, 4}) {
        const PlannerResult more = Best(tiny, threads, patience);
        EXPECT_EQ(more.step_time, one.step_time);
        EXPECT_EQ(more.iterations, one.iterations);
        EXPECT_EQ(more.notes, one.notes);
        EXPECT_EQ(more.history.size(), one.history.size());
        EXPECT_TRUE(more.plan == one.plan);
      }
      EXPECT_FALSE(one.cut_short);
      EXPECT_LE(all.step_time, one.step_time);
      EXPECT_LE(one.iterations, all.iterations);
      if (one.notes.empty()) {
        EXPECT_EQ(one.iterations, all.iterations);
        continue;
      }
      EXPECT_EQ(one.notes.front().rfind("data-parallel-best was ended after ", 0), 0U);
      const std::string in_a_row = std::to_string(*patience) + " in a row not better";
      EXPECT_NE(one.notes.front().find(in_a_row), std::string::npos);
      ++ended;
      longer += all.step_time < one.step_time ? 1 : 0;
    }
  }
  EXPECT_GT(ended, 20);
  EXPECT_GT(longer, 0);
}

// And by itself tries all.
TEST(DataParallelBest, EndsSoonerInAuto) {
  const PlannerTable table = MakeLayoutPlanners();
  int ended = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    Graph graph = TinyStep(random, 2);
    const LayeredProblem tiny(std::move(graph), DrawCluster(random, 6, 1 << 28));
    PlannerOptions options;
    options.budget.iterations = 1;
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
    const PlannerResult best = MakeAuto(table)->Plan(tiny.problem, *evaluator, options).Take();
    const PlannerResult sooner = Best(tiny, 1, 16);
    const auto in_auto =
        std::find_if(best.baselines.begin(), best.baselines.end(),
                     [](const Baseline& one) { return one.algorithm == "data-parallel-best"; });
    ASSERT_NE(in_auto, best.baselines.end());
    EXPECT_EQ(in_auto->step_time, sooner.step_time);
    ended += sooner.notes.empty() ? 0 : 1;
  }
  EXPECT_GT(ended, 0);
}

// Servers that take long to simulate are not, where they are expected to be behind what was found: all by themselves
// without a plan to go on from, or where they are expected to be ahead of it.
TEST(DataParallelServers, AreLeftOutWhereTheyAreManyAndBehind) {
  Random random(3);
  Graph graph = TinyStep(random, 2);
  const LayeredProblem tiny(std::move(graph), DrawCluster(random, 6, 1 << 28));
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  const DataParallelPlanner few(DataParallelKind::kServers);
  const DataParallelPlanner many(DataParallelKind::kServers, {}, 1);
  PlannerResult found;
  found.feasible = true;
  PlannerOptions options;
  EXPECT_TRUE(many.Plan(tiny.problem, *evaluator, options).ok());
  options.found = &found;
  found.step_time = Nanos(1);
  EXPECT_TRUE(few.Plan(tiny.problem, *evaluator, options).ok());
  const Result<PlannerResult> left_out = many.Plan(tiny.problem, *evaluator, options);
  ASSERT_FALSE(left_out.ok());
  EXPECT_EQ(left_out.error().code, ErrorCode::kNothingFound);
  found.step_time = Nanos(kMaxQuantity);
  EXPECT_TRUE(many.Plan(tiny.problem, *evaluator, options).ok());
}

}  // namespace
}  // namespace placewright
