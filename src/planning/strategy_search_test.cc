#include "planning/strategy_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <placewright/placewright.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "cost/cost_model.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/plan/strategies_json.h"
#include "planning/quick_fit.h"
#include "planning/strategy_trials.h"
#include "planning/test_perceptron.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/data_parallel.h"
#include "search/planner_table.h"

namespace placewright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<StrategyResult> Rank(const Graph& graph, std::optional<int64_t> micro_batches,
                                 int64_t evaluations) {
  PlanRequest request;
  request.strategies.micro_batches = micro_batches;
  request.strategies.evaluations = evaluations;
  return RankStrategies(graph, FourGpus(), request).Take();
}

// Of those that were simulated: the time is within a twentieth of what the simulator finds, two at most are estimated to be
// faster than the fastest by more than a hundredth, and of pairs that differ by a tenth, nine of ten are estimated in their
// order.
TEST(StrategySearch, EstimatesOrderStrategiesAsTheSimulatorDoes) {
  const Graph graph = PerceptronWriter(kMany).Write();
  std::vector<StrategyResult> simulated;
  for (const int64_t micro_batches : {1, 2, 4}) {
    for (const StrategyResult& one : Rank(graph, micro_batches, 12)) {
      if (one.evaluated) simulated.push_back(one);
    }
  }
  ASSERT_GE(simulated.size(), 6U);
  int pairs = 0, in_order = 0;
  for (const StrategyResult& a : simulated) {
    EXPECT_LT(a.estimated_time.count, a.step_time.count * 21 / 20) << Describe(a.strategy);
    EXPECT_GT(a.estimated_time.count, a.step_time.count * 19 / 20) << Describe(a.strategy);
    for (const StrategyResult& b : simulated) {
      if (a.step_time.count * 11 > b.step_time.count * 10) continue;
      ++pairs;
      in_order += a.estimated_time < b.estimated_time ? 1 : 0;
    }
  }
  EXPECT_GE(in_order * 10, pairs * 9) << in_order << " of " << pairs;
  std::erase_if(simulated, [](const StrategyResult& one) { return !one.fits; });
  ASSERT_FALSE(simulated.empty());
  const auto best =
      *std::min_element(simulated.begin(), simulated.end(),
                        [](const auto& a, const auto& b) { return a.step_time < b.step_time; });
  EXPECT_LE(std::count_if(simulated.begin(), simulated.end(),
                          [&](const StrategyResult& one) {
                            return one.estimated_time.count * 101 < best.estimated_time.count * 100;
                          }),
            2)
      << Describe(best.strategy);
}

// What is estimated to be in memory is within a quarter of what the simulator finds.
TEST(StrategySearch, EstimatesMemory) {
  const Graph graph = PerceptronWriter(kMany).Write();
  int simulated = 0;
  for (const StrategyResult& one : Rank(graph, 4, 12)) {
    if (!one.evaluated) continue;
    ++simulated;
    EXPECT_LT(one.estimated_memory.count, one.memory.count * 5 / 4) << Describe(one.strategy);
    EXPECT_GT(one.estimated_memory.count, one.memory.count * 3 / 4) << Describe(one.strategy);
  }
  EXPECT_GE(simulated, 3);
}

TEST(StrategySearch, AutoRewritesAStepThatFitsInNoOtherWay) {
  const Graph graph = PerceptronWriter(kMany).Write();
  PlanRequest request;
  request.iterations = 6;
  const PlannedStep planned = PlanStep(graph, FourGpus(), request).Take();
  ASSERT_TRUE(planned.plan.feasible);
  ASSERT_TRUE(planned.plan.distribution.transforms.has_value());
  EXPECT_FALSE(RewriteAlike(*planned.plan.distribution.transforms, {}));
  int simulated = 0;
  for (const StrategyResult& one : planned.plan.strategies) {
    if (!one.evaluated) continue;
    ++simulated;
    if (one.fits) {
      EXPECT_LE(planned.plan.step_time, one.step_time) << Describe(one.strategy);
    }
  }
  EXPECT_GT(simulated, 0);
}

