#include "learn/planner/learned_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "learn/agent/agent.h"
#include "learn/planner/learned_run.h"
#include "learn/planner/shared_training.h"
#include "learn/rl/objective.h"
#include "search/evaluation/group_placement.h"
#include "search/test_problems.h"
#include "sim/placement_check.h"

namespace placewright {
namespace {

// So narrow that a test takes milliseconds.
std::vector<std::string> Narrow(const LearnedAlgorithm& algorithm) {
  std::vector<std::string> narrow{"draw=10", "update=10", "epochs=2"};
  for (const AgentSetting& setting : algorithm.settings) {
    if (setting.name.ends_with("width")) narrow.push_back(setting.name + "=8");
    if (setting.name == "pretraining") narrow.push_back(setting.name + "=3");
  }
  return narrow;
}

LearnedPlanner MakePlanner(const LearnedAlgorithm& algorithm,
                           const std::vector<std::string>& more = {}) {
  std::vector<std::string> changes = Narrow(algorithm);
  changes.insert(changes.end(), more.begin(), more.end());
  return LearnedPlanner(AgentSettings::Parse(algorithm, changes).Take());
}

PlannerOptions Options(int64_t iterations, uint64_t seed = 0) {
  PlannerOptions options;
  options.seed = seed;
  options.budget.iterations = iterations;
  options.started = Clock::now();
  return options;
}

// 12 ops in two strands of six over three devices; the strands may run side by side.
TestSpec TwoStrands() {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  for (int i = 0; i < 12; ++i) {
    TestOp op{"op" + std::to_string(i), {1000, 1000, 1500}, {}, {100}};
    if (i >= 2) op.reads = {"op" + std::to_string(i - 2)};
    spec.ops.push_back(op);
  }
  return spec;
}

// A chain of nine ops, each as large as a third of one of four devices.
TestSpec NineThirdsOfADevice() {
  TestSpec spec;
  spec.capacity = {15000, 15000, 15000, 15000};
  for (int i = 0; i < 9; ++i) {
    const std::string n = std::to_string(i);
    spec.inputs.push_back({"w" + n, 4096});
    spec.ops.push_back({"op" + n, {10, 10, 10, 10}, {"w" + n}, {8}});
    if (i > 0) spec.ops.back().reads.push_back("op" + std::to_string(i - 1));
  }
  return spec;
}

// A policy that was trained on three devices, for a graph and a cluster that it has not seen.
TEST(ZeroShot, FitsAnotherCluster) {
  const auto trained = MakeTestProblem(TwoStrands());
  const LearnedAlgorithm& gdp = *FindLearnedAlgorithm("gdp");
  const AgentSettings settings = AgentSettings::Parse(gdp, Narrow(gdp)).Take();
  TrainingRequest request;
  request.problems = {{&trained->problem, trained->evaluator.get()}};
  request.options.budget.iterations = 20;
  const auto training = SharedTraining::Start(settings, request).Take();
  while (training->Advance()) {
  }
  const auto test = MakeTestProblem(NineThirdsOfADevice());
  const auto plan = [&](std::vector<std::string> more, const PlannerOptions& options) {
    const AgentSettings of_policy = AgentSettings::OfPolicy(gdp, training->stored(), more).Take();
    const auto run =
        LearnedRun::Start(of_policy, test->problem, *test->evaluator, options, &training->stored());
    EXPECT_TRUE(run.ok()) << run.error().ToString();
    return run.value()->result();
  };
  const PlannerResult zero = plan({}, Options(0)), again = plan({}, Options(0, 7));
  EXPECT_TRUE(zero.feasible);
  EXPECT_EQ(zero.iterations, 0);
  EXPECT_EQ(zero.plan, again.plan);  // nothing is drawn, whatever the seed
  // Parts are for training: the first placement is of every group by itself.
  const PlannerResult parts = plan({"parts=2"}, Options(10));
  EXPECT_TRUE(parts.feasible);
  EXPECT_LE(plan({"parts=2"}, Options(1)).step_time, zero.step_time);
}

// A policy of weights 0 scores all devices alike and puts everything on the first, which holds three of
// nine ops: six have to go.
TEST(ZeroShot, WhatDoesNotFitIsMadeToFit) {
  const LearnedAlgorithm& gdp = *FindLearnedAlgorithm("gdp");
  std::vector<std::string> changes = Narrow(gdp);
  changes.emplace_back("plans=unseen");
  const auto test = MakeTestProblem(NineThirdsOfADevice());
  TrainingRequest request;
  request.problems = {{&test->problem, test->evaluator.get()}};
  request.options.budget.iterations = 10;
  const auto training =
      SharedTraining::Start(AgentSettings::Parse(gdp, changes).Take(), request).Take();
  ASSERT_TRUE(training->Advance());
  StoredPolicy zeros = training->stored();
  for (auto& [name, tensor] : zeros.parameters) tensor.bytes.assign(tensor.bytes.size(), '\0');
  const auto plan = [&](const std::vector<std::string>& more) {
    const AgentSettings settings = AgentSettings::OfPolicy(gdp, zeros, more).Take();
    return LearnedRun::Start(settings, test->problem, *test->evaluator, Options(0), &zeros)
        .Take()
        ->result();
  };
  const PlannerResult own = plan({"repair=off"}), repaired = plan({});
  EXPECT_FALSE(own.feasible);
  EXPECT_EQ(PlacementOf(test->problem, own.plan), Placement(9, DeviceId(0)));
  EXPECT_TRUE(repaired.feasible);
  EXPECT_TRUE(test->evaluator->EvaluateOne(PlacementOf(test->problem, repaired.plan)).feasible);
  const Placement moved = PlacementOf(test->problem, repaired.plan);
  EXPECT_EQ(std::count(moved.begin(), moved.end(), DeviceId(0)), 3);
  EXPECT_THAT(repaired.notes, testing::Contains(testing::HasSubstr("6 of 9 groups moved")));
}

// Notes what is handed in.
class RecordingEvaluator : public Evaluator {
 public:
  explicit RecordingEvaluator(Evaluator& inner) : inner_(inner) {}
  std::vector<Evaluation> Evaluate(std::span<const Placement> candidates,
                                   const EvaluationOptions& options) override {
    for (const Placement& candidate : candidates) {
      std::vector<int32_t> devices;
      for (const DeviceId device : candidate) devices.push_back(device.value());
      seen.insert(std::move(devices));
    }
    return inner_.Evaluate(candidates, options);
  }
  std::unique_ptr<MoveEvaluator> StartMoves(size_t memory_limit) override {
    return inner_.StartMoves(memory_limit);
  }
  std::unique_ptr<Evaluator> ForProblem(const Problem& variant, int threads) const override {
    return inner_.ForProblem(variant, threads);
  }

