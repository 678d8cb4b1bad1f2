#include "planning/strategy_trials.h"

#include <gmock/gmock.h>
#include <placewright/placewright.h>

#include "cluster/cluster_changes.h"
#include "cluster/machine_presets.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/cluster/cluster_writer.h"
#include "formats/input.h"
#include "planning/rewriting_advice.h"
#include "planning/sizing.h"
#include "planning/test_perceptron.h"
#include "planning/what_if.h"
#include "search/planner_table.h"
#include "transforms/transforms.h"

namespace placewright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A recorded transformer of two layers with Adam, 32 samples.
Graph TinyTransformer(std::optional<int64_t> batch = {}) {
  const std::string path =
      std::string(PLACEWRIGHT_SOURCE_DIR) + "/examples/tiny_transformer_adam.json.gz";
  return LoadGraph(path, {.batch = batch}).Take().graph;
}

Cluster ClusterOf(const std::string& preset, const ClusterChange& change = {},
                  std::optional<MemoryReserve> reserve = {}) {
  Cluster cluster = ChangeCluster(DescribePreset(preset).Take(), change).Take().Build().Take();
  EXPECT_TRUE(ApplyMemoryReserve(reserve, &cluster).ok());
  return cluster;
}

// All but so many bytes of a 24 GiB card.
MemoryReserve AllBut(int64_t bytes) { return {.bytes = Bytes((int64_t{24} << 30) - bytes)}; }

TEST(StrategyTrials, TheBestIsTheFastestThatFits) {
  const Graph graph = TinyTransformer();
  StrategyTrier trier(graph);
  const StrategyTrials trials = trier.On(ClusterOf("2x4090"), {}).Take();
  const StrategyResult* const best = trials.Best();
  ASSERT_NE(best, nullptr);
  int64_t simulated = 0;
  for (const StrategyResult& one : trials.strategies) {
    simulated += one.evaluated ? 1 : 0;
    if (one.evaluated && one.fits) {
      EXPECT_LE(best->step_time, one.step_time) << Describe(one.strategy);
    }
  }
  EXPECT_GT(simulated, 2);
  // By itself it comes to the same.
  const StrategyResult again = trier.Try(ClusterOf("2x4090"), best->strategy, {}).Take();
  EXPECT_EQ(again.step_time, best->step_time);
  EXPECT_EQ(again.memory, best->memory);
}

// On one GPU the step is recomputed where it does not fit as it is.
TEST(StrategyTrials, OneDeviceRecomputesWhereItMust) {
  const Graph graph = TinyTransformer();
  StrategyTrier trier(graph);
  const StrategyTrials free = trier.On(ClusterOf("1x4090"), {}).Take();
  ASSERT_NE(free.Best(), nullptr);
  EXPECT_EQ(Describe(free.Best()->strategy), "single");
  const Strategy full{"single", {.recompute = {"full"}}};
  const int64_t room = trier.Try(ClusterOf("1x4090"), full, {}).Take().memory.count;
  ASSERT_LT(room, free.Best()->memory.count);
  const StrategyTrials tight = trier.On(ClusterOf("1x4090", {}, AllBut(room)), {}).Take();
  ASSERT_NE(tight.Best(), nullptr);
  EXPECT_NE(Describe(tight.Best()->strategy), "single");
  EXPECT_LE(tight.Best()->memory.count, room);
  EXPECT_GT(tight.Best()->step_time, free.Best()->step_time);
}

