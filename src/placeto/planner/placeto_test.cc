// Placeto as a planner and its training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "placeto/planner/placeto_planner.h"
#include "placeto/planner/placeto_run.h"
#include "search/test_optimum.h"
#include "search/test_problems.h"
#include "sim/placeto/from_step.h"

namespace placewright {
namespace {

using testing::HasSubstr;

std::unique_ptr<TestProblem> Strands(int ops, int devices = 3) {
  TestSpec spec;
  spec.capacity.assign(static_cast<size_t>(devices), 1 << 20);
  for (int i = 0; i < ops; ++i) {
    TestOp op{"op" + std::to_string(i), {}, {}, {100}};
    op.time_ns.assign(static_cast<size_t>(devices), 1000);
    if (i >= 2) op.reads = {"op" + std::to_string(i - 2)};
    spec.ops.push_back(op);
  }
  return MakeTestProblem(spec);
}

AgentSettings Settings(const std::vector<std::string>& changes = {}) {
  return AgentSettings::Parse(*FindLearnedAlgorithm("placeto"), changes).Take();
}

PlannerOptions Options(int64_t iterations, uint64_t seed = 0) {
  PlannerOptions options;
  options.seed = seed;
  options.budget.iterations = iterations;
  options.started = Clock::now();
  return options;
}

PlannerResult Plan(const TestProblem& test, const std::vector<std::string>& changes,
                   const PlannerOptions& options) {
  PlannerSettings settings;
  settings.agent = changes;
  return MakePlacetoPlanner(settings)->Plan(test.problem, *test.evaluator, options).Take();
}

TEST(Placeto, PlansWithEverySettingAndRepeats) {
  const auto test = Strands(12);
  for (const AgentSetting& setting : FindLearnedAlgorithm("placeto")->settings) {
    for (const std::string& word : setting.words) {
      const PlannerResult result = Plan(*test, {setting.name + "=" + word}, Options(100));
      EXPECT_TRUE(result.feasible) << setting.name << "=" << word;
      EXPECT_EQ(result.iterations, 100);
      const PlannerResult again = Plan(*test, {setting.name + "=" + word}, Options(100));
      EXPECT_EQ(again.placement, result.placement) << setting.name << "=" << word;
    }
  }
  // However it is cut into slices, and beside another.
  const PlannerResult whole = Plan(*test, {}, Options(300));
  const auto planner = MakePlacetoPlanner({});
  std::vector<PlannerResult> results(2);
  const auto plan = [&](size_t i) {
    const auto evaluator = test->evaluator->ForProblem(test->problem, 1 + static_cast<int>(i));
    const auto run = planner->AsIterative()->Start(test->problem, *evaluator, Options(300)).Take();
    while (run->Advance(3)) {
    }
    results[i] = run->result();
  };
  std::thread first(plan, 0), second(plan, 1);
  first.join();
  second.join();
  EXPECT_EQ(results[0].placement, whole.placement);
  EXPECT_EQ(results[1].placement, whole.placement);
  // Two strands on two devices: 6 ops each.
  EXPECT_EQ(Plan(*test, {}, Options(5000)).step_time, Nanos(6000));
}

TEST(Placeto, BeginsWithThePlanThatItIsGiven) {
  const auto test = Strands(12);
  PlannerOptions options = Options(0);
  options.initial = Placement(12);
  for (int i = 0; i < 12; ++i) (*options.initial)[OpId(i)] = DeviceId(i % 2);
  EXPECT_EQ(Plan(*test, {}, options).step_time, Nanos(6000));
}

TEST(Placeto, FindsTheOptimumOfSmallProblems) {
  const auto planner = MakePlacetoPlanner({});
  for (const SmallCase& small : SmallCases()) {
    SCOPED_TRACE(small.name());
    ExpectFindsOptimum(*planner, small);
  }
}

// An episode changes one op after the other, which finds the optimum of smaller problems without any learning.
// Of 22 drawn with 13 ops, where that finds it from 2 seeds of 10 or fewer, learning does from 92 of 220, and
// uniform choices from 20; this is one of these.
TEST(Placeto, FindsWhatEpisodesThatLearnNothingDoNot) {
  PlannerSettings control;
  control.agent = {"policy=uniform"};
  const SmallCase small{6, true};
  EXPECT_GE(SeedsThatFindOptimum(*MakePlacetoPlanner({}), small, 13, 8000), 9);
  EXPECT_LE(SeedsThatFindOptimum(*MakePlacetoPlanner(control), small, 13, 8000), 2);
}

TEST(Placeto, VisitsGroupsInTheOrderOfTheTraversal) {
  // Two chains a0 a2 a4.. of Strands: op0 op2 op4 and op1 op3 op5.
  const auto test = Strands(6);
  const OpGraph graph = BuildOpGraph(test->problem);
  const PlacementUnits units =
      UnitsOfGroups(test->problem, graph, FindCandidateDevices(test->problem, graph));
  const auto names = [&](TraversalOrder order) {
    std::vector<std::string> result;
    for (const int32_t unit : UnitsInOrder(test->problem, units, order)) {
      const OpId op = units.ops[static_cast<size_t>(unit)].front();
      result.push_back(test->problem.graph->op(op).name);
    }
    return result;
  };
  for (const TraversalOrder order : AllTraversalOrders()) {
    std::vector<std::string> wanted;  // a group is an op here
    for (const OpId op : Traverse(*test->problem.graph, order)) {
      wanted.push_back(test->problem.graph->op(op).name);
    }
    EXPECT_EQ(names(order), wanted) << ToString(order);
  }
}

// simulator=placeto: what the agent is given is what the published simulator says, to the bit.
TEST(Placeto, IsRewardedByPlacetosSimulator) {
  const auto test = Strands(12);
  const auto learner = MakePlacetoLearner(Settings(), 3, 0, nullptr).Take();
  const OpGraph graph = BuildOpGraph(test->problem);
  const CandidateDevices candidates = FindCandidateDevices(test->problem, graph);
  const PlacementUnits units = UnitsOfGroups(test->problem, graph, candidates);
  StepEnvironment environment(test->problem, *test->evaluator, candidates, units, true);
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<int32_t> devices;
    for (int i = 0; i < 12; ++i) devices.push_back(static_cast<int32_t>(random.Below(3)));
    std::vector<double> starts;
    const PlacetoOutcome outcome = environment.Evaluate(devices, starts);
    const PlacetoCase whole =
        MakePlacetoCase(test->problem.sim_graph, *test->problem.graph, *test->problem.cluster,
                        ExpandGroups(test->problem, environment.placement()));
    const PlacetoSimGraph compiled = CompilePlacetoCase(whole).Take();
    PlacetoSimulator simulator(compiled);
    EXPECT_EQ(outcome.time, simulator.Run(whole.placement));
    for (int i = 0; i < 12; ++i) {
      const size_t op = units.ops[static_cast<size_t>(i)].front().index();
      EXPECT_EQ(starts[static_cast<size_t>(i)], simulator.starts()[op]);
    }
  }
}

class Training : public testing::Test {
 protected:
  TrainingRequest Request(int64_t iterations, const StoredPolicy* resumed = nullptr) const {
    TrainingRequest request;
    for (const auto& test : tests_) {
      request.problems.push_back({&test->problem, test->evaluator.get()});
    }
    request.options = Options(iterations, 5);
    request.start = resumed;
    request.resume = resumed != nullptr;
    return request;
  }
  StoredPolicy Train(int64_t iterations, const StoredPolicy* resumed = nullptr) const {
    const auto training = StartPlacetoTraining(settings_, Request(iterations, resumed)).Take();
    while (training->Advance()) {
    }
    return training->stored();
  }

