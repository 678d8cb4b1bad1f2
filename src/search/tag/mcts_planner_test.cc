#include "search/tag/mcts_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cluster/cluster_builder.h"
#include "planning/plan_words.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/data_parallel.h"
#include "search/layouts/test_specs.h"
#include "search/layouts/test_steps.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/tag/floor_prior.h"
#include "search/tag/strategies.h"

namespace placewright {
namespace {

PlannerResult Search(const Problem& problem, int64_t moves,
                     const std::vector<std::string>& settings = {}, int threads = 1) {
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem, threads);
  PlannerOptions options;
  options.budget.iterations = moves;
  options.threads = threads;
  return MctsPlanner(settings).Plan(problem, *evaluator, options).Take();
}

// All slices for each of the units.
int64_t Optimum(const Problem& problem, int64_t* combinations) {
  LayoutBook book;
  const auto strategies = Strategies::Make(problem, book, {}).Take();
  const size_t units = strategies->units().size();
  std::vector<size_t> digits(units, 0);
  int64_t best = kMaxQuantity;
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(problem);
  for (*combinations = 0;; ++*combinations) {
    std::vector<int32_t> slices;
    for (size_t unit = 0; unit < units; ++unit) {
      slices.push_back(strategies->MayHave(unit)[digits[unit]]);
    }
    const auto evaluation =
        evaluator->EvaluatePlan(PlanOf(book, strategies->StateOf(slices).Take()));
    if (evaluation.ok() && evaluation.value().feasible) {
      best = std::min(best, evaluation.value().step_time.count);
    }
    size_t unit = 0;
    while (unit < units && ++digits[unit] == strategies->MayHave(unit).size()) digits[unit++] = 0;
    if (unit == units) return best;
  }
}

// Three units on two device groups. Of both priors, with half as many strategies looked at as there are.
TEST(Mcts, FindsTheBestStrategyOfTinySteps) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/3);
    tiny.layouts->units = 3;
    int64_t combinations = 0;
    const int64_t optimum = Optimum(tiny.problem, &combinations);
    ASSERT_GT(combinations, 100) << seed;
    for (const std::string prior : {"prior=floor", "prior=uniform"}) {
      const PlannerResult found = Search(tiny.problem, combinations / 2, {prior, "sfb=none"});
      EXPECT_EQ(found.step_time.count, optimum)
          << "seed " << seed << ", " << combinations << " strategies, " << prior;
    }
  }
}

TEST(Mcts, IsTheSameWhateverTheThreads) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/6);
    const PlannerResult one = Search(tiny.problem, 230, {}, 1);
    EXPECT_EQ(one.iterations, 230);
    for (const int threads : {2, 4}) {
      const PlannerResult other = Search(tiny.problem, 230, {}, threads);
      EXPECT_EQ(other.plan, one.plan);
      EXPECT_EQ(other.iterations, one.iterations);
      EXPECT_EQ(other.notes, one.notes);  // as many simulated, too
    }
  }
}

// Where it fits; its step time is that of the compiled step, stated in words, too.
TEST(Mcts, IsNeverWorseThanDataParallelism) {
  int better = 0, fits = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const DrawnProblem drawn(seed, /*large=*/true, /*tight=*/seed % 4 == 0);
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(drawn.problem);
    const PlannerResult found = Search(drawn.problem, 40);
    EXPECT_EQ(found.step_time, EvaluateCompiled(*drawn.layouts, found.plan).Take().step_time);
    const DistributionSpec stated = StatePlan(*drawn.layouts, found.plan);
    EXPECT_EQ(EvaluateSpec(*drawn.layouts, stated).Take().step_time, found.step_time);
    for (const DataParallelKind kind : {DataParallelKind::kEven, DataParallelKind::kProportional,
                                        DataParallelKind::kLate, DataParallelKind::kHorovod}) {
      const auto parallel = DataParallelPlanner(kind).Plan(drawn.problem, *evaluator, {});
      if (!parallel.ok() || !parallel.value().feasible) continue;
      ++fits;
      EXPECT_TRUE(found.feasible) << seed;
      EXPECT_LE(found.step_time, parallel.value().step_time) << seed;
      better += found.step_time < parallel.value().step_time ? 1 : 0;
    }
  }
  EXPECT_GT(fits, 200);
  EXPECT_GT(better, 100);
}

// The settings of paper and program, too.
TEST(Mcts, TakesSettings) {
  const LayeredProblem tiny(1, {}, /*layers=*/3);
  for (const char* values : {"values=published", "values=code"}) {
    const PlannerResult found = Search(tiny.problem, 50, {values});
    EXPECT_NE(found.notes.front().find("prior uniform"), std::string::npos);
  }
  const auto of = [&](const std::vector<std::string>& changes) {
    return MctsOptionsOf(AgentSettings::Parse(*MctsPlanner().settable(), changes).Take());
  };
  EXPECT_FALSE(of({"values=published"}).game.slices.by_speed);
  EXPECT_TRUE(of({"values=published"}).game.slices.copies);
  EXPECT_FALSE(of({"values=code"}).game.slices.copies);
  EXPECT_TRUE(of({"values=code"}).game.fourth_root);
  EXPECT_TRUE(of({"values=code", "copies=on"}).game.slices.copies);
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  const auto refused = MctsPlanner({"prior=network"}).Plan(tiny.problem, *evaluator, {});
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
}

TEST(Mcts, KeepsConstraints) {
  Constraints constraints;
  constraints.pins.push_back({"layer0", "a"});
  constraints.forbids.push_back({"layer2", "b"});
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const LayeredProblem tiny(seed, constraints, /*layers=*/3);
    const PlannerResult found = Search(tiny.problem, 100);
    for (const OpId op : tiny.graph->ops()) {
      const std::string& name = tiny.graph->op(op).name;
      if (name.back() != '0' && name.back() != '2') continue;
      const Layout& layout = found.plan.layouts.Of(tiny.layouts->graph.group(op));
      EXPECT_EQ(layout, PlacedOn(DeviceId(0)));
    }
  }
}

