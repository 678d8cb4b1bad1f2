#include "search/local/plain_chains.h"

#include <gmock/gmock.h>

#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "search/proof/enumeration.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

PlannerOptions Moves(int64_t moves, uint64_t seed = 1) {
  PlannerOptions options;
  options.budget.iterations = moves;
  options.seed = seed;
  options.started = Clock::now();
  return options;
}

template <class T>
class PlainChains : public testing::Test {};
using Planners = testing::Types<McmcPlanner, AnnealingPlanner>;
TYPED_TEST_SUITE(PlainChains, Planners);

TYPED_TEST(PlainChains, FindTheOptimumOfNearlyAllSmallProblems) {
  int tried = 0, optimal = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const TestSpec spec = RandomSpec(seed);
    bool runnable = true;
    for (const TestOp& op : spec.ops) {
      runnable &= *std::max_element(op.time_ns.begin(), op.time_ns.end()) >= 0;
    }
    if (!runnable) continue;
    const auto test = MakeTestProblem(spec);
    const std::optional<Enumeration> all = EnumeratePlacements(test->problem, *test->evaluator);
    if (!all || !all->best.feasible) continue;
    ++tried;
    const auto result = TypeParam().Plan(test->problem, *test->evaluator, Moves(6000, seed));
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(result.value().feasible) << seed;
    EXPECT_GE(result.value().step_time, Nanos(all->best.step_time)) << seed;
    optimal += result.value().step_time == Nanos(all->best.step_time) ? 1 : 0;
  }
  // Single moves may be caught where two ops would have to move together.
  EXPECT_GE(10 * optimal, 9 * tried) << optimal << " of " << tried;
  EXPECT_GE(tried, 15);
}

TYPED_TEST(PlainChains, RepeatThemselvesForAnyNumberOfThreads) {
  const auto test = MakeTestProblem(RandomSpec(4));
  PlannerOptions one = Moves(500), four = Moves(500);
  four.threads = 4;
  const auto a = TypeParam().Plan(test->problem, *test->evaluator, one),
             b = TypeParam().Plan(test->problem, *test->evaluator, four);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a.value().plan, b.value().plan);
  EXPECT_EQ(a.value().iterations, b.value().iterations);
}

TEST(Mcmc, EndsWhenHalfOfTheSearchHasBroughtNothing) {
  const auto test = MakeTestProblem(RandomSpec(2));
  const auto result = McmcPlanner().Plan(test->problem, *test->evaluator, Moves(1'000'000));
  ASSERT_TRUE(result.ok());
  // Either the bound is met or 4,000 moves, and half of all, were in vain.
  EXPECT_LT(result.value().iterations, 100'000);
}

// d2 takes 10 times as long over all (320 ns to 32), so it is no accelerator, though it would do b
// in no time: best without it are a and c on one device, b on the other, 16; with it a, c side by
// side and b there, 11.
TEST(Mcmc, DrawsAcceleratorsOnly) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  spec.ops = {
      {"a", {11, 11, 160}, {}, {1}}, {"b", {16, 16, 0}, {}, {1}}, {"c", {5, 5, 160}, {}, {1}}};
  const auto test = MakeTestProblem(spec);
  const auto result = McmcPlanner().Plan(test->problem, *test->evaluator, Moves(6000));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().step_time, Nanos(16));
  for (DeviceId device : PlacementOf(test->problem, result.value().plan))
    EXPECT_NE(device, DeviceId(2));
  const auto annealed = AnnealingPlanner().Plan(test->problem, *test->evaluator, Moves(6000));
  ASSERT_TRUE(annealed.ok());
  EXPECT_EQ(annealed.value().step_time, Nanos(11));
}

TEST(Mcmc, IsAnOpponentThatAutoDoesNotRun) {
  EXPECT_FALSE(McmcPlanner().in_auto());
  EXPECT_FALSE(AnnealingPlanner().in_auto());
}

}  // namespace
}  // namespace placewright