  std::vector<std::unique_ptr<TestProblem>> tests_;
  AgentSettings settings_ = Settings();
};

TEST_F(Training, GoesOnAsIfItHadNotEnded) {
  tests_.push_back(Strands(12));
  tests_.push_back(Strands(8));
  for (const char* baseline : {"mean", "moving", "learned"}) {
    settings_ = Settings({std::string("baseline=") + baseline});
    const StoredPolicy whole = Train(400);
    const StoredPolicy kept = Train(213);  // in the middle of an episode
    const StoredPolicy resumed = Train(400, &kept);
    EXPECT_EQ(resumed.state, whole.state);
    for (const auto& [name, tensor] : whole.parameters) {
      EXPECT_EQ(resumed.parameters.at(name).bytes, tensor.bytes) << name;
    }
    for (const auto& [name, tensor] : whole.state_tensors) {
      if (name.ends_with(".seconds")) continue;  // when it happened
      EXPECT_EQ(resumed.state_tensors.at(name).bytes, tensor.bytes) << name;
    }
  }
}

TEST_F(Training, WhatIsNotItsOwnIsRefused) {
  tests_.push_back(Strands(12));
  const StoredPolicy kept = Train(40);
  for (const auto& [name, value] : kept.state) {
    StoredPolicy damaged = kept;
    damaged.state.erase(name);
    EXPECT_FALSE(StartPlacetoTraining(settings_, Request(80, &damaged)).ok()) << name;
    damaged.state[name] = "x";
    EXPECT_FALSE(StartPlacetoTraining(settings_, Request(80, &damaged)).ok()) << name;
  }
  for (const auto& [name, tensor] : kept.state_tensors) {
    StoredPolicy damaged = kept;
    damaged.state_tensors.erase(name);
    EXPECT_FALSE(StartPlacetoTraining(settings_, Request(80, &damaged)).ok()) << name;
  }
  TrainingRequest request = Request(80, &kept);
  request.options.seed = 6;
  EXPECT_THAT(StartPlacetoTraining(settings_, request).error().message,
              HasSubstr("has the seed 5, not 6"));
  EXPECT_THAT(StartPlacetoTraining(Settings({"entropy=0.5"}), Request(80, &kept)).error().message,
              HasSubstr("not 0.5"));
  tests_[0] = Strands(10);
  EXPECT_EQ(StartPlacetoTraining(settings_, Request(80, &kept)).error().code,
            ErrorCode::kPlanMismatch);
}

// A policy of one graph plans another; of another number of devices it is refused.
TEST_F(Training, TransfersToOtherGraphs) {
  tests_.push_back(Strands(12));
  PlannerSettings settings;
  settings.policy = std::make_shared<const StoredPolicy>(Train(2000));
  const auto unseen = Strands(20);
  const auto planner = MakePlacetoPlanner(settings);
  const PlannerResult result =
      planner->Plan(unseen->problem, *unseen->evaluator, Options(21)).Take();
  EXPECT_TRUE(result.feasible);
  const auto fewer = Strands(20, 2);
  EXPECT_EQ(planner->Plan(fewer->problem, *fewer->evaluator, Options(21)).error().code,
            ErrorCode::kPlanMismatch);
}

}  // namespace
}  // namespace placewright
