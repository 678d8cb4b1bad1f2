// What every planner of the table, and auto, must keep to.
#include <gtest/gtest.h>

#include <algorithm>

#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "search/local/descent.h"
#include "search/local/local_search.h"
#include "search/planner_table.h"
#include "search/proof/bound.h"
#include "search/proof/infeasibility.h"
#include "search/test_problems.h"
#include "sim/placement_check.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

bool Runnable(const TestSpec& spec) {
  return std::all_of(spec.ops.begin(), spec.ops.end(), [](const TestOp& op) {
    return *std::max_element(op.time_ns.begin(), op.time_ns.end()) >= 0;
  });
}

class Conformance : public testing::Test {
 protected:
  Conformance() {
    auto_ = MakeAuto(table_);
    for (const auto& planner : table_) planners_.push_back(planner.get());
    planners_.push_back(auto_.get());
    planners_.push_back(&moving_search_);
    planners_.push_back(&moving_descent_);
  }

  static PlannerOptions Options(uint64_t seed, int threads) {
    PlannerOptions options;
    options.seed = seed;
    options.threads = threads;
    options.budget.iterations = 60;
    options.started = Clock::now();
    return options;
  }

  // Legal, allowed, and as fast and as large as it says.
  static void CheckResult(const Problem& problem, const PlannerResult& result) {
    ASSERT_TRUE(result.plan.IsPlaced());
    const Placement placement = PlacementOf(problem, result.plan);
    ASSERT_EQ(placement.size(), problem.graph->op_count());
    for (const ColocationGroup& group : problem.groups) {
      for (OpId op : group.ops) {
        EXPECT_EQ(placement[op], placement[group.ops.front()]);
        EXPECT_NE(std::find(group.allowed.begin(), group.allowed.end(), placement[op]),
                  group.allowed.end());
      }
    }
    ASSERT_TRUE(
        CheckPlacementLegal(problem.sim_graph, *problem.graph, *problem.cluster, placement).ok());
    Simulator simulator(problem.sim_graph);
    SimOptions options;
    options.policy = problem.policy;
    const SimResult& simulated = simulator.Run(placement, options);
    EXPECT_EQ(simulated.step_time, result.step_time);
    EXPECT_EQ(simulated.feasible, result.feasible);
    EXPECT_EQ(result.feasible, result.first_feasible_seconds.has_value());
    EXPECT_EQ(result.feasible, !result.history.empty());
    for (size_t i = 1; i < result.history.size(); ++i) {
      EXPECT_LT(result.history[i].step_time, result.history[i - 1].step_time);
    }
    if (result.feasible) {
      EXPECT_EQ(result.history.back().step_time, result.step_time);
    }
  }

  const LocalSearchPlanner moving_search_{false};  // problems here are small enough to enumerate
  const DescentPlanner moving_descent_{false};
  const PlannerTable table_ = MakeSearchPlanners();
  std::vector<const Planner*> planners_;
  std::unique_ptr<Planner> auto_;
};

TEST_F(Conformance, RandomProblems) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    TestSpec spec = RandomSpec(seed);
    if (!Runnable(spec)) continue;
    spec.policy = kSchedulingPolicies[seed / 2 % kSchedulingPolicies.size()];
    const auto test = MakeTestProblem(spec);
    for (const Planner* planner : planners_) {
      SCOPED_TRACE(std::string(planner->name()) + ", seed " + std::to_string(seed));
      const auto one = planner->Plan(test->problem, *test->evaluator, Options(seed, 1));
      const auto two = planner->Plan(test->problem, *test->evaluator, Options(seed, 2));
      ASSERT_TRUE(one.ok() && two.ok());
      CheckResult(test->problem, one.value());
      EXPECT_EQ(one.value().plan, two.value().plan);
      EXPECT_EQ(one.value().iterations, two.value().iterations);
      if (one.value().feasible) {
        EXPECT_GE(one.value().step_time, LowerBound(test->problem).value);
      }
    }
  }
}

TEST_F(Conformance, AutoIsNeverWorseThanItsBaselines) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const TestSpec spec = RandomSpec(seed);
    if (!Runnable(spec)) continue;
    const auto test = MakeTestProblem(spec);
    const auto result = auto_->Plan(test->problem, *test->evaluator, Options(seed, 1));
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result.value().baselines.size(),
              PlannersInAuto(test->problem));  // 60 moves: none joins
    bool named = false;
    for (const Baseline& baseline : result.value().baselines) {
      if (baseline.feasible) {
        EXPECT_TRUE(result.value().feasible) << seed;
        EXPECT_LE(result.value().step_time, baseline.step_time) << seed;
      }
      named |= baseline.algorithm == result.value().algorithm;
    }
    EXPECT_TRUE(named) << result.value().algorithm;
  }
}

TEST_F(Conformance, PinsForbidsAndColocation) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  spec.inputs = {{"w", 512}};
  spec.ops = {{"a", {5, 5, 5}, {"w"}, {64}, "", Phase::kForward, "m.one"},
              {"b", {5, 5, 5}, {"a"}, {64}, "", Phase::kForward, "m.two"},
              {"c", {5, 5, 5}, {"b"}, {64}, "", Phase::kForward, "m.two.sub"},
              {"d", {5, 5, 5}, {"c"}, {64}, "", Phase::kForward, "n"}};
  spec.constraints.pins = {{"m.one", "d2"}};
  spec.constraints.forbids = {{"n", "d0"}, {"*", "d1"}};
  spec.constraints.colocate = {"m.two"};
  const auto test = MakeTestProblem(spec);
  for (const Planner* planner : planners_) {
    SCOPED_TRACE(std::string(planner->name()));
    const auto result = planner->Plan(test->problem, *test->evaluator, Options(1, 1));
    ASSERT_TRUE(result.ok());
    CheckResult(test->problem, result.value());
    const Placement placement = PlacementOf(test->problem, result.value().plan);
    EXPECT_EQ(placement[OpId(0)], DeviceId(2));
    EXPECT_EQ(placement[OpId(3)], DeviceId(2));         // d0 and d1 are forbidden
    EXPECT_EQ(placement[OpId(1)], placement[OpId(2)]);  // m.two means m.two.sub as well
    EXPECT_NE(placement[OpId(1)], DeviceId(1));
  }
}

