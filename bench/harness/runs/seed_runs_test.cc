#include "bench/harness/runs/seed_runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/harness/runs/test_graph.h"
#include "torch_api/learned_algorithms.h"

namespace placewright {
namespace {

// Runs of an agent that needs no LibTorch; an episode of it takes a placement for each op.
class SeedRuns : public testing::Test {
 protected:
  SeedRuns() {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("placewright-seed-runs-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    small_ = WriteOps(3);
    large_ = WriteOps(5);
    method_.label = "placeto";
    method_.algorithm = "placeto";
    console_.quiet = true;
  }
  ~SeedRuns() override { std::filesystem::remove_all(folder_); }

  std::string WriteOps(int ops) const {
    std::string path = (folder_ / ("ops" + std::to_string(ops) + ".json")).string();
    WriteTestGraph(path, std::vector<int>(static_cast<size_t>(ops), 1000));
    return path;
  }
  // On the small graph, with a policy trained on both before.
  WantedRun Wanted(StudyMethod::Shows shows, int64_t samples) {
    method_.shows = shows;
    WantedRun wanted;
    wanted.method = &method_;
    wanted.key.graph = small_;
    wanted.key.algorithm = "placeto";
    wanted.source_before = "both";
    wanted.key.source =
        shows == StudyMethod::Shows::kBefore ? "both" : "both, " + std::to_string(samples);
    wanted.key.seed = 3;
    const AgentSettings settings =
        AgentSettings::Parse(*FindLearnedAlgorithm("placeto"), {}).Take();
    wanted.key.settings = {settings.values().begin(), settings.values().end()};
    wanted.samples = wanted.judged = samples;
    wanted.before = {{small_, ""}, {large_, ""}};
    wanted.samples_before = 16;
    return wanted;
  }
  bool Make(const WantedRun& wanted, RunStore& store, const Budget& budget = {}) {
    const Result<bool> made = MakeRun(wanted, (folder_ / "kept").string(), budget, store, console_);
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    return made.ok() && made.value();
  }
  RunStore Store(const std::string& name) const {
    return RunStore::Load((folder_ / name).string()).Take();
  }

  std::filesystem::path folder_;
  std::string small_, large_;
  StudyMethod method_;
  Console console_;
};

// Every cell of a table has runs after that, as many as it is to have, or all that it has.
TEST_F(SeedRuns, TheFirstRunsOfEveryCell) {
  constexpr uint64_t kSeeds = 10;
  for (const StudyTable& table : StudyTables()) {
    const std::vector<WantedRun> all = WantedRuns(table).Take();
    for (const size_t most : {1u, 2u, 100u}) {
      const std::vector<WantedRun> first = FirstOfCells(all, static_cast<int>(most));
      for (size_t model = 0; model < table.models.size(); ++model) {
        for (size_t method = 0; method < table.methods.size(); ++method) {
          if (!table.methods[method].HasCell(model)) continue;
          size_t wanted = 0, made = 0;
          for (uint64_t seed = 0; seed < kSeeds; ++seed) {
            const WantedRun run = WantedRunOf(table, model, method, seed).Take();
            const auto same = [&](const WantedRun& other) {
              return other.method == run.method && other.key.graph == run.key.graph &&
                     other.key.cluster == run.key.cluster && other.key.seed == seed &&
                     other.key.settings == run.key.settings && other.key.source == run.key.source;
            };
            wanted += std::any_of(all.begin(), all.end(), same);
            made += std::any_of(first.begin(), first.end(), same);
          }
          EXPECT_EQ(made, std::min(wanted, most)) << table.name << " " << table.models[model].label;
        }
      }
    }
  }
}

TEST_F(SeedRuns, ATrainingOnSeveralGraphsIsARunOfEach) {
  RunStore store = Store("before.jsonl");
  const WantedRun wanted = Wanted(StudyMethod::Shows::kBefore, 16);
  ASSERT_TRUE(Make(wanted, store));
  ASSERT_EQ(store.runs().size(), 2u);
  for (const StudyRun& run : store.runs()) {
    EXPECT_EQ(run.key.source, "both");
    EXPECT_GT(run.samples, 0);
    EXPECT_EQ(run.curve.back().samples, run.samples);
    EXPECT_EQ(run.placement.size(), run.key.graph == small_ ? 3u : 5u);
  }
  EXPECT_EQ(store.runs()[0].key.graph, small_);
  EXPECT_EQ(store.runs()[0].samples + store.runs()[1].samples, 32);
  EXPECT_NEAR(*store.runs()[0].BestWithin(100), 2e-6, 1e-12);
  // What is there is not made again.
  ASSERT_TRUE(Make(wanted, store));
  EXPECT_EQ(store.runs().size(), 2u);
}

// By another process, whose runs a store does not have that was read before.
TEST_F(SeedRuns, WhatAnotherHasMadeIsNotMadeAgain) {
  for (const auto shows : {StudyMethod::Shows::kBefore, StudyMethod::Shows::kBest}) {
    const bool before = shows == StudyMethod::Shows::kBefore;
    const WantedRun wanted = Wanted(shows, before ? 16 : 6);
    const std::string name = before ? "shared-before.jsonl" : "shared.jsonl";
    SCOPED_TRACE(name);
    RunStore early = Store(name);
    RunStore other = Store(name);
    ASSERT_TRUE(Make(wanted, other));
    ASSERT_TRUE(Make(wanted, early));
    EXPECT_EQ(early.runs().size(), before ? 2u : 1u);
    EXPECT_EQ(Store(name).runs().size(), before ? 2u : 1u);
  }
}

// An episode draws a sample for each part: of 8 samples two episodes of 3 are drawn.
TEST_F(SeedRuns, EpisodesThatDoNotDivideTheSamples) {
  RunStore store = Store("episodes.jsonl");
  WantedRun wanted = Wanted(StudyMethod::Shows::kBest, 8);
  wanted.before.clear();
  wanted.key.settings["parts"] = "3";
  ASSERT_TRUE(Make(wanted, store));
  ASSERT_EQ(store.runs().size(), 1u);
  EXPECT_EQ(store.runs()[0].samples, 6);
  EXPECT_EQ(FindRun(store, wanted), &store.runs()[0]);
  wanted.samples = 9;
  EXPECT_EQ(FindRun(store, wanted), nullptr);
}

TEST_F(SeedRuns, RunsBeginFromAPolicyTrainedBefore) {
  RunStore store = Store("after.jsonl");
  // Nothing is made of a training that the budget ends.
  std::atomic<bool> stop = true;
  Budget ended;
  ended.stop = StopToken(&stop);
  EXPECT_FALSE(Make(Wanted(StudyMethod::Shows::kLikeliest, 0), store, ended));
  EXPECT_TRUE(store.runs().empty());
  ASSERT_TRUE(Make(Wanted(StudyMethod::Shows::kLikeliest, 0), store));
  ASSERT_TRUE(Make(Wanted(StudyMethod::Shows::kBest, 6), store));
  ASSERT_EQ(store.runs().size(), 2u);
  EXPECT_EQ(store.runs()[0].samples, 0);
  EXPECT_TRUE(store.runs()[0].BestWithin(0));
  EXPECT_EQ(store.runs()[1].samples, 6);
  EXPECT_EQ(store.runs()[1].key.graph, small_);
  EXPECT_FALSE(store.runs()[1].BestWithin(0));

  method_.likeliest_first = true;
  WantedRun both = Wanted(StudyMethod::Shows::kBest, 6);
  both.key.source += ", likeliest";
  ASSERT_TRUE(Make(both, store));
  const StudyRun& likeliest = store.runs()[0];
  const StudyRun& sampled = store.runs()[1];
  const StudyRun& run = store.runs()[2];
  EXPECT_EQ(run.samples, 6);
  EXPECT_EQ(run.BestWithin(0), likeliest.BestWithin(0));
  EXPECT_EQ(run.BestWithin(6), std::min(likeliest.BestWithin(0), sampled.BestWithin(6)));
  const bool first = likeliest.BestWithin(0) <= sampled.BestWithin(6);
  EXPECT_EQ(run.placement, (first ? likeliest : sampled).placement);
}

}  // namespace
}  // namespace placewright