// Micro-batches, recomputation, pipelines, shards: nothing is faster than the work of the step as it was recorded.
TEST(StrategySearch, NoRewritingIsBelowTheBoundOfAllOfThem) {
  const Graph graph = PerceptronWriter(kMany).Write();
  for (const char* const preset : {"4xP100", "mixed-lab"}) {
    const Cluster cluster = ReadCluster(preset).Take();
    StrategySearchOptions options;
    options.strategies.evaluations = 40;
    const StrategySearchResult found = SearchStrategies(graph, cluster, {}, options).Take();
    ASSERT_TRUE(found.rewrites()) << preset;
    ASSERT_TRUE(found.any_rewriting) << preset;
    int rewritten = 0;
    for (const StrategyResult& one : found.strategies) {
      if (!one.evaluated) continue;
      rewritten += one.strategy.rewriting.micro_batches > 1 ? 1 : 0;
      EXPECT_GE(one.step_time, found.any_rewriting->value) << Describe(one.strategy);
    }
    EXPECT_GT(rewritten, 2) << preset;
    EXPECT_GT(found.any_rewriting->value.count, found.plan.step_time.count / 2) << preset;
    EXPECT_THAT(found.ForAuto().notes, ::testing::Contains(HasSubstr("under any rewriting")));
  }
}

