#include "search/layouts/layout_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/sharing_out.h"
#include "planning/plan_words.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/data_parallel.h"
#include "search/layouts/layout_devices.h"
#include "search/layouts/layout_moves.h"
#include "search/layouts/test_layout_optimum.h"
#include "search/layouts/test_specs.h"
#include "search/layouts/test_steps.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/local/descent.h"
#include "search/sfb/sfb_search.h"

namespace placewright {
namespace {

// Over all ways to give every group one of: a, b, both with equal shares, both with everything.
int64_t Optimum(const LayeredProblem& tiny) {
  const LayoutProblem& problem = *tiny.layouts;
  LayoutBook book;
  const DeviceId a(0), b(1);
  const std::vector<LayoutId> choices = {
      book.Add(PlacedOn(a)), book.Add(PlacedOn(b)),
      book.Add(SplitOver(problem.axes.batch(), {a, b}, {kSamples / 2, kSamples / 2})),
      book.Add(CopiesOn({a, b}))};
  const size_t groups = problem.graph.group_count();
  int64_t best = kMaxQuantity;
  std::vector<size_t> digits(groups, 0);
  for (;;) {
    LayoutState state;
    for (const size_t digit : digits) state.of_group.push_back(choices[digit]);
    const auto evaluation = EvaluateState(problem, book, state);
    if (evaluation.ok()) best = std::min(best, evaluation.value().step_time.count);
    size_t i = 0;
    while (i < groups && ++digits[i] == choices.size()) digits[i++] = 0;
    if (i == groups) return best;
  }
}

TEST(LayoutSearch, FindsTheOptimumOfTinySteps) {
  constexpr int kProblems = 40;
  int reached = 0, drawn = 0;
  for (uint64_t seed = 0; drawn < kProblems; ++seed) {
    const LayeredProblem tiny(seed);
    if (tiny.layouts->graph.group_count() > 4) continue;
    ++drawn;
    const PlannerResult found = tiny.Search(LayoutRule::kLocalSearch, 1000);
    if (found.step_time.count <= Optimum(tiny)) ++reached;
  }
  EXPECT_GE(reached, 40 * 98 / 100);
}

TEST(LayoutSearch, IsNeverWorseThanItsStarts) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const LayeredProblem tiny(seed);
    const DistributionSpec all = EvenSplit();
    const Nanos start = EvaluateSpec(*tiny.layouts, all).Take().step_time;
    for (const LayoutRule rule :
         {LayoutRule::kLocalSearch, LayoutRule::kAnnealing, LayoutRule::kMcmc}) {
      PlannerOptions options;
      options.budget.iterations = 10;
      options.starts = {ResolvePlan(*tiny.layouts, all).Take()};
      const PlannerResult found = SearchTiny(tiny.problem, options, rule);
      EXPECT_LE(found.step_time, start);
      // What is reported is what the stated layouts take.
      EXPECT_EQ(EvaluateCompiled(*tiny.layouts, found.plan).Take().step_time, found.step_time);
      const DistributionSpec stated = StatePlan(*tiny.layouts, found.plan);
      EXPECT_EQ(EvaluateSpec(*tiny.layouts, stated).Take().step_time, found.step_time);
    }
  }
}

// One move: what is found beside it are the starts' parts by speed, and gradients from factors.
TEST(LayoutSearch, TriesOtherSharesAndFactorsOfItsStart) {
  int shares_differ = 0, factors = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const LayeredProblem tiny(seed);
    PlannerOptions options;
    options.budget.iterations = 1;
    const DistributionSpec even = EvenSplit();
    options.starts = {ResolvePlan(*tiny.layouts, even).Take()};
    const Nanos found = SearchTiny(tiny.problem, options).step_time;
    const DeviceTimes times = TimesOf(*tiny.layouts);
    const std::vector<int64_t> by_speed =
        SharesInProportion(kSamples, {1 / times.Total(DeviceId(0)), 1 / times.Total(DeviceId(1))});
    DistributionSpec proportional = even;
    proportional.layouts[0].devices = {{"a", {{"", 0, by_speed[0]}}},
                                       {"b", {{"", by_speed[0], kSamples}}}};
    const auto of_speed = EvaluateSpec(*tiny.layouts, proportional);
    if (of_speed.ok()) {
      shares_differ += by_speed[0] != by_speed[1] ? 1 : 0;
      EXPECT_LE(found, of_speed.value().step_time) << seed;
    }
    const StepPlan start = ResolvePlan(*tiny.layouts, even).Take();
    const CompiledStep compiled = DecideAndCompile(*tiny.layouts, start).Take();
    const auto candidates = SfbCandidates(*tiny.layouts, start, InstancesOf(compiled));
    for (const StepPlan& plan : candidates.value()) {
      ++factors;
      EXPECT_LE(found, EvaluateCompiled(*tiny.layouts, plan).Take().step_time) << seed;
    }
  }
  EXPECT_GT(shares_differ, 5);
  EXPECT_GT(factors, 5);
}

