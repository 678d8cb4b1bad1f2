// Local search: its move_sets, its view of the critical path, and what it reaches.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "search/evaluation/group_placement.h"
#include "search/evaluation/plan_result.h"
#include "search/evaluation/simulated.h"
#include "search/local/annealer.h"
#include "search/local/critical.h"
#include "search/local/descent.h"
#include "search/local/initial_placements.h"
#include "search/local/local_search.h"
#include "search/local/move_sets.h"
#include "search/local/patterns.h"
#include "search/planner_table.h"
#include "search/test_problems.h"
#include "sim/simulator.h"

namespace placewright {
namespace {

PlannerOptions Options(int64_t iterations) {
  PlannerOptions options;
  options.seed = 7;
  options.budget.iterations = iterations;
  options.started = Clock::now();
  return options;
}

// Search is no proof, but on problems this small 600 moves should nearly always reach the optimum.
TEST(LocalSearch, ReachesTheOptimumOfTinyProblems) {
  const LocalSearchPlanner planner(false);
  int optimal = 0, problems = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const TestSpec spec = RandomSpec(seed);
    const bool runnable = std::all_of(spec.ops.begin(), spec.ops.end(), [](const TestOp& op) {
      return *std::max_element(op.time_ns.begin(), op.time_ns.end()) >= 0;
    });
    if (!runnable) continue;
    const auto test = MakeTestProblem(spec);
    const std::optional<Score> best = BestOfAll(test->problem);
    const auto result = planner.Plan(test->problem, *test->evaluator, Options(600));
    ASSERT_TRUE(best && result.ok());
    ++problems;
    EXPECT_TRUE(result.value().feasible || !best->feasible) << seed;
    if (best->feasible) {
      EXPECT_GE(result.value().step_time.count, best->step_time);
      optimal += result.value().step_time.count == best->step_time;
    } else {
      ++optimal;
    }
  }
  EXPECT_GE(optimal * 100, problems * 97) << optimal << " of " << problems;
}

// Eight ops keep 4,608 B and eight 2,560 B; beside them an op needs 512 B while it runs. Both
// devices hold 29,184 B: half of all parameters (28,672), which only four of each kind are (9 a + 5
// b = 56), and one result. Ops take 10 ns on d0 and 20 ns on d1, so that time alone wants ten or
// eleven on d0 and would overflow by a few KiB: on the way to what fits every move must pay off in
// bytes.
TEST(Annealer, PaysForEveryByteOfOverflow) {
  TestSpec spec;
  spec.capacity = {29184, 29184};
  for (int i = 0; i < 16; ++i) {
    const std::string n = std::to_string(i);
    spec.inputs.push_back({"w" + n, i % 2 == 0 ? 4608 : 2560});
    spec.ops.push_back({"op" + n, {10, 20}, {"w" + n}, {64}});
  }
  const auto test = MakeTestProblem(spec);
  const OpGraph graph = BuildOpGraph(test->problem);
  const CandidateDevices candidates = FindCandidateDevices(test->problem, graph);
  const GroupInfos groups = DescribeGroups(test->problem, graph);
  const MoveSets move_sets(test->problem, graph, groups);
  const LocalContext context =
      MakeLocalContext(test->problem, graph, candidates, move_sets, groups);
  Annealer annealer(context, *test->evaluator, AllOn(0, 16), Random(7), {});
  annealer.Run(5000);
  EXPECT_TRUE(annealer.best_score().feasible);
  EXPECT_EQ(annealer.best_score().step_time, 160);  // eight ops of 20 ns
}

// A recurrent chain of eight steps, a0 to a7, and beside each step an op bi that reads ai.
std::unique_ptr<TestProblem> RecurrentProblem(int steps, int64_t bytes) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  for (int i = 0; i < steps; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    TestOp a{"a" + n, {10, 10}, {}, {bytes}};
    TestOp b{"b" + n, {10, 10}, {"a" + n}, {bytes}};
    if (i > 0) a.reads.push_back("a" + before);
    if (i > 0) b.reads.push_back("b" + before);
    a.module = "chain";
    b.module = "beside";
    spec.ops.push_back(a);
    spec.ops.push_back(b);
  }
  return MakeTestProblem(spec);
}

