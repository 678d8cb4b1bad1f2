// Clusters in which some devices do not reach each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated.h"
#include "search/local/local_search.h"
#include "search/planner_table.h"
#include "search/problem/connections.h"
#include "search/proof/bound.h"
#include "search/proof/enumeration.h"
#include "search/proof/infeasibility.h"
#include "search/proof/routes.h"
#include "search/test_problems.h"
#include "sim/placement_check.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

// Six ops in a row, 100 ns each, that keep a parameter of 1,024 B each: 512 B pass from one to the
// next. A device of 3,584 B holds two parameters (2,048) and at most three results at once (1,536);
// a third parameter (3,072) leaves room for one result where an op holds at least its own and the
// one it reads.
TestSpec RowOfSix() {
  TestSpec spec;
  spec.capacity = {3584, 3584, 3584};
  for (int i = 0; i < 6; ++i) {
    const std::string n = std::to_string(i);
    spec.inputs.push_back({"w" + n, 1024});
    TestOp op{"op" + n, {100, 100, 100}, {"w" + n}, {512}};
    if (i > 0) op.reads.push_back("op" + std::to_string(i - 1));
    spec.ops.push_back(op);
  }
  return spec;
}

PlannerOptions Options(int64_t iterations) {
  PlannerOptions options;
  options.budget.iterations = iterations;
  options.started = Clock::now();
  return options;
}

// The search moves even where it could enumerate all placements: its moves are tested here.
PlannerTable MovingTable() {
  PlannerTable table = MakeSearchPlanners();
  for (std::shared_ptr<const Planner>& planner : table) {
    if (planner->name() == "local-search") planner = std::make_unique<LocalSearchPlanner>(false);
  }
  return table;
}

const Planner* Auto() {
  static const PlannerTable table = MovingTable();
  static const std::unique_ptr<Planner> automatic = MakeAuto(table);
  return automatic.get();
}

// All that planners promise; the result.
PlannerResult PlanLegally(const Planner& planner, const Problem& problem, int64_t iterations) {
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem);
  const auto one = planner.Plan(problem, *evaluator, Options(iterations));
  PlannerOptions threads = Options(iterations);
  threads.threads = 2;
  const auto two = planner.Plan(problem, *evaluator, threads);
  EXPECT_TRUE(one.ok() && two.ok()) << planner.name();
  EXPECT_EQ(one.value().plan, two.value().plan) << planner.name();
  const PlannerResult& result = one.value();
  EXPECT_TRUE(CheckPlacementLegal(problem.sim_graph, *problem.graph, *problem.cluster,
                                  PlacementOf(problem, result.plan))
                  .ok())
      << planner.name();
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.policy = problem.policy;
  const SimResult& simulated = simulator.Run(PlacementOf(problem, result.plan), options);
  EXPECT_EQ(simulated.step_time, result.step_time) << planner.name();
  EXPECT_EQ(simulated.feasible, result.feasible) << planner.name();
  return result;
}

// Routes between neighbours only. Nothing fits but two ops on each device in a row along the chain:
// 600 ns of ops, each of the two crossings of 512 B takes 512 ns at 1 GB/s: 1,624 ns.
TEST(PartlyConnected, NeighboursOnly) {
  TestSpec spec = RowOfSix();
  spec.apart = {{0, 2}, {2, 0}};
  const auto test = MakeTestProblem(spec);
  const PlannerResult result = PlanLegally(*Auto(), test->problem, 400);
  EXPECT_TRUE(result.feasible);
  EXPECT_EQ(result.step_time, Nanos(1624));
}

// One way only, against the devices' numbers: d2 > d1 > d0. Already the fills find it.
TEST(PartlyConnected, OneWayPipeline) {
  TestSpec spec = RowOfSix();
  spec.apart = {{0, 1}, {0, 2}, {1, 2}, {2, 0}};
  const auto test = MakeTestProblem(spec);
  const PlannerResult result = PlanLegally(*Auto(), test->problem, 0);
  EXPECT_TRUE(result.feasible);
  EXPECT_EQ(result.step_time, Nanos(1624));
  const Placement placement = PlacementOf(test->problem, result.plan);
  EXPECT_EQ(placement[OpId(0)], DeviceId(2));
  EXPECT_EQ(placement[OpId(5)], DeviceId(0));
}