// Where a strategy does not fit, the cheapest rewriting that makes it fit is advised, in the words of who asks.
TEST(RewritingAdvice, IsTheFirstThatFits) {
  const Graph graph = TinyTransformer();
  StrategyTrier trier(graph);
  const Cluster plenty = ClusterOf("2x4090");
  const Strategy again{"fsdp", {.recompute = {"full"}}};
  const StrategyResult as_it_is = trier.Try(plenty, {.algorithm = "fsdp"}, {}).Take();
  const StrategyResult recomputed = trier.Try(plenty, again, {}).Take();
  // Buffers of communicators are counted where memory is short: 40 MiB.
  const int64_t room = recomputed.memory.count + (int64_t{48} << 20);
  ASSERT_LT(room, as_it_is.memory.count);
  const Cluster tight = ClusterOf("2x4090", {}, AllBut(room));
  PlanRequest request;
  request.algorithm = "fsdp";
  const auto advice = AdviseRewriting(graph, graph, tight, request, {}).Take();
  ASSERT_TRUE(advice.has_value());
  EXPECT_TRUE(advice->fits);
  EXPECT_TRUE(advice->may_be_chosen);
  EXPECT_LE(advice->memory, advice->capacity);
  EXPECT_THAT(Describe(*advice, RewritingWords::kOptions), HasSubstr(": it then fits, "));
  const RewritingAdvice both{
      {}, {.micro_batches = 4, .recompute = {"full"}}, true, true, Nanos(2'000'000)};
  EXPECT_EQ(Describe(both, RewritingWords::kOptions),
            "--micro-batches 4 --recompute full: it then fits, 2.00 ms a step");
  EXPECT_EQ(Describe(both, RewritingWords::kArguments),
            "micro_batches=4, recompute=\"full\": it then fits, 2.00 ms a step");
  // What is stated stays where that is enough; a baseline of papers rewrites nothing by itself.
  const auto one_batch = AdviseRewriting(graph, graph, tight, request, {.micro_batches = 1}).Take();
  ASSERT_TRUE(one_batch.has_value());
  EXPECT_TRUE(one_batch->fits && one_batch->may_be_chosen);
  EXPECT_LE(one_batch->to.micro_batches, 1);
  EXPECT_THAT(one_batch->to.recompute, Not(IsEmpty()));
  request.algorithm = "data-parallel";
  const auto baseline = AdviseRewriting(graph, graph, tight, request, {}).Take();
  ASSERT_TRUE(baseline.has_value());
  EXPECT_FALSE(baseline->may_be_chosen);
  for (const char* const name : {"ddp", "zero-2", "2d", "zb", "3d", "interleaved", "offload"}) {
    EXPECT_TRUE(IsTrainingStrategy(name)) << name;
  }
  for (const char* const name : {"horovod", "expert-hybrid", "fsdp2", "layout-search", "auto"}) {
    EXPECT_FALSE(IsTrainingStrategy(name)) << name;
  }
  // Of a search more time may be the remedy.
  request.algorithm = "auto";
  EXPECT_FALSE(AdviseRewriting(graph, graph, tight, request, {}).Take().has_value());
}

// Layers of stages that are stated stay; those that are chosen for unequal GPUs are a part of the advice.
TEST(RewritingAdvice, StatedLayersStay) {
  const Graph graph = PerceptronWriter(4096).Write();
  StrategyTrier trier(graph);
  const auto advise = [&](const Rewriting& stated) {
    const Rewriting now{
        .micro_batches = 2, .schedule = "1f1b", .stages = 2, .chunks = 1, .layers = stated.layers};
    const auto step = ApplyTransforms(graph, TransformsFor(now)).Take();
    return AdviseRewriting({*step, FourGpus(), "1f1b", {}, stated, {}}, trier);
  };
  const auto stated = advise({.schedule = "1f1b", .stages = 2, .layers = {2, 4}});
  ASSERT_TRUE(stated.has_value());
  EXPECT_THAT(stated->to.layers, ElementsAre(2, 4));
  EXPECT_THAT(DescribeChange(*stated, RewritingWords::kOptions), Not(HasSubstr("--stage-layers")));
  RewritingAdvice chosen;
  chosen.to.layers = {2, 1};
  EXPECT_EQ(DescribeChange(chosen, RewritingWords::kOptions), "--stage-layers 2,1");
  EXPECT_EQ(DescribeChange(chosen, RewritingWords::kArguments), "stage_layers=[2, 1]");
}