  std::set<std::vector<int32_t>> seen;

 private:
  Evaluator& inner_;
};

class Learned : public testing::TestWithParam<LearnedAlgorithm> {};

TEST_P(Learned, PlansAreCompleteLegalAndAsFastAsTheySay) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const auto test = MakeTestProblem(RandomSpec(seed));
    const Problem& problem = test->problem;
    const PlannerResult result =
        MakePlanner(GetParam()).Plan(problem, *test->evaluator, Options(23, seed)).Take();
    EXPECT_EQ(result.iterations, 23);
    EXPECT_EQ(result.algorithm, GetParam().name);
    ASSERT_TRUE(CheckPlacementLegal(problem.sim_graph, *problem.graph, *problem.cluster,
                                    PlacementOf(problem, result.plan))
                    .ok());
    const Evaluation evaluation = test->evaluator->EvaluateOne(PlacementOf(problem, result.plan));
    EXPECT_EQ(evaluation.step_time, result.step_time);
    EXPECT_EQ(evaluation.feasible, result.feasible);
    EXPECT_EQ(result.feasible, !result.history.empty());
    EXPECT_EQ(result.feasible, result.first_feasible_seconds.has_value());
    ASSERT_EQ(result.notes.size(), 1u);
    EXPECT_THAT(result.notes.front(), testing::HasSubstr("23 placements sampled"));
  }
}

TEST_P(Learned, ThreadsAndSlicesChangeNothing) {
  const auto test = MakeTestProblem(TwoStrands());
  const LearnedPlanner planner = MakePlanner(GetParam());
  const PlannerResult whole = planner.Plan(test->problem, *test->evaluator, Options(47)).Take();
  const auto on_threads = test->evaluator->ForProblem(test->problem, 3);
  const auto run = planner.Start(test->problem, *on_threads, Options(47)).Take();
  while (run->Advance(2)) {
  }
  EXPECT_EQ(run->result().plan, whole.plan);
  ASSERT_EQ(run->result().history.size(), whole.history.size());
  for (size_t i = 0; i < whole.history.size(); ++i) {
    EXPECT_EQ(run->result().history[i].iterations, whole.history[i].iterations);
    EXPECT_EQ(run->result().history[i].step_time, whole.history[i].step_time);
  }
  const PlannerResult other = planner.Plan(test->problem, *test->evaluator, Options(47, 1)).Take();
  EXPECT_NE(other.history.front().step_time, whole.history.front().step_time);
}

// The same plan whether a run is alone in its process or beside another.
TEST_P(Learned, TwoAtOnce) {
  const auto test = MakeTestProblem(TwoStrands());
  const LearnedPlanner planner = MakePlanner(GetParam());
  std::vector<PlannerResult> results(3);
  results[0] = planner.Plan(test->problem, *test->evaluator, Options(40)).Take();
  const auto plan = [&](size_t i) {
    const auto evaluator = test->evaluator->ForProblem(test->problem, 1);
    results[i] = planner.Plan(test->problem, *evaluator, Options(40)).Take();
  };
  std::thread first(plan, 1), second(plan, 2);
  first.join();
  second.join();
  EXPECT_EQ(results[1].plan, results[0].plan);
  EXPECT_EQ(results[2].plan, results[0].plan);
}