// Two rounds see two tensors far: from step 2 to step 5 of 0 to 7 the surroundings are the same. An
// a has one producer and two consumers, a b the reverse.
TEST(PatternLabels, TellTheSamePartOfEveryStep) {
  const auto test = RecurrentProblem(8, 4);
  const OpGraph graph = BuildOpGraph(test->problem);
  const std::vector<uint64_t> label = PatternLabels(test->problem, graph).raw();
  ASSERT_EQ(label.size(), 16u);  // a0 b0 a1 b1 ...
  for (size_t step = 3; step <= 5; ++step) {
    EXPECT_EQ(label[2 * step], label[4]) << step;
    EXPECT_EQ(label[2 * step + 1], label[5]) << step;
  }
  EXPECT_NE(label[4], label[5]);
  for (const size_t step : {0, 1, 6, 7}) EXPECT_NE(label[2 * step], label[4]) << step;
}

// The same plan for every seed and number of threads, better than its start, and found again by the
// number of its moves, wherever that cuts a set; without a limit that is met it ends by itself.
TEST(Descent, DrawsNothingAndRepeatsByMoves) {
  const auto test = RecurrentProblem(40, 4);
  GroupPlacement scattered;
  for (ColocationGroupId u : test->problem.group_ids()) {
    scattered.push_back(DeviceId(u.value() * 7 % 3 == 0 ? 1 : 0));
  }
  const auto plan = [&](std::optional<int64_t> iterations, uint64_t seed, int threads) {
    PlannerOptions options;
    options.budget.iterations = iterations;
    options.seed = seed;
    options.starts = {PlanOf(test->problem, scattered)};
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(test->problem, threads);
    return DescentPlanner(false).Plan(test->problem, *evaluator, options).Take();
  };
  const PlannerResult start = plan(0, 0, 1), end = plan(1'000'000, 0, 1);
  EXPECT_LT(end.step_time, start.step_time);
  EXPECT_LT(end.iterations, 1'000'000);
  EXPECT_EQ(plan(1'000'000, 7, 3).plan, end.plan);
  Nanos before = start.step_time;
  for (const int64_t moves : {1, 2, 3, 10, 11, 50, 200}) {
    const PlannerResult some = plan(moves, 0, 1);
    EXPECT_LE(some.iterations, moves);
    EXPECT_LE(some.step_time, before);  // the same way, cut off later
    before = some.step_time;
    EXPECT_EQ(plan(some.iterations, 3, 2).plan, some.plan);
  }
  EXPECT_LE(end.step_time, before);
}

// A start that is behind may be ahead once whole modules have been tried.
TEST(Descent, GoesOnFromTheStartThatModulesMakeMoreOf) {
  const auto test = RecurrentProblem(12, 4);
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(test->problem, 1);
  const auto plan = [&](std::vector<GroupPlacement> starts) {
    PlannerOptions options;
    options.budget.iterations = 1'000'000;
    for (const GroupPlacement& start : starts) {
      options.starts.push_back(PlanOf(test->problem, start));
    }
    return DescentPlanner(false, 2).Plan(test->problem, *evaluator, options).Take().step_time;
  };
  Random random(1);
  const auto draw = [&] {
    GroupPlacement devices;
    for (size_t i = 0; i < test->problem.groups.size(); ++i) {
      devices.push_back(DeviceId(static_cast<int32_t>(random.Below(2))));
    }
    return devices;
  };
  int better = 0, as_good = 0;
  for (int i = 0; i < 20; ++i) {
    GroupPlacement a = draw(), b = draw();
    const auto score = [&](const GroupPlacement& devices) {
      return EvaluateGroups(test->problem, devices, *evaluator).Take();
    };
    if (score(b) < score(a)) std::swap(a, b);
    const Nanos ahead = plan({a}), both = plan({b, a});
    better += both < ahead;
    as_good += both == ahead;
  }
  EXPECT_GE(better, 2);
  EXPECT_GE(better + as_good, 17);
}