// Two GPUs that are one group: of the sets of groups none is one of them. A start that may not be does not become the plan.
TEST(Mcts, KeepsConstraintsWithinDeviceGroups) {
  ClusterBuilder builder("pair");
  DeviceKind kind{.name = "K"};
  kind.peak.f32 = 1e9;
  kind.memory_bandwidth = BytesPerSecond(1 << 28);
  const int32_t number = builder.AddKind(kind).Take();
  for (const char* name : {"a", "b"}) {
    (void)builder.AddDevice({.name = name, .kind = number, .capacity = Bytes(1 << 28)}).Take();
  }
  ASSERT_TRUE(
      builder.Connect("a", "b", BytesPerSecond(1 << 28), Nanos(100), Duplex::kFull, "").ok());
  const Cluster cluster = std::move(builder).Build().Take();
  ASSERT_EQ(cluster.groups().size(), 1u);
  Constraints constraints;
  constraints.pins.push_back({"layer0", "b"});
  Random random(1);
  const LayeredProblem tiny(TinyStep(random, 3), cluster, constraints);
  const StepPlan everywhere = ResolvePlan(*tiny.layouts, EvenSplit()).Take();
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  PlannerOptions options;
  options.budget.iterations = 50;
  options.initial = everywhere;
  const PlannerResult found = MctsPlanner().Plan(tiny.problem, *evaluator, options).Take();
  for (const OpId op : tiny.graph->ops()) {
    if (tiny.graph->op(op).name.back() != '0') continue;
    EXPECT_EQ(found.plan.layouts.Of(tiny.layouts->graph.group(op)), PlacedOn(DeviceId(1)));
  }
}

// The first decision is one of the whole step, and later units that may not follow do as data parallelism.
TEST(Strategies, LetUndecidedUnitsFollowTheFirst) {
  const LayeredProblem tiny(1, {}, /*layers=*/3);
  tiny.layouts->units = 3;
  LayoutBook book;
  const auto strategies = Strategies::Make(tiny.problem, book, {}).Take();
  ASSERT_EQ(strategies->units().size(), 3u);
  for (size_t unit = 1; unit < 3; ++unit) {
    EXPECT_GE(strategies->unit_times()[unit - 1], strategies->unit_times()[unit]);
  }
  const int32_t parallel = strategies->data_parallel(), other = parallel + 1;
  EXPECT_EQ(strategies->SlicesOf({}), std::vector<int32_t>(3, parallel));
  EXPECT_EQ(strategies->SlicesOf(std::vector<int32_t>{other}), std::vector<int32_t>(3, other));
  EXPECT_EQ(strategies->SlicesOf(std::vector<int32_t>{other, parallel}),
            (std::vector<int32_t>{other, parallel, other}));
  // No decision at all is data parallelism.
  const LayoutState state = strategies->StateOf(strategies->SlicesOf({})).Take();
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  const PlannerResult plan =
      DataParallelPlanner(DataParallelKind::kEven).Plan(tiny.problem, *evaluator, {}).Take();
  EXPECT_EQ(PlanOf(book, state), plan.plan);
}

// What the prior takes for the step of one slice for all, of those that have work alone: everything on one device.
TEST(FloorPrior, IsTheWorkOfOneDevice) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/3);
    LayoutBook book;
    const auto strategies = Strategies::Make(tiny.problem, book, {}).Take();
    const StrategyWork work(*tiny.layouts, *strategies);
    const FloorPrior prior(*strategies, work);
    for (size_t slice = 0; slice < strategies->slices().size(); ++slice) {
      if (strategies->slices()[slice].option != SliceOption::kPlace) continue;
      const auto number = static_cast<int32_t>(slice);
      const auto slices = strategies->SlicesOf(std::span(&number, 1));
      const LayoutState state = strategies->StateOf(slices).Take();
      const auto simulated = EvaluateState(*tiny.layouts, book, state).Take().step_time.count;
      EXPECT_LE(prior.StepOf(slices), static_cast<double>(simulated));
      EXPECT_GE(prior.StepOf(slices), 0.9 * static_cast<double>(simulated));
    }
  }
}

// One answer of Fill is that of StepOf for each action by itself: the shortest step has the most.
TEST(FloorPrior, RanksActionsByTheirSteps) {
  const LayeredProblem tiny(3, {}, /*layers=*/3);
  tiny.layouts->units = 3;
  LayoutBook book;
  const auto strategies = Strategies::Make(tiny.problem, book, {}).Take();
  const StrategyWork work(*tiny.layouts, *strategies);
  FloorPrior prior(*strategies, work);
  for (size_t decided = 0; decided < 3; ++decided) {
    const std::vector<int32_t> path(decided, strategies->data_parallel());
    const std::vector<int32_t>& actions = strategies->MayHave(decided);
    std::vector<double> priors(actions.size()), steps;
    prior.Fill(path, nullptr, actions, priors);
    for (const int32_t action : actions) {
      std::vector<int32_t> next = path;
      next.push_back(action);
      steps.push_back(prior.StepOf(strategies->SlicesOf(next)));
    }
    for (size_t a = 0; a < actions.size(); ++a) {
      for (size_t b = 0; b < actions.size(); ++b) {
        if (steps[a] >= steps[b] * (1 - 1e-9)) continue;
        EXPECT_GT(priors[a], priors[b]);
      }
    }
    EXPECT_EQ(*std::max_element(priors.begin(), priors.end()), 1);
  }
}

}  // namespace
}  // namespace placewright