// Nor does another algorithm on another problem.
TEST(TwoPlanners, DoNotDisturbEachOther) {
  TestSpec slower = TwoStrands();
  slower.latency += 500;
  const auto test = MakeTestProblem(TwoStrands()), other = MakeTestProblem(slower);
  const LearnedPlanner mars = MakePlanner(*FindLearnedAlgorithm("mars")),
                       eagle = MakePlanner(*FindLearnedAlgorithm("eagle"));
  const auto plan = [](const LearnedPlanner& planner, const TestProblem& of) {
    return planner.Plan(of.problem, *of.evaluator, Options(40)).Take();
  };
  const PlannerResult mars_alone = plan(mars, *test), eagle_alone = plan(eagle, *other);
  PlannerResult by_mars, by_eagle;
  std::thread first([&] { by_mars = plan(mars, *test); });
  std::thread second([&] { by_eagle = plan(eagle, *other); });
  first.join();
  second.join();
  EXPECT_EQ(by_mars.plan, mars_alone.plan);
  EXPECT_EQ(by_eagle.plan, eagle_alone.plan);
}

TEST_P(Learned, BudgetsEndIt) {
  const auto test = MakeTestProblem(TwoStrands());
  const LearnedPlanner planner = MakePlanner(GetParam());
  const PlannerResult none = planner.Plan(test->problem, *test->evaluator, Options(0)).Take();
  EXPECT_EQ(none.iterations, 0);
  EXPECT_THAT(none.notes,
              testing::Contains(testing::HasSubstr("first draw of an untrained policy")));
  StopSource stop;
  PlannerOptions stopped = Options(1'000'000'000);
  stopped.budget.stop = stop.token();
  stopped.progress = [&](const PlannerOptions::Progress& progress) {
    if (progress.iterations >= 20) stop.RequestStop();
  };
  // Progress comes with improvements and a few times a second.
  const PlannerResult result = planner.Plan(test->problem, *test->evaluator, stopped).Take();
  EXPECT_GE(result.iterations, 20);
  const PlannerResult repeated =
      planner.Plan(test->problem, *test->evaluator, Options(result.iterations)).Take();
  EXPECT_EQ(repeated.plan, result.plan);
}

// A start is kept until a sample is better.
TEST_P(Learned, TakesAStart) {
  const auto test = MakeTestProblem(TwoStrands());
  PlannerOptions options = Options(0);
  GroupPlacement strands;
  for (int32_t i = 0; i < 12; ++i) strands.push_back(DeviceId(i % 2));
  options.initial = PlanOf(test->problem, strands);
  const PlannerResult result =
      MakePlanner(GetParam()).Plan(test->problem, *test->evaluator, options).Take();
  EXPECT_EQ(result.step_time, Nanos(6000));
}

// Every policy can decide as a plan to start from does, and learns to.
TEST_P(Learned, ImitatesThePlanToStartFrom) {
  TestSpec spec = TwoStrands();
  const auto test = MakeTestProblem(spec);
  const AgentProblem problem(test->problem, 1);
  for (const char* parts : {"parts=0", "parts=2"}) {
    std::vector<std::string> changes = Narrow(GetParam());
    changes.emplace_back(parts);
    const AgentSettings settings = AgentSettings::Parse(GetParam(), changes).Take();
    const auto parameters = MakeParameters(settings, 1, nullptr).Take();
    const Agent agent = MakeAgent(settings, problem, parameters).Take();
    const GroupPlacement start = OnDevices({0, 1, 2, 2, 1, 0, 0, 1, 2, 1, 1, 0});
    const std::vector<DeviceId> wanted = DevicesOfUnits(test->problem, agent.units, start);
    const at::Tensor decisions = agent.policy->DecisionsFor(wanted);
    ASSERT_EQ(decisions.dim(), 1);
    const bool exact =
        std::string(parts) == "parts=0" || GetParam().name == "mars" || GetParam().name == "post";
    if (exact) {
      EXPECT_EQ(agent.policy->DevicesOf(decisions), wanted);
    }
    // The transformer's width is not narrowed.
    PolicyOptimizer optimizer(parameters, GetParam().name == "gdp" ? 0.002 : 0.02, 1);
    const auto likelihood = [&] {
      return EliteObjective(agent.policy->Evaluate(decisions.unsqueeze(0)).log_probability);
    };
    const double before = likelihood().item<double>();
    double now = before;
    for (int step = 0; step < 200 && now <= before * 0.6; ++step) {
      const at::Tensor reached = likelihood();
      now = reached.item<double>();
      optimizer.Climb(reached);
    }
    EXPECT_GT(now, before * 0.6) << parts;
  }
}

TEST_P(Learned, AStartIsKeptAndLearnedFrom) {
  const auto test = MakeTestProblem(TwoStrands());
  PlannerOptions options = Options(40);
  options.initial = PlanOf(test->problem, OnDevices({0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}));
  const PlannerResult result =
      MakePlanner(GetParam()).Plan(test->problem, *test->evaluator, options).Take();
  EXPECT_LE(result.step_time, Nanos(6000));
  EXPECT_EQ(result.iterations, 40);
}

// A policy that has settled draws the same again and again; begun anew it goes elsewhere.
TEST(LearnedPlanner, BeginsAnewWhereItHasSettled) {
  const auto test = MakeTestProblem(TwoStrands());
  const auto distinct = [&](const char* restart) {
    const LearnedPlanner planner(
        AgentSettings::Parse(
            *FindLearnedAlgorithm("post"),
            std::vector<std::string>{"learning-rate=1", "explore=0", "repeats=kept", restart})
            .Take());
    RecordingEvaluator recording(*test->evaluator);
    EXPECT_TRUE(planner.Plan(test->problem, recording, Options(2000)).ok());
    return recording.seen.size();
  };
  EXPECT_GT(distinct("restart=60"), 2 * distinct("restart=0"));
}

// However much a policy has settled.
TEST_P(Learned, SamplesNoPlacementTwice) {
  const auto test = MakeTestProblem(TwoStrands());
  RecordingEvaluator recording(*test->evaluator);
  const LearnedPlanner planner = MakePlanner(GetParam(), {"learning-rate=1", "explore=0"});
  EXPECT_TRUE(planner.Plan(test->problem, recording, Options(400)).ok());
  EXPECT_GE(recording.seen.size(), 400u);
  // Of one op there are three placements, whatever is drawn.
  TestSpec one = TwoStrands();
  one.ops.resize(1);
  const auto small = MakeTestProblem(one);
  RecordingEvaluator few(*small->evaluator);
  EXPECT_EQ(planner.Plan(small->problem, few, Options(40)).Take().iterations, 40);
  EXPECT_EQ(few.seen.size(), 3u);
}

// Of 531,441 placements some fifty are within 5% of the best, 6 us: 1,200 drawn uniformly hit one of them in
// about one of nine runs.
TEST_P(Learned, LearnsFromItsSamples) {
  const auto test = MakeTestProblem(TwoStrands());
  // Narrow networks take longer steps than those that the defaults are for.
  const std::string rate = GetParam().name == "hdp"   ? "0.02"
                           : GetParam().name == "gdp" ? "0.003"
                                                      : "0.03";
  const LearnedPlanner planner = MakePlanner(GetParam(), {"learning-rate=" + rate, "explore=1"});
  const PlannerResult result = planner.Plan(test->problem, *test->evaluator, Options(1200)).Take();
  EXPECT_LE(result.step_time, Nanos(6300));
}

// Every kind of part makes plans, and survives its first two updates.
TEST(LearnedParts, EveryWordOfEverySetting) {
  const auto test = MakeTestProblem(TwoStrands());
  for (const LearnedAlgorithm& algorithm : TorchPlacers()) {
    for (const AgentSetting& setting : algorithm.settings) {
      if (setting.name == "device") continue;
      for (const std::string& word : setting.words) {
        const Result<PlannerResult> planned =
            MakePlanner(algorithm, {setting.name + "=" + word})
                .Plan(test->problem, *test->evaluator, Options(20));
        ASSERT_TRUE(planned.ok()) << algorithm.name << " " << setting.name << "=" << word << ": "
                                  << planned.error().ToString();
        const PlannerResult& result = planned.value();
        EXPECT_TRUE(result.feasible) << algorithm.name << " " << setting.name << "=" << word;
        EXPECT_EQ(result.iterations, 20);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Learned, testing::ValuesIn(TorchPlacers()),
                         [](const auto& named) { return named.param.name; });

TEST(Units, AsTheOptionsSay) {
  const auto test = MakeTestProblem(TwoStrands());
  const AgentProblem problem(test->problem, 0);
  const auto units = [&](const UnitOptions& options) {
    return MakeUnits(test->problem, problem.graph, problem.candidates, problem.groups, options)
        .Take()
        .size();
  };
  UnitOptions options;
  EXPECT_EQ(units(options), 12);
  options.parts = 3;
  EXPECT_EQ(units(options), 3);
  options.fluid = true;
  EXPECT_EQ(units(options), 3);
  options.parts = 100;
  EXPECT_EQ(units(options), 12);  // no more parts than groups
}

}  // namespace
}  // namespace placewright