TEST(MoveSets, HoldThePartsThatRepeat) {
  const auto test = RecurrentProblem(8, 4);
  const OpGraph graph = BuildOpGraph(test->problem);
  const MoveSets move_sets(test->problem, graph, DescribeGroups(test->problem, graph));
  const std::vector<int32_t> wanted = {4, 6, 8, 10};  // a2 to a5
  bool found = false;
  for (const MoveSetId set : move_sets.Of(ColocationGroupId(6))) {
    std::vector<int32_t> members;
    for (const ColocationGroupId group : move_sets.members(set)) members.push_back(group.value());
    found = found || members == wanted;
  }
  EXPECT_TRUE(found);
}

// 40 steps, all on d0: 800 ns. With every b on d1, ai ends at 10 (i + 1), b0 starts 4 ns later and
// the others follow it without a gap: 14 + 400. One group alone gains nothing but at the ends: its
// neighbours wait for transfers both ways.
TEST(Annealer, SweepsOverTheLargestClustersFirst) {
  const auto test = RecurrentProblem(40, 4);
  const OpGraph graph = BuildOpGraph(test->problem);
  const CandidateDevices candidates = FindCandidateDevices(test->problem, graph);
  const GroupInfos groups = DescribeGroups(test->problem, graph);
  const MoveSets move_sets(test->problem, graph, groups);
  const LocalContext context =
      MakeLocalContext(test->problem, graph, candidates, move_sets, groups);
  ASSERT_EQ(move_sets.members(context.largest.front()).size(), 80u);  // all groups
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Annealer annealer(context, *test->evaluator, AllOn(0, 80), Random(seed), {});
    annealer.Run(20);
    EXPECT_EQ(annealer.best_score().step_time, 414) << seed;
  }
}

// 200 ops that may all start at once, on one device: op i waits for the i before it, 19,900 waits.
TEST(CriticalChain, BlockersStayLinear) {
  TestSpec spec;
  spec.capacity = {1 << 20};
  for (int i = 0; i < 200; ++i) spec.ops.push_back({"op" + std::to_string(i), {10}, {}, {8}});
  const auto test = MakeTestProblem(spec);
  Simulator simulator(test->problem.sim_graph);
  SimOptions options;
  options.schedule = true;
  const GroupPlacement devices = AllOn(0, 200);
  const SimResult& result = simulator.Run(ExpandGroups(test->problem, devices), options);
  const CriticalView view =
      CriticalChain(test->problem, BuildOpGraph(test->problem), devices, *result.schedule);
  EXPECT_EQ(view.chain.size(), 200u);
  EXPECT_EQ(view.blockers.size(), 200 * CriticalView::kBlockersPerOp);
}

// Four parameters of 4,096 B; everything starts on d0 with its 9,216 B, where two of them fit.
TEST(LocalSearch, RepairsAPlanThatDoesNotFit) {
  TestSpec spec;
  spec.capacity = {9216, 9216};
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    spec.inputs.push_back({"w" + n, 4096});
    spec.ops.push_back({"op" + n, {10, 10}, {"w" + n}, {64}});
  }
  const auto test = MakeTestProblem(spec);
  PlannerOptions options = Options(400);
  options.initial = PlanOf(test->problem, AllOn(0, 4));
  options.starts = {*options.initial};
  const auto result = LocalSearchPlanner(false).Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.value().feasible);
  EXPECT_EQ(result.value().step_time, Nanos(20));  // two ops of 10 ns on each device
}

// The deadline has passed before the first move.
TEST(LocalSearch, ALateRunIsRepeatedByItsMoves) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto test = MakeTestProblem(RandomSpec(seed));
    PlannerOptions late = Options(0);
    late.budget.iterations.reset();
    late.budget.deadline = Clock::now();
    const auto timed = LocalSearchPlanner(false).Plan(test->problem, *test->evaluator, late);
    ASSERT_TRUE(timed.ok());
    const auto again = LocalSearchPlanner(false).Plan(test->problem, *test->evaluator,
                                                      Options(timed.value().iterations));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again.value().plan, timed.value().plan) << seed;
  }
}