// Of a step of more axes than are drawn one by one.
TEST(LayoutSearch, SplitsLayersOfAPlacedStartByTheirAxes) {
  int improved = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const LayeredProblem tiny(seed, {}, /*layers=*/18);
    DistributionSpec placed;
    placed.layouts = {{"*", GroupId(), "", {{"a", {}}}, LayoutOption::kPlace}};
    PlannerOptions options;
    options.budget.iterations = 1;
    options.starts = {ResolvePlan(*tiny.layouts, placed).Take()};
    const Nanos found = SearchTiny(tiny.problem, options).step_time;
    LayoutBook book;
    const LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
    const LayoutState start = StateOf(*tiny.layouts, options.starts[0], book);
    const Nanos before = EvaluateState(*tiny.layouts, book, start).Take().step_time;
    ASSERT_GT(moves.axis_choices(), 0u);
    bool better = false;
    for (size_t choice = 0; choice < moves.axis_choices(); ++choice) {
      const auto split = EvaluateState(*tiny.layouts, book, moves.WithAxisChoice(start, choice));
      if (!split.ok()) continue;
      EXPECT_LE(found, split.value().step_time) << seed;
      better = better || split.value().step_time < before;
    }
    improved += better ? 1 : 0;
  }
  EXPECT_GT(improved, 3);
}

// Everything is split but one layer, which is on a. Of a placement with everything on b, worse than the plan, that layer's
// part is taken where b is faster.
TEST(LayoutSearch, PutsWhatItSplitsIntoPlacementsThatAreOffered) {
  int improved = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const LayeredProblem tiny(seed);
    DistributionSpec start = EvenSplit();
    LayoutSpec alone;
    alone.groups = "layer0";
    alone.option = LayoutOption::kPlace;
    alone.devices = {{"a", {}}};
    start.layouts.push_back(alone);
    PlannerOptions options;
    options.starts = {ResolvePlan(*tiny.layouts, start).Take()};
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
    const std::unique_ptr<PlannerRun> run =
        StartLayoutSearch(tiny.problem, *evaluator, options, LayoutRule::kLocalSearch, "x", {})
            .Take();
    const Nanos before = run->result().step_time;
    const Placement on_b(tiny.graph->op_count(), DeviceId(1));
    run->Offer({true, 0, before.count + 1}, PlanOf(*tiny.graph, on_b));
    const Nanos after = run->result().step_time;
    EXPECT_LE(after, before);
    improved += after < before;
    ASSERT_TRUE(run->Finish().ok());
    EXPECT_EQ(EvaluateCompiled(*tiny.layouts, run->result().plan).Take().step_time, after);
  }
  EXPECT_GT(improved, 3);
}

// Long enough for best plans to be perturbed.
TEST(LayoutSearch, RepeatsItself) {
  constexpr int64_t kMoves = 500;
  const LayeredProblem tiny(3);
  for (const LayoutRule rule :
       {LayoutRule::kLocalSearch, LayoutRule::kAnnealing, LayoutRule::kMcmc}) {
    const PlannerResult one = tiny.Search(rule, kMoves, 7, 1);
    const PlannerResult other = tiny.Search(rule, kMoves, 7, 2);
    EXPECT_EQ(one.plan, other.plan);
    EXPECT_EQ(one.iterations, kMoves);
  }
}

// Problems at whose best plans no neighbour is better, though there are better plans.
TEST(LayoutSearch, LeavesPlansWhoseNeighboursAreNotBetter) {
  for (const uint64_t seed : {120, 146}) {
    const DrawnProblem tiny(seed);
    PlannerOptions options;
    options.budget.iterations = 5000;
    const PlannerResult found = SearchTiny(tiny.problem, options);
    EXPECT_LE(found.step_time.count, BestOfLayouts(*tiny.layouts, 2000)->best->step_time) << seed;
  }
}

TEST(LayoutState, OtherStatesHaveOtherHashes) {
  const LayeredProblem tiny(11);
  LayoutBook book;
  LayoutMoves moves = LayoutMoves::Make(tiny.problem, book).Take();
  Random random(1);
  LayoutState state = moves.PlainStates().front();
  std::map<uint64_t, LayoutState> seen = {{HashOf(state), state}};
  for (int i = 0; i < 2000; ++i) {
    state = moves.Perturbed(state, random);
    for (LayoutState& other : LayoutMoves::OtherWaysOf(state)) {
      const auto [found, fresh] = seen.emplace(HashOf(other), other);
      EXPECT_EQ(found->second, other);
    }
  }
  EXPECT_GT(seen.size(), 1000u);
}