TEST(StrategyTrials, TheSplitOfAStepSumsToIt) {
  const Graph graph = TinyTransformer();
  StrategyTrier trier(graph);
  const Cluster cluster = ClusterOf("2x4090");
  const StrategyDetail detail = trier.Detail(cluster, {.algorithm = "data-parallel"}, {}).Take();
  EXPECT_NEAR(detail.split.compute + detail.split.communication + detail.split.idle, 1, 1e-9);
  EXPECT_GT(detail.split.compute, 0);
  EXPECT_GT(detail.split.communication, 0);  // gradients of the last layer are not hidden
  EXPECT_NE(detail.link, "");
}

class Sizes : public ::testing::Test {
 protected:
  SizeRequest Ask(std::vector<int64_t> counts) {
    SizeRequest request;
    request.kinds = {"RTX-4090"};
    request.counts = std::move(counts);
    request.tokens_of_sample = 16;
    request.step = [this](int64_t) -> Result<StrategyTrier*> { return &trier_; };
    return request;
  }

  const Graph graph_ = TinyTransformer();
  StrategyTrier trier_{graph_};
};

// Where one GPU has too little memory and two have enough, the answer is two, and one is seen not to fit.
TEST_F(Sizes, TheAnswersNeighbourDoesNotFit) {
  SizeRequest request = Ask({1, 2, 4});
  request.trials.recompute = std::vector<std::string>();
  const Cluster one = ClusterOf("1x4090");
  StrategyTrialOptions options = request.trials;
  // This step cannot be cut into micro-batches, so that one GPU has no way to need less.
  const int64_t smallest = trier_.On(one, options).Take().Best()->memory.count;
  request.reserve = AllBut(smallest - 1);
  const SizeTable table = FindSize(request).Take();
  ASSERT_TRUE(table.answer.has_value());
  EXPECT_EQ(table.rows[*table.answer].count, 2);
  ASSERT_THAT(table.neighbours, ElementsAre(0u));
  EXPECT_FALSE(table.rows[0].best.has_value());
  EXPECT_THAT(table.rows[0].why_not, HasSubstr("does not fit"));
  // Planned by itself, a neighbour comes to the same.
  const Cluster two = ClusterOf("2x4090", {}, request.reserve);
  EXPECT_EQ(table.rows[1].best->step_time, trier_.On(two, options).Take().Best()->step_time);
}

TEST_F(Sizes, OneFewerIsPlannedWhereTheCountsDoNotNameIt) {
  SizeRequest request = Ask({4});
  const SizeTable table = FindSize(request).Take();
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].count, 3);
  EXPECT_TRUE(table.rows[0].neighbour);
  EXPECT_TRUE(table.rows[0].meets);  // which is said: 4 is the smallest of what was asked for alone
  EXPECT_EQ(table.rows[*table.answer].count, 4);
  EXPECT_THAT(table.neighbours, ElementsAre(0u));
}

TEST_F(Sizes, PricesDecideOverCounts) {
  SizeRequest request = Ask({1, 2});
  request.kinds = {"H100", "RTX-4090"};
  request.price_per_hour = {{"H100", 5}, {"RTX-4090", 1}};
  const SizeTable table = FindSize(request).Take();
  const SizeRow& answer = table.rows[*table.answer];
  EXPECT_EQ(answer.kind, "RTX-4090");
  EXPECT_EQ(answer.count, 1);
  EXPECT_DOUBLE_EQ(*answer.price_per_hour, 1);
  // 1 an hour is 1/3600 a second.
  EXPECT_NEAR(*answer.price_per_million_tokens, 1e6 / 3600 / answer.tokens_per_second, 1e-9);
}

TEST_F(Sizes, ATargetThatNothingMeetsHasNoAnswer) {
  SizeRequest request = Ask({1, 2});
  request.target = {.kind = SizeTarget::Kind::kStepTime, .step = Nanos(1000)};
  const SizeTable table = FindSize(request).Take();
  EXPECT_FALSE(table.answer.has_value());
  EXPECT_EQ(table.rows.size(), 2u);
}