// A run that a deadline ended is repeated by its number of moves.
TEST(LocalSearch, RecordedMovesRepeatATimedRun) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  for (int i = 0; i < 30; ++i) {
    TestOp op{"op" + std::to_string(i), {10 + i, 12 + i % 7, 30}, {}, {40 + i}};
    for (int j = 1; j <= 2 && i - j * 3 >= 0; ++j) {
      op.reads.push_back("op" + std::to_string(i - j * 3));
    }
    spec.ops.push_back(op);
  }
  const auto test = MakeTestProblem(spec);
  PlannerOptions timed = Options(0);
  timed.budget.iterations.reset();
  timed.budget.deadline = Clock::now() + std::chrono::milliseconds(60);
  timed.threads = 2;
  const auto first = LocalSearchPlanner(false).Plan(test->problem, *test->evaluator, timed);
  ASSERT_TRUE(first.ok());
  EXPECT_GT(first.value().iterations, 0);
  const auto second = LocalSearchPlanner(false).Plan(test->problem, *test->evaluator,
                                                     Options(first.value().iterations));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first.value().plan, second.value().plan);
  EXPECT_EQ(first.value().step_time, second.value().step_time);
}

TEST(Auto, SpentTimeLeavesOnePlanAtLeastAndSaysWhatIsMissing) {
  const auto test = MakeTestProblem(RandomSpec(0));
  PlannerOptions options = Options(0);
  options.budget.iterations.reset();
  options.budget.deadline = Clock::now() - std::chrono::seconds(1);
  const PlannerTable table = MakeSearchPlanners();
  const auto result = MakeAuto(table)->Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value().baselines.front().algorithm, "single");
  EXPECT_LT(result.value().baselines.size(), PlannersInAuto(test->problem));
  EXPECT_EQ(result.value().iterations, 0);
  EXPECT_TRUE(result.value().feasible);
  ASSERT_EQ(result.value().notes.size(), 1u);
  EXPECT_TRUE(result.value().notes[0].starts_with("not run, as no time or moves were left: random"))
      << result.value().notes[0];
}

TEST(Auto, StoppedBeforeThereIsAPlanItIsCancelled) {
  const auto test = MakeTestProblem(RandomSpec(0));
  StopSource source;
  source.RequestStop();
  PlannerOptions options = Options(1'000'000'000);
  options.budget.stop = source.token();
  const PlannerTable table = MakeSearchPlanners();
  const auto result = MakeAuto(table)->Plan(test->problem, *test->evaluator, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kCancelled);
}

// Stopped at the first plan that a search reports: the best until then.
TEST(Auto, StoppedLaterItReturnsTheBestSoFar) {
  const auto test = MakeTestProblem(RandomSpec(0));
  StopSource source;
  PlannerTable table = MakeSearchPlanners();
  for (auto& planner : table) {
    if (planner->name() == "local-search") planner = std::make_unique<LocalSearchPlanner>(false);
  }
  PlannerOptions options = Options(1'000'000'000);
  options.budget.stop = source.token();
  options.progress = [&](const PlannerOptions::Progress&) { source.RequestStop(); };
  const auto result = MakeAuto(table)->Plan(test->problem, *test->evaluator, options);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result.value().feasible);
  EXPECT_LT(result.value().iterations, 1'000'000'000);
}

// Three equal devices on one host: the first two are a part, all three are not (they are the
// whole). Confined to that part, a group that may only run on d2 keeps it.
TEST(Starts, PartsOfTheMachine) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  spec.ops = {{"a", {5, 5, 5}, {}, {64}}, {"b", {-1, -1, 5}, {"a"}, {64}}};
  const auto test = MakeTestProblem(spec);
  const OpGraph graph = BuildOpGraph(test->problem);
  const CandidateDevices candidates = FindCandidateDevices(test->problem, graph);
  const auto parts = MachineParts(test->cluster, candidates);
  ASSERT_EQ(parts, (std::vector<std::vector<DeviceId>>{DeviceList({0, 1})}));
  const CandidateDevices confined = Confine(candidates, parts[0]);
  EXPECT_EQ(confined.preferred[ColocationGroupId(0)], DeviceList({0, 1}));
  EXPECT_EQ(confined.preferred[ColocationGroupId(1)], DeviceList({2}));
  const GroupInfos groups = DescribeGroups(test->problem, graph);
  // Seven methods on two parts.
  EXPECT_EQ(PlansOnParts({test->problem, graph, candidates, groups}, Budget{}, 2).size(), 14u);
}

// forward y = f(x, w); backward dw = g(x, y) for the update of w alone, dx = h(w, y) without
// readers. The branch of w's update: its group {f? no: w is written by `update`} and g's.
TEST(MoveSets, WeightGradientsTravelWithTheirUpdate) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.inputs = {{"w", 512}, {"x", 64, TensorKind::kInput}};
  spec.ops = {{"f", {1, 1}, {"x", "w"}, {64}, "", Phase::kForward, "m"},
              {"g", {1, 1}, {"x", "f"}, {64}, "", Phase::kBackward, "m"},
              {"s", {1, 1}, {"g"}, {64}, "", Phase::kBackward, "m"},
              {"h", {1, 1}, {"w", "f"}, {64}, "", Phase::kBackward, "m"},
              {"update", {1, 1}, {"s"}, {}, "w", Phase::kOptimizer, "m"}};
  const auto test = MakeTestProblem(spec);
  const OpGraph graph = BuildOpGraph(test->problem);
  const GroupInfos groups = DescribeGroups(test->problem, graph);
  const MoveSets move_sets(test->problem, graph, groups);
  const auto group = [&](int op) { return test->problem.group_of[OpId(op)]; };
  std::vector<ColocationGroupId> gradient{group(1), group(2)};
  std::vector<ColocationGroupId> branch{group(1), group(2), group(4)};
  std::sort(gradient.begin(), gradient.end());
  std::sort(branch.begin(), branch.end());
  bool has_gradient = false, has_branch = false;
  for (const MoveSetId c : move_sets.Of(group(1))) {
    const auto members = move_sets.members(c);
    has_gradient |= std::equal(members.begin(), members.end(), gradient.begin(), gradient.end());
    has_branch |= std::equal(members.begin(), members.end(), branch.begin(), branch.end());
  }
  EXPECT_TRUE(has_gradient);
  EXPECT_TRUE(has_branch);
}