// d0 and d1 reach each other, d2 only listens: no plan may use it beside them.
TEST_F(Conformance, UnconnectedDevicesAreAvoided) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  spec.apart = {{2, 0}, {2, 1}};
  for (int i = 0; i < 6; ++i) {
    TestOp op{"op" + std::to_string(i), {9, 9, 8}, {}, {64}};
    if (i > 0) op.reads = {"op" + std::to_string(i - 1)};
    spec.ops.push_back(op);
  }
  const auto test = MakeTestProblem(spec);
  for (const Planner* planner : planners_) {
    SCOPED_TRACE(std::string(planner->name()));
    const auto result = planner->Plan(test->problem, *test->evaluator, Options(1, 1));
    ASSERT_TRUE(result.ok());
    CheckResult(test->problem, result.value());
  }
}

// a must run on d0 and b on d1, which do not reach each other.
TEST_F(Conformance, UnreachableIsAnError) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.apart = {{0, 1}, {1, 0}};
  spec.ops = {{"a", {5, -1}, {}, {64}}, {"b", {-1, 5}, {"a"}, {64}}};
  const auto test = MakeTestProblem(spec);
  for (const Planner* planner : planners_) {
    const auto result = planner->Plan(test->problem, *test->evaluator, Options(1, 1));
    ASSERT_FALSE(result.ok()) << planner->name();
    EXPECT_EQ(result.error().code, ErrorCode::kUnreachable);
  }
}

// Two results of 3,000 B (3,072) and their reader's copy of both: no device of 4,096 B holds them,
// and nothing proves it beforehand but CheckNotProvenInfeasible; planners return the plan
// with the smallest overflow.
TEST_F(Conformance, WhatDoesNotFitIsReportedAsSuch) {
  TestSpec spec;
  spec.capacity = {4096, 4096};
  spec.ops = {{"a", {5, 5}, {}, {3000}}, {"b", {5, 5}, {}, {3000}}, {"c", {5, 5}, {"a", "b"}, {8}}};
  const auto test = MakeTestProblem(spec);
  EXPECT_FALSE(CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).ok());
  for (const Planner* planner : planners_) {
    const auto result = planner->Plan(test->problem, *test->evaluator, Options(1, 1));
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result.value().feasible) << planner->name();
    CheckResult(test->problem, result.value());
  }
}

// Times and sizes at the limit of what any input may state: sums saturate, nothing overflows.
TEST_F(Conformance, LargestFigures) {
  TestSpec spec;
  spec.capacity = {kMaxQuantity, kMaxQuantity};
  spec.bandwidth = 1;
  spec.latency = kMaxQuantity;
  spec.inputs = {{"w", kMaxQuantity - 512}, {"v", kMaxQuantity - 512}};
  for (int i = 0; i < 6; ++i) {
    const std::string n = std::to_string(i);
    TestOp op{
        "op" + n, {kMaxQuantity, kMaxQuantity - i}, {i % 2 ? "w" : "v"}, {kMaxQuantity - 512}};
    if (i > 0) op.reads.push_back("op" + std::to_string(i - 1));
    spec.ops.push_back(op);
  }
  const auto test = MakeTestProblem(spec);
  // Both sides of the sum saturate, so that nothing is proven; but it must not overflow.
  EXPECT_TRUE(CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).ok());
  EXPECT_LE(LowerBound(test->problem).value, Nanos(kMaxQuantity));
  for (const Planner* planner : planners_) {
    const auto result = planner->Plan(test->problem, *test->evaluator, Options(1, 1));
    ASSERT_TRUE(result.ok()) << planner->name();
    CheckResult(test->problem, result.value());
  }
}

TEST_F(Conformance, EmptyGraph) {
  TestSpec spec;
  spec.capacity = {4096, 4096};
  const auto test = MakeTestProblem(spec);
  EXPECT_TRUE(CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).ok());
  EXPECT_EQ(LowerBound(test->problem).value, Nanos(0));
  for (const Planner* planner : planners_) {
    const auto result = planner->Plan(test->problem, *test->evaluator, Options(1, 1));
    ASSERT_TRUE(result.ok()) << planner->name();
    EXPECT_EQ(result.value().step_time, Nanos(0));
    EXPECT_TRUE(result.value().feasible);
  }
}

TEST_F(Conformance, InitIsRespected) {
  const auto test = MakeTestProblem(RandomSpec(0));
  PlannerOptions options = Options(1, 1);
  options.initial = PlanOf(test->problem, [&] {
    GroupPlacement devices;
    for (const ColocationGroup& group : test->problem.groups) {
      devices.push_back(group.allowed.back());
    }
    return devices;
  }());
  Simulator simulator(test->problem.sim_graph);
  const SimResult& initial = simulator.Run(PlacementOf(test->problem, *options.initial));
  ASSERT_TRUE(initial.feasible);
  const Nanos step = initial.step_time;
  for (const Planner* planner : planners_) {
    if (!planner->iterative()) continue;
    const auto result = planner->Plan(test->problem, *test->evaluator, options);
    ASSERT_TRUE(result.ok());
    EXPECT_LE(result.value().step_time, step) << planner->name();
  }
}

}  // namespace
}  // namespace placewright
