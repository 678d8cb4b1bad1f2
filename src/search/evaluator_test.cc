// The seam: the simulated evaluator is the simulator, whatever the threads and the form; and
// planners, proofs and the portfolio take their scores from the seam alone.
#include "search/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluation/simulated.h"
#include "search/local/local_search.h"
#include "search/planner_table.h"
#include "search/proof/enumeration.h"
#include "search/proof/infeasibility.h"
#include "search/proof/memory_advice.h"
#include "search/test_evaluator.h"
#include "search/test_problems.h"
#include "sim/placement_check.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

// Two equal devices and ten ops in a row: 2^10 placements.
std::unique_ptr<TestProblem> Chain(size_t ops, int64_t bytes = 100) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  for (size_t i = 0; i < ops; ++i) {
    TestOp op{"op" + std::to_string(i), {10, 10}, {}, {bytes}};
    if (i > 0) op.reads = {"op" + std::to_string(i - 1)};
    spec.ops.push_back(op);
  }
  return MakeTestProblem(spec);
}

Placement RandomPlacement(const Problem& problem, uint64_t seed) {
  class Random random(seed);
  GroupPlacement devices;
  for (const ColocationGroup& group : problem.groups) {
    devices.push_back(group.allowed[random.Below(group.allowed.size())]);
  }
  return ExpandGroups(problem, devices);
}

TEST(SimulatedEvaluator, IsTheSimulatorForEveryThreadCountAndForm) {
  const auto test = Chain(10);
  std::vector<Placement> candidates;
  for (uint64_t seed = 0; seed < 40; ++seed)
    candidates.push_back(RandomPlacement(test->problem, seed));
  const auto one = MakeSimulatedEvaluator(test->problem, 1);
  const auto three = MakeSimulatedEvaluator(test->problem, 3);
  EvaluationOptions options;
  options.feedback = true;
  const std::vector<Evaluation> a = one->Evaluate(candidates, options);
  const std::vector<Evaluation> b = three->Evaluate(candidates, options);
  Simulator simulator(test->problem.sim_graph);
  const std::unique_ptr<MoveEvaluator> moves = one->StartMoves(1 << 20);
  moves->SetIncumbent(candidates[0]);
  for (size_t i = 0; i < candidates.size(); ++i) {
    SimOptions sim;
    sim.schedule = sim.feedback = true;
    const SimResult& expected = simulator.Run(candidates[i], sim);
    std::vector<OpMove> changes;
    for (OpId op : test->graph.ops()) {
      if (moves->incumbent()[op] != candidates[i][op]) changes.push_back({op, candidates[i][op]});
    }
    const Evaluation tried = moves->Try(changes);
    for (const Evaluation* found : {&a[i], &b[i], &tried}) {
      EXPECT_EQ(found->step_time, expected.step_time);
      EXPECT_EQ(found->feasible, expected.feasible);
      EXPECT_EQ(found->TotalOver(), expected.TotalOver());
      for (size_t d = 0; d < 2; ++d) EXPECT_EQ(found->devices[d].peak, expected.devices[d].peak);
    }
    ASSERT_TRUE(a[i].feedback && b[i].feedback);
    for (size_t d = 0; d < 2; ++d) {
      EXPECT_EQ(a[i].feedback->devices[d].busy, expected.devices[d].busy);
      EXPECT_EQ(b[i].feedback->devices[d].idle_before_transfers,
                expected.devices[d].idle_before_transfers);
    }
    EXPECT_EQ(a[i].feedback->schedule.transfers.size(), expected.schedule->transfers.size());
    if (i % 3 == 0) moves->Accept();
  }
}

// 10 ops of 10 ns on one device take 100 ns.
TEST(SimulatedEvaluator, GivesUpAboveTheLimit) {
  const auto test = Chain(10);
  const Placement together(test->graph.op_count(), DeviceId(0));
  EvaluationOptions options;
  options.abandon_above = Nanos(99);
  EXPECT_TRUE(test->evaluator->EvaluateOne(together, options).abandoned);
  options.abandon_above = Nanos(100);
  EXPECT_FALSE(test->evaluator->EvaluateOne(together, options).abandoned);
  EXPECT_FALSE(test->evaluator->EvaluateOne(together, options).feedback);
}

// More memory: what did not fit does.
TEST(SimulatedEvaluator, IsMadeForAVariantOfTheProblem) {
  const auto test = Chain(4, 1 << 20);
  const Placement together(test->graph.op_count(), DeviceId(0));
  EXPECT_FALSE(test->evaluator->EvaluateOne(together).feasible);
  Problem larger = test->problem;
  larger.sim_graph.capacity[DeviceId(0)] *= 16;
  EXPECT_TRUE(test->evaluator->ForProblem(larger, 1)->EvaluateOne(together).feasible);
}

