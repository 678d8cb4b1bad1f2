#include "search/constructive/m_sct.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "search/constructive/sct_program.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

using ::testing::ElementsAre;

WeightedGraph Dag(std::vector<int64_t> times, std::vector<std::vector<WeightedEdge>> rows) {
  WeightedGraph graph;
  graph.weights = {std::move(times)};
  for (const auto& row : rows) {
    graph.edges.insert(graph.edges.end(), row.begin(), row.end());
    graph.offsets.push_back(static_cast<int32_t>(graph.edges.size()));
  }
  return graph;
}

TEST(SctLinearProgram, AChainIsItsOwnFavourite) {
  // 0 (10) --4--> 1 (20) --4--> 2 (30): all x = 0, so w = 10 + 20 + 30.
  const SctSolution solution = SolveSct(Dag({10, 20, 30}, {{{1, 4}}, {{2, 4}}, {}}), 1000);
  EXPECT_EQ(solution.end, SctSolution::End::kOptimal);
  EXPECT_THAT(solution.favourite_child, ElementsAre(1, 2, -1));
  EXPECT_NEAR(solution.objective, 60, 1e-6);
}

TEST(SctLinearProgram, AForkFavoursItsLongerBranch) {
  // 0 (10) --8--> 1 (50) and --8--> 2 (20): x_01 + x_02 >= 1. With x_01 = 0 and x_02 = 1:
  // node 1 ends at 60, node 2 at 10 + 8 + 20 = 38, so w = 60.
  const SctSolution solution = SolveSct(Dag({10, 50, 20}, {{{1, 8}, {2, 8}}, {}, {}}), 1000);
  EXPECT_THAT(solution.favourite_child, ElementsAre(1, -1, -1));
  EXPECT_NEAR(solution.objective, 60, 1e-6);
}

TEST(SctLinearProgram, AnEvenForkIsSplitAndHasNoFavourite) {
  // Both branches 20: x = 1/2 each, w = 10 + 4 + 20 = 34, and 1/2 is not below 1/2.
  const SctSolution solution = SolveSct(Dag({10, 20, 20}, {{{1, 8}, {2, 8}}, {}, {}}), 1000);
  EXPECT_NEAR(solution.objective, 34, 1e-6);
  EXPECT_THAT(solution.favourite_child, ElementsAre(-1, -1, -1));
}

TEST(SctLinearProgram, EveryNodeHasAtMostOneFavouriteAndOneParent) {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    const auto nodes = static_cast<int32_t>(3 + random.Below(12));
    std::vector<int64_t> times;
    std::vector<std::vector<WeightedEdge>> rows(nodes);
    for (int32_t i = 0; i < nodes; ++i) {
      times.push_back(static_cast<int64_t>(random.Below(1000)));
      for (int32_t j = i + 1; j < nodes; ++j) {
        if (random.Below(3) == 0) rows[i].push_back({j, static_cast<int64_t>(random.Below(500))});
      }
    }
    const WeightedGraph dag = Dag(times, rows);
    for (int64_t limit : {int64_t{100000}, int64_t{1}}) {
      const SctSolution solution = SolveSct(dag, limit);
      std::vector<int> parents(nodes, 0);
      for (int32_t child : solution.favourite_child) {
        if (child >= 0) ++parents[child];
      }
      for (int count : parents) EXPECT_LE(count, 1);
    }
  }
}

TEST(SctLinearProgram, ALimitIsReported) {
  std::vector<std::vector<WeightedEdge>> rows(40);
  for (int32_t i = 0; i < 39; ++i) {
    rows[i].push_back({i + 1, 3});
    if (i + 2 < 40) rows[i].push_back({i + 2, 9});
  }
  const SctSolution solution = SolveSct(Dag(std::vector<int64_t>(40, 5), rows), 1);
  EXPECT_EQ(solution.end, SctSolution::End::kIterationLimit);
  EXPECT_EQ(DescribeEnd(solution, 1),
            "m-sct: the linear program met its limit of 1 iterations; the heaviest edges took its "
            "place");
  // Heaviest edges first: 0 -> 2, then 1 -> 3, ...
  EXPECT_EQ(solution.favourite_child[0], 2);
  EXPECT_EQ(solution.favourite_child[1], 3);
}

// Clp is ended by its event handler, long before it is done.
TEST(SctLinearProgram, ABudgetThatIsOverEndsIt) {
  std::vector<std::vector<WeightedEdge>> rows(400);
  for (int32_t i = 0; i < 399; ++i) {
    for (const int32_t step : {1, 2, 5, 11}) {
      if (i + step < 400) rows[i].push_back({i + step, 3 + step});
    }
  }
  const WeightedGraph dag = Dag(std::vector<int64_t>(400, 5), rows);
  StopSource stop;
  Budget budget;
  budget.stop = stop.token();
  const SctSolution whole = SolveSct(dag, 1'000'000, budget);
  EXPECT_EQ(whole.end, SctSolution::End::kOptimal);
  ASSERT_GT(whole.iterations, 100);
  stop.RequestStop();
  const SctSolution stopped = SolveSct(dag, 1'000'000, budget);
  EXPECT_EQ(stopped.end, SctSolution::End::kBudget);
  EXPECT_LT(stopped.iterations, 5);
  EXPECT_EQ(stopped.favourite_child[0], 11);  // the heaviest edge
  EXPECT_THAT(DescribeEnd(stopped, 1'000'000), testing::HasSubstr("before it was done"));
}

TEST(SctLinearProgram, OnlyTheLimitIsCalledTheLimit) {
  SctSolution solution;
  EXPECT_EQ(DescribeEnd(solution, 20'000), "");
  solution.end = SctSolution::End::kFailure;
  solution.status = 4;
  solution.iterations = 17;
  EXPECT_EQ(
      DescribeEnd(solution, 20'000),
      "m-sct: Clp ended with status 4 after 17 iterations of the linear program; the heaviest "
      "edges took its place");
}

// Two chains that cross: a -> b -> e, c -> d; waiting for b keeps it beside a.
TestSpec ForkWithWaiting() {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  // a ends at 10; its output of 40 B takes 40 to cross. b (50) is a's long branch, c (20) the short
  // one.
  spec.ops = {{"a", {10, 10}, {}, {40}, ""},
              {"c", {20, 20}, {"a"}, {8}, ""},
              {"b", {50, 50}, {"a"}, {8}, ""}};
  return spec;
}

TEST(MSct, KeepsTheFavouriteChildBesideItsParent) {
  const auto test = MakeTestProblem(ForkWithWaiting());
  const MSctPlanner planner;
  PlannerOptions options;
  options.started = Clock::now();
  const auto result = planner.Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(result.ok());
  const Placement placement = PlacementOf(test->problem, result.value().plan);
  // Op ids follow the spec: a 0, c 1, b 2. m-etf would take c first beside a (smallest id).
  EXPECT_EQ(placement[OpId(2)], placement[OpId(0)]);
  EXPECT_TRUE(result.value().notes.empty());
}

TEST(MSct, SaysAloudThatTheLimitWasMet) {
  const auto test = MakeTestProblem(ForkWithWaiting());
  const MSctPlanner planner(0);
  PlannerOptions options;
  options.started = Clock::now();
  const auto result = planner.Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.value().notes.size(), 1u);
  EXPECT_THAT(result.value().notes[0], testing::HasSubstr("limit of 0 iterations"));
}

}  // namespace
}  // namespace placewright