// Of 92,000 samples the tensors of the plan that `auto` finds first fit, but not what is taken beside them.
TEST(StrategySearch, WhatIsCrowdedIsNotTheLastThatIsTried) {
  const Graph graph = PerceptronWriter(92'000).Write();
  PlanRequest request;
  request.iterations = 6;
  const PlannedStep planned = PlanStep(graph, FourGpus(), request).Take();
  EXPECT_TRUE(planned.plan.feasible) << planned.plan.algorithm;
  EXPECT_TRUE(std::any_of(
      planned.plan.strategies.begin(), planned.plan.strategies.end(),
      [](const StrategyResult& one) { return one.why_not.starts_with("tensors fit, but not"); }));
}

// As `plan` judges, so do trials that look for the largest batch.
TEST(StrategySearch, TrialsInAllPeaksLeaveOutWhatIsCrowded) {
  const auto crowded = [](const StrategyTrials& trials) {
    return std::count_if(trials.strategies.begin(), trials.strategies.end(), [](const auto& one) {
      EXPECT_FALSE(one.fits && !one.why_not.empty()) << Describe(one.strategy);
      return one.why_not.starts_with("tensors fit, but not");
    });
  };
  int64_t left_out = 0;
  for (int64_t samples = 30'000; samples <= 90'000; samples += 3'000) {
    const Graph graph = PerceptronWriter(samples).Write();
    StrategyTrier trier(graph);
    StrategyTrialOptions options;
    options.micro_batches = 1;
    EXPECT_EQ(crowded(trier.On(FourGpus(), options).Take()), 0);
    options.in_all_peaks = true;
    left_out += crowded(trier.On(FourGpus(), options).Take());
  }
  EXPECT_GT(left_out, 0);
}

TEST(StrategySearch, AQuickFitIsOneInAllPeaks) {
  const DataParallelPlanner planner(DataParallelKind::kEven);
  int crowded = 0, fitting = 0;
  for (int64_t samples = 30'000; samples <= 90'000; samples += 1'000) {
    const Graph graph = PerceptronWriter(samples).Write();
    const CostTable costs = ModelCosts(graph, FourGpus(), {}).Take();
    Problem problem = BuildProblem(graph, FourGpus(), costs, {}, SchedulingPolicy::kProgram).Take();
    const auto layouts =
        LayoutProblem::Make(graph, FourGpus(), {}, SchedulingPolicy::kProgram).Take();
    problem.layouts = layouts.get();
    const QuickFit fit = FindFit(problem, &planner, {}).Take();
    crowded += fit.plan.feasible && !fit.fits ? 1 : 0;
    fitting += fit.fits ? 1 : 0;
    EXPECT_EQ(fit.reason.empty(), fit.fits == fit.plan.feasible);
  }
  EXPECT_GT(crowded, 0);
  EXPECT_GT(fitting, 0);
}

// A search over layouts goes on from what fits in all peaks, within what these leave.
TEST(StrategySearch, WhatFitsInAllPeaksIsSearchedOnFrom) {
  const Graph graph = PerceptronWriter(92'000).Write();
  StrategySearchOptions options;
  options.for_auto = options.in_all_peaks = true;
  options.planning.budget.iterations = 40;
  options.strategies.evaluations = 6;
  const StrategySearchResult found = SearchStrategies(graph, FourGpus(), {}, options).Take();
  ASSERT_TRUE(found.has_plan());
  int64_t best = kMaxQuantity;
  for (const StrategyResult& one : found.strategies) {
    if (one.evaluated && one.fits) best = std::min(best, one.step_time.count);
  }
  EXPECT_LE(found.plan.step_time.count, best);
  EXPECT_LE(found.evaluations, 40);
  EXPECT_EQ(found.history.back().step_time, found.plan.step_time);
  const bool searched = found.plan.algorithm == "layout-search";
  EXPECT_EQ(searched, found.plan.step_time.count < best);
  EXPECT_EQ(searched, found.evaluations > 6);
}

// On many devices that are alike the best's step is made of what was simulated, as often as it is asked for: it is the
// step that its plan is compiled to.
TEST(StrategySearch, TheBestStepIsMadeOfWhatWasSimulated) {
  const Graph graph = PerceptronWriter(kFew).Write();
  const Cluster hosts = ReadCluster("4x8xH100").Take();
  StrategySearchOptions options;
  options.strategies.evaluations = 2;
  options.strategies.micro_batches = 1;
  options.strategies.recompute = std::vector<std::string>();
  const StrategySearchResult found = SearchStrategies(graph, hosts, {}, options).Take();
  ASSERT_TRUE(found.has_plan());
  ASSERT_TRUE(found.compiler);
  const auto layouts = LayoutProblem::Make(graph, hosts, {}, SchedulingPolicy::kProgram).Take();
  const CompiledStep whole = CompileStep(*layouts, found.plan.plan).Take();
  EXPECT_EQ(EvaluateStep(whole).step_time, found.plan.step_time);
  for (int twice = 0; twice < 2; ++twice) {
    const auto made = found.compiler(found.plan.plan).Take();
    ASSERT_TRUE(made->lanes);
    EXPECT_EQ(EvaluateStep(*made).step_time, found.plan.step_time);
    EXPECT_LT(made->step.graph.op_count(), whole.step.graph.op_count() / 8);
  }
  EXPECT_FALSE(SearchStrategies(graph, FourGpus(), {}, options).Take().compiler);
}

// Draws are made to count, which adds an input to the step.
TEST(StrategySearch, TriesAStepThatDrawsAsItWasRecorded) {
  const Graph graph = PerceptronWriter(kFew, /*draws=*/true).Write();
  StrategySearchOptions options;
  options.strategies.micro_batches = 1;
  options.strategies.recompute = std::vector<std::string>();
  options.strategies.evaluations = 4;
  const StrategySearchResult found = SearchStrategies(graph, FourGpus(), {}, options).Take();
  EXPECT_GT(found.evaluations, 1);
  EXPECT_TRUE(found.has_plan());
}

// What crosses to and from the host on links that GPUs share, and what its CPU computes, decide: within 15% of what is
// simulated.
TEST(StrategySearch, EstimatesOffload) {
  const Graph graph = PerceptronWriter(kFew).Write();
  for (const int count : {1, 2}) {
    const Cluster cluster =
        ParseCluster("name: desk\ngpus: [{kind: RTX-4090, count: " + std::to_string(count) +
                     ", reserve: 19 GiB}]\ncpus: 1 x EPYC-7763\nmemory: 64 GiB\ninterconnect: "
                     "pcie4\npcie_switches: 1\n")
            .Take();
    PlanRequest request;
    request.strategies.micro_batches = 1;
    request.strategies.recompute = std::vector<std::string>();
    const std::vector<StrategyResult> ranked = RankStrategies(graph, cluster, request).Take();
    const auto offload = std::find_if(ranked.begin(), ranked.end(), [](const StrategyResult& one) {
      return one.strategy.algorithm == "offload";
    });
    ASSERT_NE(offload, ranked.end()) << count;
    StrategyTrier trier(graph);
    const Nanos time = trier.Try(cluster, offload->strategy, {}).Take().step_time;
    EXPECT_LT(offload->estimated_time.count, time.count * 23 / 20) << count;
    EXPECT_GT(offload->estimated_time.count, time.count * 17 / 20) << count;
  }
}

// A planner of `auto` that takes as long as it is to, and says what it was handed.
class Searched : public Planner {
 public:
  explicit Searched(int64_t time) : time_(time) {}
  std::string_view name() const override { return "searched"; }
  std::string_view description() const override { return "searched"; }
  bool iterative() const override { return true; }
  Result<PlannerResult> Plan(const Problem&, Evaluator&,
                             const PlannerOptions& options) const override {
    moves = options.budget.iterations;
    if (options.found != nullptr && options.found->step_time.count <= time_) return *options.found;
    PlannerResult result;
    result.algorithm = "searched";
    result.feasible = true;
    result.step_time = Nanos(time_);
    result.iterations = moves.value_or(0);
    return result;
  }
  mutable std::optional<int64_t> moves;

 private:
  const int64_t time_;
};

PlannerResult SearchedBehind(const StrategySearchResult* strategies, const Searched& planner,
                             const Problem& problem, Evaluator& evaluator,
                             const PlannerOptions& options) {
  return SearchBehind(
             strategies, problem, evaluator, options,
             [&](const PlannerOptions& of) { return planner.Plan(problem, evaluator, of); })
      .Take();
}

// A search over the step as it is goes on from what the strategies found, with the moves that they left.
TEST(StrategySearch, TheSearchOfAStepAsItIsGoesOnFromWhatFits) {
  const Graph graph = PerceptronWriter(kFew).Write();
  const CostTable costs = ModelCosts(graph, FourGpus(), {}).Take();
  const Problem problem =
      BuildProblem(graph, FourGpus(), costs, {}, SchedulingPolicy::kProgram).Take();
  const auto evaluator = MakeSimulatedEvaluator(problem, 1);
  StrategySearchResult found;
  found.best = Strategy{.algorithm = "2d", .settings = {"tensor=2"}};
  found.plan.algorithm = "2d tensor=2";
  found.plan.feasible = true;
  found.plan.step_time = Nanos(100);
  found.history = {{1, 0.5, Nanos(100), "2d tensor=2"}};
  found.evaluations = 3;
  PlannerOptions options;
  options.budget.iterations = 5;
  for (const int64_t time : {90, 110}) {
    const Searched planner(time);
    const PlannerResult result = SearchedBehind(&found, planner, problem, *evaluator, options);
    EXPECT_EQ(planner.moves, 2);
    EXPECT_EQ(result.algorithm, time < 100 ? "searched" : "2d tensor=2");
    EXPECT_EQ(result.step_time, Nanos(std::min<int64_t>(time, 100)));
  }
  // What is evaluated next takes as long as the best did: that is begun where it can end in time.
  options.budget.deadline = Clock::now() + std::chrono::hours(1);
  for (const int hours : {0, 2}) {
    found.best_took = std::chrono::hours(hours);
    const Searched planner(90);
    const PlannerResult result = SearchedBehind(&found, planner, problem, *evaluator, options);
    EXPECT_EQ(planner.moves.has_value(), hours == 0);
    EXPECT_EQ(result.algorithm, hours == 0 ? "searched" : "2d tensor=2");
  }
  options.budget.deadline.reset();
  const Searched alone(110);
  EXPECT_EQ(SearchedBehind(nullptr, alone, problem, *evaluator, options).algorithm, "searched");
  EXPECT_EQ(alone.moves, 5);
}

// On a V100, two GTX 1080 Ti and a T4 it is a setting of a planner that makes the best plan of a step that stays as it is.
TEST(StrategySearch, AutoTriesSettingsOfAStepThatStaysAsItIs) {
  const Graph graph = PerceptronWriter(kFew).Write();
  const Cluster cluster = ReadCluster("mixed-lab").Take();
  PlanRequest request;
  request.iterations = 24;
  const PlannedStep planned = PlanStep(graph, cluster, request).Take();
  const std::vector<StrategyResult>& tried = planned.plan.strategies;
  int settings = 0;
  for (const StrategyResult& one : tried) {
    const bool plain = one.strategy.settings.empty() || one.strategy.rewriting.micro_batches > 1;
    if (!one.evaluated || !one.fits || plain) continue;
    ++settings;
    EXPECT_LE(planned.plan.step_time, one.step_time) << Describe(one.strategy);
  }
  EXPECT_GT(settings, 0);
}

// Whatever is asked for by name with its own settings, `auto` fits where that fits, and is as fast: equal and unequal GPUs,
// on one host and on several, steps that fit as they are and steps that do not.
TEST(StrategySearch, AutoIsNeverWorseThanWhatHasAName) {
  int compared = 0;
  for (const char* const preset : {"4xP100", "mixed-lab"}) {
    const Cluster cluster = ReadCluster(preset).Take();
    for (const int64_t samples : {kFew, kMany / 4, kMany / 2}) {
      const Graph graph = PerceptronWriter(samples).Write();
      PlanRequest request;
      request.iterations = 24;
      const Plan best = PlanStep(graph, cluster, request).Take().plan;
      for (const auto& planner : MakeLayoutPlanners()) {
        // Those of engines search, and pipelines need a step in their order.
        const bool named = planner->in_auto() || planner->name() == "tensor" ||
                           planner->name() == "data-parallel-late";
        if (planner->iterative() || !named) continue;
        request.algorithm = std::string(planner->name());
        const Result<PlannedStep> other = PlanStep(graph, cluster, request);
        if (!other.ok() || !other.value().plan.feasible) continue;
        ++compared;
        EXPECT_TRUE(best.feasible) << preset << " " << samples << " " << request.algorithm;
        EXPECT_LE(best.step_time, other.value().plan.step_time)
            << preset << " " << samples << " " << request.algorithm;
      }
    }
  }
  EXPECT_GT(compared, 30);
}

// On a V100, two GTX 1080 Ti and a T4 there are shares by speed, and plans on the faster kinds alone.
TEST(StrategySearch, UnequalGpusHaveSharesBySpeedAndLeaveSlowOnesOut) {
  const Graph graph = PerceptronWriter(kMany).Write();
  const Cluster cluster = ReadCluster("mixed-lab").Take();
  PlanRequest request;
  request.strategies.evaluations = 40;
  request.strategies.micro_batches = 1;
  request.strategies.recompute = std::vector<std::string>();
  std::map<std::string, StrategyResult> by_name;
  const std::vector<StrategyResult> ranked = RankStrategies(graph, cluster, request).Take();
  for (const StrategyResult& one : ranked) by_name.emplace(Describe(one.strategy), one);
  for (const char* const name : {"fsdp", "fsdp shares=speed", "data-parallel gpus=V100-32GB"}) {
    ASSERT_TRUE(by_name.contains(name)) << name;
  }
  const StrategyResult &equal = by_name["fsdp"], &by_speed = by_name["fsdp shares=speed"];
  EXPECT_LT(by_speed.estimated_time, equal.estimated_time);
  // Simulated by itself, what is estimated to be faster is.
  StrategyTrier trier(graph);
  const auto time = [&](const StrategyResult& one) {
    return trier.Try(cluster, one.strategy, {}).Take().step_time;
  };
  EXPECT_LT(time(by_speed), time(equal));
  EXPECT_GT(time(equal), Nanos(0));
}

// Between all layers kept, which do not fit, and all computed again there are those of which as few are as must be.
TEST(StrategySearch, ComputesChosenLayersAgain) {
  const Graph graph = PerceptronWriter(kMany).Write();
  PlanRequest request;
  request.strategies.evaluations = 1;
  int chosen = 0;
  const std::vector<StrategyResult> ranked = RankStrategies(graph, FourGpus(), request).Take();
  for (const StrategyResult& one : ranked) {
    const std::vector<std::string>& recompute = one.strategy.rewriting.recompute;
    if (recompute.empty() || !recompute[0].starts_with("layers.")) continue;
    ++chosen;
    EXPECT_LE(one.estimated_memory, one.capacity) << Describe(one.strategy);
  }
  EXPECT_GT(chosen, 0);
}

// A plan that gives them equal shares says what shares by speed would gain, where they gain something.
TEST(StrategySearch, EqualSharesOfUnequalGpusAreSaid) {
  const Graph graph = PerceptronWriter(kMany / 8).Write();
  PlanRequest request;
  request.algorithm = "fsdp";
  const auto notes = [&](const char* preset) {
    const PlannedStep planned = PlanStep(graph, ReadCluster(preset).Take(), request).Take();
    EXPECT_TRUE(planned.plan.feasible) << preset;
    return planned.notes;
  };
  EXPECT_THAT(notes("mixed-lab"), Contains(HasSubstr("with the setting shares=speed")));
  EXPECT_THAT(notes("4xP100"), Not(Contains(HasSubstr("shares=speed"))));
  request.settings = {"shares=speed"};
  EXPECT_THAT(notes("mixed-lab"), Not(Contains(HasSubstr("shares=speed"))));
}

TEST(StrategySearch, ThreadsChangeNothing) {
  const Graph graph = PerceptronWriter(kMany).Write();
  PlanRequest request;
  request.iterations = 8;
  const Plan one = PlanStep(graph, FourGpus(), request).Take().plan;
  request.threads = 3;
  const Plan three = PlanStep(graph, FourGpus(), request).Take().plan;
  EXPECT_EQ(one.algorithm, three.algorithm);
  EXPECT_EQ(one.step_time, three.step_time);
  EXPECT_EQ(one.iterations, three.iterations);
  EXPECT_EQ(one.distribution, three.distribution);
}

// Where the best by estimate is a step of many ops, one of fewer is the first; the best that is found is the same.
TEST(StrategySearch, TriesFirstWhatIsSoonDone) {
  const Graph graph = PerceptronWriter(kMany).Write();
  StrategySearchOptions options;
  const StrategySearchResult usual = SearchStrategies(graph, FourGpus(), {}, options).Take();
  options.many_instances = 1;
  const StrategySearchResult soon = SearchStrategies(graph, FourGpus(), {}, options).Take();
  const auto micro_batches = [&](const std::string& algorithm) {
    const auto found = std::find_if(
        usual.strategies.begin(), usual.strategies.end(),
        [&](const StrategyResult& one) { return Describe(one.strategy) == algorithm; });
    EXPECT_NE(found, usual.strategies.end()) << algorithm;
    return std::max<int64_t>(1, found->strategy.rewriting.micro_batches);
  };
  ASSERT_FALSE(usual.baselines.empty());
  ASSERT_GT(soon.baselines.size(), 1U);
  EXPECT_LT(micro_batches(soon.baselines[0].algorithm),
            micro_batches(usual.baselines[0].algorithm));
  EXPECT_TRUE(soon.baselines[0].feasible);
  EXPECT_EQ(soon.baselines[1].algorithm, usual.baselines[0].algorithm);
  EXPECT_EQ(soon.plan.step_time, usual.plan.step_time);
}

TEST(StrategySearch, AStepWithRoomToSpareStaysAsItIs) {
  const Graph graph = PerceptronWriter(kFew).Write();
  PlanRequest request;
  request.iterations = 0;
  const Plan chosen = PlanStep(graph, FourGpus(), request).Take().plan;
  request.strategies.rewrite = false;
  const Plan as_before = PlanStep(graph, FourGpus(), request).Take().plan;
  EXPECT_EQ(chosen.algorithm, as_before.algorithm);
  EXPECT_EQ(chosen.step_time, as_before.step_time);
  EXPECT_EQ(chosen.distribution, as_before.distribution);
}

TEST(StrategySearch, WhatIsStatedIsKept) {
  const Graph graph = PerceptronWriter(kMany).Write();
  PlanRequest request;
  request.strategies.micro_batches = 4;
  request.strategies.recompute = {"full"};
  request.strategies.evaluations = 1;
  const std::vector<StrategyResult> ranked = RankStrategies(graph, FourGpus(), request).Take();
  EXPECT_FALSE(ranked.empty());
  for (const StrategyResult& one : ranked) {
    EXPECT_EQ(one.strategy.rewriting.micro_batches, 4);
    EXPECT_EQ(one.strategy.rewriting.recompute, std::vector<std::string>{"full"});
  }
}

TEST(StrategySearch, SaysWhyAStrategyIsNone) {
  const Graph graph = PerceptronWriter(kFew).Write();
  const std::vector<StrategyResult> ranked = Rank(graph, 1, 1);
  const auto of = [&](const std::string& algorithm) {
    return std::find_if(ranked.begin(), ranked.end(), [&](const StrategyResult& one) {
      return one.strategy.algorithm == algorithm;
    });
  };
  ASSERT_NE(of("2d"), ranked.end());
  EXPECT_FALSE(of("2d")->fits);
  EXPECT_THAT(of("2d")->why_not, HasSubstr("heads"));
  EXPECT_THAT(of("experts")->why_not, HasSubstr("experts"));
}

TEST(StrategySearch, TakesStepsAsTheyWereRecorded) {
  const Graph graph = PerceptronWriter(kFew).Write();
  const Graph rewritten =
      std::move(*ApplyTransforms(graph, TransformsFor({.micro_batches = 2})).Take());
  const auto ranked = RankStrategies(rewritten, FourGpus(), {});
  ASSERT_FALSE(ranked.ok());
  EXPECT_EQ(ranked.error().code, ErrorCode::kUsage);
  EXPECT_THAT(ranked.error().message, HasSubstr("accumulate 2"));
}

TEST(StrategySearch, FilesKeepStrategies) {
  StrategyResult one;
  one.strategy = {"interleaved", {8, {"full"}, "interleaved", 4, 2}, {"gpus=A100"}};
  one.estimated_time = Nanos(7);
  one.evaluated = true;
  one.fits = true;
  one.step_time = Nanos(9);
  one.memory = Bytes(3);
  one.capacity = Bytes(5);
  const Json json = StrategiesToJson({one});
  const StrategyResult read = StrategyFromJson(json[0], "strategies[0]").Take();
  EXPECT_EQ(Describe(read.strategy), Describe(one.strategy));
  EXPECT_EQ(Describe(read.strategy),
            "interleaved gpus=A100, 4 stages of 2 chunks, 8 micro-batches, recompute full");
  EXPECT_EQ(StrategiesToJson({read}), json);
  one.strategy.rewriting.layers = {1, 2, 1, 1, 2, 1, 1, 1};
  one.layer_optimum = Nanos(6);
  const Json with_layers = StrategiesToJson({one});
  const StrategyResult again = StrategyFromJson(with_layers[0], "strategies[0]").Take();
  EXPECT_EQ(again.strategy.rewriting.layers, one.strategy.rewriting.layers);
  EXPECT_EQ(again.layer_optimum, Nanos(6));
  EXPECT_THAT(Describe(again.strategy), HasSubstr("of 2 chunks of 1,2,1,1,2,1,1,1 layers"));
}

}  // namespace
}  // namespace placewright