// Beside searches over layouts, on steps of more than 5,000 ops.
TEST(LayoutSearch, LetsDescentJoinSoonerOnLongSteps) {
  LayeredProblem tiny(5);
  const DescentPlanner descent;
  EXPECT_EQ(descent.joins_after(tiny.problem), 2000);
  EXPECT_EQ(descent.StartsFor(tiny.problem), 1u);
  tiny.problem.sim_graph.ops = 20'661;
  EXPECT_EQ(descent.joins_after(tiny.problem), 484);
  EXPECT_EQ(descent.StartsFor(tiny.problem), 2u);
  tiny.problem.layouts = nullptr;
  EXPECT_EQ(descent.joins_after(tiny.problem), 2000);
  EXPECT_EQ(descent.StartsFor(tiny.problem), 1u);
}

// What is known is what evaluating it anew gives, whatever the limit; where it was given up, nothing is.
TEST(LayoutEvaluations, AreKnownOnceTheyAreWhole) {
  const LayeredProblem tiny(3);
  const StepPlan halves = ResolvePlan(*tiny.layouts, EvenSplit()).Take();
  const StepPlan one = PlanOf(*tiny.graph, Placement(tiny.graph->op_count(), DeviceId(0)));
  const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
  EXPECT_TRUE(evaluator->EvaluatePlan(halves, {.abandon_above = Nanos(1)}).Take().abandoned);
  const Evaluation of_one = evaluator->EvaluatePlan(one).Take();
  const Evaluation of_halves = evaluator->EvaluatePlan(halves).Take();
  ASSERT_FALSE(of_halves.abandoned);
  EXPECT_EQ(of_halves.step_time, EvaluateCompiled(*tiny.layouts, halves).Take().step_time);
  EXPECT_NE(of_halves.step_time, of_one.step_time);
  EXPECT_TRUE(evaluator->EvaluatePlan(halves, {.abandon_above = Nanos(1)}).Take().abandoned);
  EXPECT_EQ(evaluator->EvaluatePlan(halves).Take().step_time, of_halves.step_time);
  EXPECT_EQ(evaluator->EvaluatePlan(one).Take().step_time, of_one.step_time);
}

TEST(LayoutSearch, KeepsToConstraints) {
  Constraints constraints;
  constraints.forbids.push_back({"layer*", "b"});
  const LayeredProblem tiny(5, constraints);
  const PlannerResult found = tiny.Search(LayoutRule::kLocalSearch, 200);
  EXPECT_EQ(DevicesOf(found.plan), std::vector<DeviceId>{DeviceId(0)});
}

TEST(LayoutSearch, StartsWhereEverythingIsPinned) {
  Constraints constraints;
  constraints.pins.push_back({"layer*", "b"});
  const LayeredProblem tiny(5, constraints);
  const PlannerResult found = tiny.Search(LayoutRule::kLocalSearch, 5);
  EXPECT_EQ(DevicesOf(found.plan), std::vector<DeviceId>{DeviceId(1)});
}

// Each unit, as TAG's grouping has it, keeps one layout but for what servers hold, and data parallelism is never lost.
TEST(LayoutSearch, OfUnitsChangesWholeUnits) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    LayeredProblem tiny(seed, Constraints(), /*layers=*/3);
    tiny.layouts->units = 3;
    const auto evaluator = MakeSimulatedEvaluator(tiny.problem);
    PlannerOptions options;
    options.budget.iterations = 200;
    options.seed = seed;
    const PlannerResult found =
        LayoutSearchPlanner({"moves=units"}).Plan(tiny.problem, *evaluator, options).Take();
    const PlannerResult again =
        LayoutSearchPlanner({"moves=units"}).Plan(tiny.problem, *evaluator, options).Take();
    EXPECT_TRUE(found.plan == again.plan) << seed;
    const PlannerResult even =
        DataParallelPlanner(DataParallelKind::kEven).Plan(tiny.problem, *evaluator, options).Take();
    EXPECT_LE(found.step_time, even.step_time) << seed;
    LayoutBook book;
    const MoveTargets targets = FindMoveTargets(tiny.problem, book).Take();
    for (const std::vector<GroupId>& unit : targets.units) {
      std::set<std::vector<DeviceId>> devices;  // of groups without parameters
      for (const GroupId group : unit) {
        const auto& with = targets.parameters;
        if (std::find(with.begin(), with.end(), group) != with.end()) continue;
        devices.insert(DevicesOf(found.plan.layouts.Of(group)));
      }
      EXPECT_LE(devices.size(), 1u) << seed;
    }
  }
  EXPECT_FALSE(AgentSettings::Parse(*LayoutSearchPlanner().settable(),
                                    std::vector<std::string>{"moves=some"})
                   .ok());
}

}  // namespace
}  // namespace placewright