// Two chains of 1,000 ns from one source of 10 ns (8 B cross in 8 ns): with a route d0 > d1 alone
// one chain moves, which ends at 10 + 8 + 1,000 = 1,018; all on one device take 2,010 ns.
TEST(PartlyConnected, OneWayRouteIsUsed) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.apart = {{1, 0}};
  spec.ops = {{"source", {10, 10}, {}, {8}},
              {"left", {1000, 1000}, {"source"}, {8}},
              {"right", {1000, 1000}, {"source"}, {8}}};
  const auto test = MakeTestProblem(spec);
  EXPECT_EQ(PlanLegally(*Auto(), test->problem, 200).step_time, Nanos(1018));
}

// d1 > d0 > d2 and nothing else.
TEST(PartlyConnected, ChainFollowsRoutes) {
  TestSpec spec;
  spec.capacity = {512, 512, 512};
  spec.apart = {{0, 1}, {1, 2}, {2, 0}, {2, 1}};
  const auto test = MakeTestProblem(spec);
  EXPECT_EQ(DeviceChain(test->cluster, DeviceList({0, 1, 2})), DeviceList({1, 0, 2}));
}

// A placement of the graph's file is auto's baseline `given`; nothing is worse than it.
TEST(PartlyConnected, GivenPlacementIsABaseline) {
  TestSpec spec = RowOfSix();
  spec.apart = {{0, 2}, {2, 0}};
  const auto test = MakeTestProblem(spec);
  PlannerOptions options = Options(0);
  options.given = PlanOf(test->problem, OnDevices({0, 0, 1, 1, 2, 2}));
  const auto result = Auto()->Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().step_time, Nanos(1624));
  ASSERT_EQ(result.value().baselines.size(), PlannersInAuto(test->problem) + 1);
  EXPECT_EQ(result.value().baselines[0].algorithm, "given");
  EXPECT_EQ(result.value().baselines[0].step_time, Nanos(1624));
  // d0 and d2 are not connected: such a placement is not offered.
  options.given = PlanOf(test->problem, OnDevices({0, 0, 2, 2, 1, 1}));
  const auto without = Auto()->Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without.value().baselines.size(), PlannersInAuto(test->problem));
}

// Routes left out at random. Bound and proof hold; every planner is legal where that is possible;
// auto finds what fits where anything does.
TEST(PartlyConnected, TinyProblemsAgainstBruteForce) {
  int feasible = 0, best_found = 0;
  for (uint64_t seed = 0; seed < 160; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TestSpec spec = RandomSpec(seed);
    const bool runnable = std::all_of(spec.ops.begin(), spec.ops.end(), [](const TestOp& op) {
      return *std::max_element(op.time_ns.begin(), op.time_ns.end()) >= 0;
    });
    if (!runnable) continue;
    Random random(seed + 1000);
    const int devices = static_cast<int>(spec.capacity.size());
    for (int a = 0; a < devices; ++a) {
      for (int b = 0; b < devices; ++b) {
        if (a != b && random.Below(2) == 0) spec.apart.emplace_back(a, b);
      }
    }
    const auto test = MakeTestProblem(spec);
    const std::optional<Score> best = BestOfAll(test->problem);
    if (!best) {
      EXPECT_FALSE(CheckNotProvenDisconnected(test->problem).ok() &&
                   CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).ok());
      continue;
    }
    EXPECT_TRUE(CheckNotProvenDisconnected(test->problem).ok());
    EXPECT_EQ(CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).ok(),
              best->feasible);
    const bool fits = best->feasible;
    if (fits) {
      ++feasible;
      EXPECT_EQ(TightestBound(test->problem, *test->evaluator).value.count, best->step_time);
      EXPECT_LE(LowerBound(test->problem).value.count, best->step_time);
    }
    for (const auto& planner : MakeSearchPlanners()) PlanLegally(*planner, test->problem, 60);
    const PlannerResult result = PlanLegally(*Auto(), test->problem, 400);
    EXPECT_EQ(result.feasible, fits);
    best_found += fits && result.step_time.count == best->step_time;
  }
  EXPECT_GT(feasible, 60);
  EXPECT_GT(best_found, feasible * 9 / 10);
}

}  // namespace
}  // namespace placewright