// a (10 ns on d0) hands 100 B to c on d1, and b (30 ns on d0, ready at 0 after a) hands 50 B to d
// on d1. The link carries a's 100 B in [10, 110], b's in [110, 160] though ready at 40; d runs
// [160, 165]. Chain: d, the transfer of b's result (which waited for the wire), the transfer of
// a's, a.
TEST(CriticalChain, FollowsQueuesOfLinks) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.ops = {{"a", {10, 10}, {}, {100}},
              {"b", {30, 30}, {}, {50}},
              {"c", {1, 1}, {"a"}, {8}},
              {"d", {5, 5}, {"b"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const GroupPlacement devices = OnDevices({0, 0, 1, 1});
  Simulator simulator(test->problem.sim_graph);
  SimOptions options;
  options.schedule = true;
  const SimResult& result = simulator.Run(ExpandGroups(test->problem, devices), options);
  EXPECT_EQ(result.step_time, Nanos(165));
  const std::vector<CriticalLink> chain =
      CriticalChain(test->problem, BuildOpGraph(test->problem), devices, *result.schedule).chain;
  ASSERT_EQ(chain.size(), 4u);
  EXPECT_EQ(chain[0].op, ExecOpId(3));
  EXPECT_FALSE(chain[0].transfer);
  EXPECT_TRUE(chain[1].transfer);
  EXPECT_TRUE(chain[1].waits_in_queue);
  EXPECT_EQ(chain[1].producer, ExecOpId(1));
  EXPECT_EQ(chain[1].op, ExecOpId(3));
  EXPECT_TRUE(chain[2].transfer);
  EXPECT_FALSE(chain[2].waits_in_queue);
  EXPECT_EQ(chain[2].producer, ExecOpId(0));
  EXPECT_EQ(chain[2].op, ExecOpId(2));
  EXPECT_EQ(chain[3].op, ExecOpId(0));
}

// All ops together take 30 ns on d0, 20 ns on d1; c does not run on d1, and prefers d0.
TEST(AllOnFastest, PutsTheRestWhereItMayRun) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.ops = {{"a", {10, 5}, {}, {8}}, {"b", {10, 5}, {"a"}, {8}}, {"c", {10, -1}, {"b"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const CandidateDevices candidates =
      FindCandidateDevices(test->problem, BuildOpGraph(test->problem));
  EXPECT_EQ(AllOnFastest(candidates), OnDevices({1, 1, 0}));
}

}  // namespace
}  // namespace placewright