TEST(SizedClusters, AreOneHostOrHostsOfEight) {
  EXPECT_EQ(SizedCluster("H100", 8).Take(), "8xH100");
  EXPECT_EQ(SizedCluster("H100", 32).Take(), "4x 8xH100");
  EXPECT_FALSE(SizedCluster("H100", 12).ok());
  EXPECT_FALSE(SizedCluster("H100", 0).ok());
}

class WhatIfs : public ::testing::Test {
 protected:
  WhatIfAnswers Ask(const std::string& preset) {
    WhatIfRequest request{.cluster = DescribePreset(preset).Take()};
    request.batch = graph_.samples();
    request.step = [this](int64_t batch) -> Result<StrategyTrier*> {
      if (batch == graph_.samples()) return &trier_;
      graphs_.push_back(std::make_unique<Graph>(TinyTransformer(batch)));
      triers_.push_back(std::make_unique<StrategyTrier>(*graphs_.back()));
      return triers_.back().get();
    };
    return AskWhatIf(request).Take();
  }

  static const WhatIfAnswer& Find(const WhatIfAnswers& answers, const std::string& name) {
    for (const WhatIfAnswer& one : answers.changes) {
      if (one.name == name) return one;
    }
    ADD_FAILURE() << "no " << name;
    return answers.base;
  }

  const Graph graph_ = TinyTransformer();
  StrategyTrier trier_{graph_};
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::vector<std::unique_ptr<StrategyTrier>> triers_;
};

// What a change comes to is what planning on the changed cluster's file comes to, to the nanosecond.
TEST_F(WhatIfs, AnswersEqualPlanningTheChangedFileAnew) {
  const WhatIfAnswers answers = Ask("mixed-lab");
  const std::vector<std::pair<std::string, ClusterChange>> changes = {
      {"twice the network", {.network_factor = 2}},
      {"16 GB more per GPU", {.more_memory = Bytes(16'000'000'000)}},
      {"host2/gpu0 left out", {.without = {"host2/gpu0"}}},
      {"all 2 GTX-1080Ti left out", {.without = {"host1/gpu0", "host1/gpu1"}}}};
  const ClusterBuilder described = DescribePreset("mixed-lab").Take();
  for (const auto& [name, change] : changes) {
    const std::string file = ClusterToYaml(ChangeCluster(described, change).Take(), {});
    Cluster read = ParseCluster(file).Take();
    ASSERT_TRUE(ApplyMemoryReserve({}, &read).ok());
    const StrategyTrials anew = StrategyTrier(graph_).On(read, {}).Take();
    const WhatIfAnswer& answer = Find(answers, name);
    ASSERT_TRUE(answer.best.has_value()) << name;
    EXPECT_EQ(answer.best->step_time, anew.Best()->step_time) << name;
    EXPECT_EQ(answer.best->memory, anew.Best()->memory) << name;
  }
}

TEST_F(WhatIfs, GainsAreOfSamplesASecondAndSorted) {
  const WhatIfAnswers answers = Ask("2x4090");
  ASSERT_TRUE(answers.base.best.has_value());
  double last = answers.changes.front().samples_per_second;
  for (const WhatIfAnswer& one : answers.changes) {
    EXPECT_LE(one.samples_per_second, last);
    last = one.samples_per_second;
    if (one.gain) {
      EXPECT_NEAR(*one.gain, one.samples_per_second / answers.base.samples_per_second - 1, 1e-12);
    }
  }
  EXPECT_EQ(Find(answers, "batch 64").batch, 64);
  EXPECT_EQ(Find(answers, "batch 16").batch, 16);
  EXPECT_TRUE(Find(answers, "one GPU fewer").best.has_value());
  EXPECT_TRUE(Find(answers, "peer to peer between GPUs").best.has_value());
  EXPECT_TRUE(answers.binds.has_value());
  EXPECT_NE(answers.binds, BindingConstraint::kMemory);  // a step of 2 MB on cards of 24 GiB
}

}  // namespace
}  // namespace placewright