// Made up: a step takes 1,000 ns, less 10 for every op on d1 at an even place and for every op on
// d0 at an odd one. The simulator would keep the chain together; the best by the table alternates.
Evaluation Alternating(const Placement& placement) {
  Evaluation made_up;
  made_up.feasible = true;
  made_up.step_time = Nanos(1000);
  for (size_t i = 0; i < placement.size(); ++i) {
    const bool wanted = placement[OpId(i)] == DeviceId(i % 2 == 0 ? int32_t{1} : int32_t{0});
    if (wanted) made_up.step_time -= Nanos(10);
  }
  made_up.devices.resize(2);
  return made_up;
}

TEST(Seam, EverythingScoresThroughTheEvaluatorAlone) {
  const auto test = Chain(16);
  MadeUpEvaluator made_up(test->problem, &Alternating);
  PlannerOptions options;
  options.budget.iterations = 3000;
  const PlannerTable table = MakeSearchPlanners();
  for (const auto& planner : table) {
    const auto result = planner->Plan(test->problem, made_up, options);
    ASSERT_TRUE(result.ok()) << planner->name();
    EXPECT_EQ(result.value().step_time,
              Alternating(PlacementOf(test->problem, result.value().plan)).step_time)
        << planner->name();
  }
  const auto best = MakeAuto(table)->Plan(test->problem, made_up, options);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(best.value().step_time, Nanos(1000 - 16 * 10));
  for (const Baseline& baseline : best.value().baselines) {
    EXPECT_GE(baseline.step_time, best.value().step_time) << baseline.algorithm;
  }
}

// On several threads each planner has an evaluator of its own, made from the one that is given.
TEST(Seam, AutoDoesSoOnSeveralThreads) {
  const auto test = Chain(16);
  const PlannerTable table = MakeSearchPlanners();
  std::vector<StepPlan> plans;
  for (const int threads : {1, 4}) {
    MadeUpEvaluator made_up(test->problem, &Alternating);
    PlannerOptions options;
    options.budget.iterations = 0;  // MadeUpMoves count on one thread
    options.threads = threads;
    const auto best = MakeAuto(table)->Plan(test->problem, made_up, options);
    ASSERT_TRUE(best.ok());
    EXPECT_EQ(best.value().step_time,
              Alternating(PlacementOf(test->problem, best.value().plan)).step_time);
    plans.push_back(best.value().plan);
  }
  EXPECT_EQ(plans[0], plans[1]);
}

// As made up, no device has room for what it gets: each lacks a byte for every op there.
Evaluation NeverFitting(const Placement& placement) {
  Evaluation made_up;
  made_up.step_time = Nanos(100);
  made_up.devices.resize(2);
  for (DeviceId device : placement) {
    Evaluation::Device& use = made_up.devices[device.index()];
    use.over = use.over + Bytes(1);
    use.peak = use.peak + Bytes(1 << 20);
  }
  return made_up;
}

TEST(Seam, ProofsAndAdviceDoSo) {
  const auto test = Chain(16);
  MadeUpEvaluator made_up(test->problem, &NeverFitting);
  EXPECT_TRUE(CheckNotProvenInfeasible(test->problem, made_up, test->plans()).ok());
  const auto advice = FindMemoryAdvice(test->problem, made_up, test->plans(), 1);
  ASSERT_TRUE(advice);  // what the first candidate lacks: no amount is ever enough
  EXPECT_GT(made_up.calls(), 5);
  const Placement all(test->problem.graph->op_count(), DeviceId(1));
  const Error error = NothingFits(test->problem, made_up, test->plans(), "x", all);
  EXPECT_EQ(error.code, ErrorCode::kNothingFound);
  EXPECT_NE(error.message.find("needs 16.0 MiB"), std::string::npos) << error.message;
}

TEST(Seam, ProofsByEnumerationDoSo) {
  const auto test = Chain(8);
  MadeUpEvaluator made_up(test->problem, &Alternating);
  const Bound bound = TightestBound(test->problem, made_up);
  EXPECT_EQ(bound.argument, "enumeration");
  EXPECT_EQ(bound.value, Nanos(1000 - 8 * 10));
  EXPECT_EQ(made_up.calls(), 256);
  EXPECT_EQ(bound.space, PlanSpace::kPlaced);
  EXPECT_TRUE(ProvesOptimal(bound, PlanSpace::kPlaced, Nanos(920)));
  EXPECT_FALSE(ProvesOptimal(bound, PlanSpace::kReplicated, Nanos(920)));
}

}  // namespace
}  // namespace placewright
