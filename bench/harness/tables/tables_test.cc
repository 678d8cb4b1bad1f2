#include "bench/harness/tables/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "bench/harness/tables/run_store.h"
#include "bench/harness/tables/table_report.h"
#include "bench/harness/tables/table_result.h"
#include "bench/harness/tables/verdict.h"
#include "formats/text/file.h"
#include "study/file_lock.h"

namespace placewright {
namespace {

using testing::HasSubstr;

// Quantiles of Student's t from printed tables.
TEST(Student, AgreesWithPrintedTables) {
  EXPECT_NEAR(StudentQuantile(1), 12.706, 1e-3);
  EXPECT_NEAR(StudentQuantile(2), 4.303, 1e-3);
  EXPECT_NEAR(StudentQuantile(3), 3.182, 1e-3);
  EXPECT_NEAR(StudentQuantile(4), 2.776, 1e-3);
  EXPECT_NEAR(StudentQuantile(9), 2.262, 1e-3);
  EXPECT_NEAR(StudentQuantile(30), 2.042, 1e-3);
  EXPECT_NEAR(StudentTail(2.132, 4), 0.1, 1e-4);
  EXPECT_EQ(StudentTail(0, 5), 1);
}

TEST(CompareRatios, ByHand) {
  // Mean -0.2, deviation 0.1 sqrt(2.5) over five: error 0.0707.
  const std::vector<double> logarithms = {-0.4, -0.3, -0.2, -0.1, 0};
  const PairedRatio ratio = CompareRatios(logarithms);
  EXPECT_EQ(ratio.n, 5u);
  EXPECT_NEAR(ratio.ratio, std::exp(-0.2), 1e-12);
  EXPECT_NEAR(ratio.low, std::exp(-0.2 - 2.776 * 0.0707107), 1e-4);
  EXPECT_NEAR(ratio.high, std::exp(-0.2 + 2.776 * 0.0707107), 1e-4);
  EXPECT_NEAR(ratio.p, 0.0474, 2e-4);
  EXPECT_EQ(CompareRatios({}).n, 0u);
  EXPECT_EQ(CompareRatios(std::vector<double>{-1}).p, 1);
}

// Of p = 0.02 and 0.03 neither is decided among three with one far from it: 0.02 > 0.05 / 3.
TEST(JudgeTogether, IsHolms) {
  const auto ratio = [](double p, double value, size_t n = 5) {
    PairedRatio r;
    r.n = n;
    r.p = p;
    r.ratio = value;
    return r;
  };
  using enum Verdict;
  EXPECT_THAT(JudgeTogether(std::vector{ratio(0.02, 0.5), ratio(0.03, 0.5), ratio(0.9, 1)}),
              testing::ElementsAre(kUndecided, kUndecided, kUndecided));
  EXPECT_THAT(JudgeTogether(std::vector{ratio(0.04, 0.5), ratio(0.001, 2), ratio(0.02, 0.5)}),
              testing::ElementsAre(kHolds, kFails, kHolds));
  // One that waits for its runs counts.
  EXPECT_THAT(JudgeTogether(std::vector{ratio(0.02, 0.5), ratio(0.001, 0.5, 4)}),
              testing::ElementsAre(kHolds, kUndecided));
  EXPECT_THAT(JudgeTogether(std::vector{ratio(0.04, 0.5), ratio(0.001, 0.5, 4)}),
              testing::ElementsAre(kUndecided, kUndecided));
}

class Store : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("placewright-study-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  static StudyRun Small(uint64_t seed, std::vector<CurvePoint> curve) {
    StudyRun run;
    run.key = {"net", "4xP100-tf", "mars", {{"width", "8"}}, seed};
    run.curve = std::move(curve);
    run.samples = run.curve.empty() ? 0 : run.curve.back().samples;
    run.placement = "0120";
    run.program = "1";
    return run;
  }

  std::filesystem::path folder_;
};

TEST_F(Store, KeepsRunsOfSeveralProcesses) {
  const std::string path = Path("runs.jsonl");
  RunStore first = RunStore::Load(path).Take(), second = RunStore::Load(path).Take();
  ASSERT_TRUE(first.Add(Small(0, {{10, 2.0, 3.0, 4}, {20, 1.5, {}, 10}})).ok());
  ASSERT_TRUE(second.Add(Small(1, {{10, {}, {}, 10}})).ok());
  const RunStore all = RunStore::Load(path).Take();
  ASSERT_EQ(all.runs().size(), 2u);
  EXPECT_EQ(ToJson(all.runs()[0]), ToJson(Small(0, {{10, 2.0, 3.0, 4}, {20, 1.5, {}, 10}})));
  EXPECT_EQ(all.runs()[0].BestWithin(10), 2.0);
  EXPECT_EQ(all.runs()[0].BestWithin(25), 1.5);
  EXPECT_EQ(all.runs()[1].BestWithin(25), std::nullopt);

  RunKey key = all.runs()[0].key;
  EXPECT_NE(all.Find(key, 20, {}), nullptr);
  EXPECT_EQ(all.Find(key, 21, {}), nullptr);
  // A setting that came later: the runs are those of its default.
  key.settings["new"] = "0";
  EXPECT_EQ(all.Find(key, 20, {}), nullptr);
  EXPECT_NE(all.Find(key, 20, {{"new", "0"}}), nullptr);
  EXPECT_EQ(all.Find(key, 20, {{"new", "1"}}), nullptr);
  key.settings["width"] = "9";
  EXPECT_EQ(all.Find(key, 20, {{"new", "0"}}), nullptr);
  EXPECT_NE(NameOf(key), NameOf(all.runs()[0].key));

  ASSERT_TRUE(WriteFileAtomically(path, "{\"graph\": 1}\n").ok());
  EXPECT_THAT(RunStore::Load(path).error().ToString(), HasSubstr("line 1"));
}

TEST_F(Store, OneProcessHasALock) {
  const std::string path = Path("lock");
  std::optional<FileLock> first = FileLock::Try(path).Take();
  ASSERT_TRUE(first);
  EXPECT_FALSE(FileLock::Try(path).Take());
  first.reset();
  EXPECT_TRUE(FileLock::Try(path).Take());
}

TEST(Measured, ByHand) {
  StudyRun run;
  run.curve = {{10, 4.0, 5.0, 0},
               {20, 2.0, 5.0, 0},
               {30, 2.0, 5.0 * std::exp(0.3), 0},
               {40, 1.0, 5.0 * std::exp(0.7), 0}};
  using enum StudyClaim::Measure;
  EXPECT_EQ(Measured(run, kBest, 30, 0), 2.0);
  EXPECT_EQ(Measured(run, kSamples, 40, 2.0), 20);
  EXPECT_EQ(Measured(run, kSamples, 40, 0.5), std::nullopt);
  // Of 20 samples each: 5, and the mean of the last two.
  const double later = (std::exp(0.3) + std::exp(0.7)) / 2;
  EXPECT_NEAR(*Measured(run, kSpread, 40, 0), std::log(later), 1e-12);
  // The same means from updates of 20.
  run.curve = {{20, 2.0, 5.0, 0}, {40, 1.0, 5.0 * later, 0}};
  EXPECT_NEAR(*Measured(run, kSpread, 40, 0), std::log(later), 1e-12);
}

// Of 40 samples 4 + 10 + 1 + 0 do not fit, of the first 20 14.
TEST(StudyRun, SaysWhatShareDoesNotFit) {
  StudyRun run;
  run.curve = {{10, 4.0, 5.0, 4}, {20, 4.0, {}, 10}, {30, 2.0, 5.0, 1}, {40, 1.0, 5.0, 0}};
  EXPECT_DOUBLE_EQ(*run.InvalidWithin(40), 15.0 / 40);
  EXPECT_DOUBLE_EQ(*run.InvalidWithin(25), 14.0 / 20);
  EXPECT_EQ(run.InvalidWithin(5), std::nullopt);
}

TEST(Tables, AreWhole) {
  for (const StudyTable& table : StudyTables()) {
    EXPECT_EQ(FindStudyTable(table.name), &table);
    for (const auto& row : table.published) EXPECT_EQ(row.size(), table.methods.size());
    EXPECT_LE(table.published.size(), table.models.size());
    EXPECT_TRUE(!table.claims.empty() || table.cells == StudyTable::Cells::kFigures);
    for (const StudyMethod& method : table.methods) {
      EXPECT_TRUE(method.before.empty() || method.before.size() == table.models.size());
    }
    for (const StudyClaim& claim : table.claims) {
      EXPECT_FALSE(claim.models.empty());
      for (const size_t model : claim.models) EXPECT_LT(model, table.models.size());
      EXPECT_LT(claim.less, table.methods.size());
      EXPECT_LT(claim.more, table.methods.size());
      EXPECT_NE(claim.less, claim.more);
    }
  }
  EXPECT_EQ(FindStudyTable("mars9"), nullptr);
}

// Five pairs at least, but for the table whose trainings are too long for more than one seed.
TEST(Tables, ClaimsCanBeDecided) {
  for (const StudyTable& table : StudyTables()) {
    if (table.name == "mars3") continue;
    for (const StudyClaim& claim : table.claims) {
      size_t pairs = 0;
      for (const size_t model : claim.models) {
        const StudyMethod& less = table.methods[claim.less];
        const StudyModel& of = table.models[model];
        const int seeds = less.seeds > 0 ? less.seeds : std::max(of.seeds, of.most_seeds);
        pairs += claim.PairsSeeds() ? static_cast<size_t>(seeds) : 1;
      }
      EXPECT_GE(pairs, 5u) << table.name << ": " << claim.text;
    }
  }
}

TEST(Summarize, FillsCellsAndJudges) {
  const StudyTable& table = *FindStudyTable("mars2");
  std::vector<StudyRun> runs(10);
  for (size_t i = 0; i < 10; ++i) {
    const double noise = 0.01 * static_cast<double>(i % 5);
    runs[i].samples = 600;
    runs[i].curve = {{300, 3.0, 3.5, 0}, {600, (i < 5 ? 1.0 : 1.5) + noise, 2.0, 1}};
  }
  const auto run_of = [&](size_t model, size_t method, uint64_t seed) -> const StudyRun* {
    if (model != 2 || method < 4) return nullptr;
    return &runs[(method == 5 ? 0 : 5) + seed];
  };
  const TableResult result = Summarize(table, run_of);
  EXPECT_TRUE(result.cells[2][5].complete);
  EXPECT_NEAR(*result.cells[2][5].mean, 1.02, 1e-3);
  EXPECT_FALSE(result.cells[1][5].complete);
  EXPECT_TRUE(result.cells[1][5].best.empty());
  size_t held = 0;
  for (size_t i = 0; i < table.claims.size(); ++i) {
    held += result.claims[i].verdict == Verdict::kHolds ? 1 : 0;
  }
  EXPECT_EQ(held, 1u);  // without pre-training it is 1.5 times as slow
  EXPECT_THAT(MarkdownOf(table, result), HasSubstr("| BERT-Base | ours | to come |"));
  EXPECT_THAT(RenderTable(table, result, {}), HasSubstr("(n=5)"));
  EXPECT_EQ(JsonOf(table, result)["claims"].size(), table.claims.size());
  EXPECT_THAT(DrawCurves(table, result, 2), HasSubstr("Mars without pre-training"));
  EXPECT_EQ(DrawCurves(table, result, 1), "");
  EXPECT_DOUBLE_EQ(*result.cells[2][5].invalid, 1.0 / 600);
  EXPECT_THAT(MarkdownOf(table, result),
              HasSubstr("|  | samples that do not fit |  |  |  |  | 0% | 0% |"));
}

// Mars at 1.5 and the others at 2, from five seeds each; `auto` at a step of its own.
TEST(Summarize, CannotDistinguishMethodsFarAboveTheBestPlan) {
  const StudyTable& table = *FindStudyTable("published");
  enum Method : size_t { kMars = 1, kAuto = 5 };
  StudyRun mars, other, planned;
  mars.samples = other.samples = 600;
  mars.curve = {{600, 1.5, 2.0, 0}};
  other.curve = {{600, 2.0, 2.0, 300}};
  const auto verdict_with_auto_at = [&](double seconds) {
    planned.curve = {{0, seconds, {}, 0}};
    const TableResult result =
        Summarize(table, [&](size_t, size_t method, uint64_t) -> const StudyRun* {
          return method == kAuto ? &planned : method == kMars ? &mars : &other;
        });
    EXPECT_DOUBLE_EQ(*result.best_known[0], std::min(seconds, 1.5));
    EXPECT_DOUBLE_EQ(*result.cells[0][0].invalid, 0.5);
    return result.claims[0].verdict;
  };
  EXPECT_EQ(verdict_with_auto_at(1.6), Verdict::kHolds);
  EXPECT_EQ(verdict_with_auto_at(1.37), Verdict::kHolds);       // 1.5 is 9.5% above it
  EXPECT_EQ(verdict_with_auto_at(1.36), Verdict::kIndistinct);  // 10.3%
}

// Data parallelism takes 1 s, the uniform prior is below that after its 50th move, the one of floors after its first, and
// another never.
TEST(Summarize, CountsMovesToWhatIsFaster) {
  const StudyTable& table = *FindStudyTable("tag7");
  enum Method : size_t { kBase, kUniform, kFloor, kTrained = 8 };
  StudyRun base, uniform, floor, never;
  base.curve = {{0, 1.0, {}, 0}};
  uniform.samples = floor.samples = never.samples = 200;
  uniform.curve = {{0, 1.0, {}, 0}, {20, 0.9999999, {}, 0}, {50, 0.8, {}, 0}, {200, 0.5, {}, 0}};
  floor.curve = {{0, 1.0, {}, 0}, {1, 0.7, {}, 0}, {200, 0.7, {}, 0}};
  never.curve = {{0, 1.0, {}, 0}, {200, 1.0, {}, 0}};
  std::map<std::pair<size_t, uint64_t>, int> asked;
  const auto run_of = [&](size_t, size_t method, uint64_t seed) -> const StudyRun* {
    ++asked[{method, seed}];
    if (method == kBase) return &base;
    if (method == kUniform) return &uniform;
    if (method == kFloor) return &floor;
    return method == kTrained && seed < 10 ? &never : nullptr;
  };
  const TableResult result = Summarize(table, run_of);
  EXPECT_TRUE(asked.contains({kUniform, 19}));
  EXPECT_NEAR(*result.cells[0][kUniform].mean, 50, 1e-9);
  EXPECT_NEAR(*result.cells[0][kFloor].mean, 1, 1e-9);
  EXPECT_NEAR(*result.cells[0][kTrained].mean, 200, 1e-9);
  EXPECT_EQ(result.cells[0][kTrained].solved, 0u);
  EXPECT_EQ(result.cells[0][kUniform].solved, 20u);
  EXPECT_EQ(result.cells[0][kUniform].median, 50);
  EXPECT_FALSE(result.cells[0][kTrained].complete);
  EXPECT_EQ(result.cells[0][kTrained].best.size(), 10u);
  // Trained against uniform: 200 / 50, a pair for each model and topology.
  EXPECT_NEAR(result.claims[0].ratio.ratio, 4, 1e-9);
  EXPECT_EQ(result.claims[0].ratio.n, 50u);
  EXPECT_EQ(result.claims[0].verdict, Verdict::kFails);
  EXPECT_THAT(
      MarkdownOf(table, result),
      HasSubstr("| InceptionV3 | ours |  | 50.0, median 50, 20 of 20 | 1.0, median 1, 20 of 20 |"));
  EXPECT_THAT(MarkdownOf(table, result), HasSubstr("| model | moves |"));
  EXPECT_EQ(JsonOf(table, result)["cells"][kUniform]["moves"], result.cells[0][kUniform].mean);
}

// On what a base takes 2 s; where that does not fit there is nothing to show.
TEST(Summarize, SaysHowManyTimesFasterAndWhichFigures) {
  const StudyTable& faster = *FindStudyTable("tag8");
  StudyRun base, tag, none;
  base.curve = {{0, 2.0, {}, 0}};
  tag.samples = 1000;
  tag.curve = {{0, 2.0, {}, 0}, {900, 0.5, {}, 0}};
  none.curve = {{0, {}, {}, 0}};
  const TableResult result = Summarize(faster, [&](size_t model, size_t method, uint64_t) {
    return method != 0 ? &tag : model == 0 ? &none : &base;
  });
  EXPECT_FALSE(result.cells[0][1].mean);
  EXPECT_NEAR(*result.cells[1][1].mean, 4, 1e-9);
  EXPECT_EQ(result.claims[0].misfits, 1u);  // of one model there is nothing to compare with
  EXPECT_THAT(MarkdownOf(faster, result), HasSubstr("| model | times faster |"));

  const StudyTable& figures = *FindStudyTable("tag4");
  StudyRun run = tag;
  run.figures = {{"devices V100-32GB", 3.5}, {"gradients all-reduce", 0.25}};
  StudyRun other = run;
  other.figures["devices V100-32GB"] = 0;
  EXPECT_EQ(ToJson(StudyRunOf(ToJson(run), "run").Take()), ToJson(run));
  const TableResult shown = Summarize(figures, [&](size_t, size_t, uint64_t) { return &run; });
  EXPECT_NEAR(*shown.cells[0][0].mean, 3.5, 1e-9);
  EXPECT_EQ(*shown.cells[0][2].mean, 0);  // no P100
  EXPECT_NEAR(*shown.cells[0][4].mean, 0.25, 1e-9);
  const TableResult mixed =
      Summarize(figures, [&](size_t, size_t, uint64_t seed) { return seed == 0 ? &other : &run; });
  EXPECT_NEAR(*mixed.cells[0][0].mean, 7.0 / 3, 1e-9);  // arithmetic, of three seeds
  EXPECT_LT(mixed.cells[0][0].low, 0.1);
}

// HDP comes to 2 at sample 200 of 400, GDP near to that at its 20th.
TEST(Summarize, SaysHowMuchSoonerASearchIs) {
  const StudyTable& table = *FindStudyTable("gdp1");
  StudyRun gdp, hdp;
  gdp.samples = hdp.samples = 400;
  gdp.seconds = hdp.seconds = 5;
  gdp.evaluating = hdp.evaluating = 1;
  gdp.environment_seconds = hdp.environment_seconds = 396;
  gdp.curve = {{10, 3.0, 3.0, 0}, {20, 2.04, 2.5, 0}, {400, 1.9, 2.0, 0}};
  hdp.curve = {{100, 3.0, 3.0, 0}, {200, 2.0, 2.5, 0}, {400, 2.0, 2.5, 0}};
  StudyRun slow = gdp;
  slow.curve = {{400, 2.2, 2.5, 0}};
  const TableResult result =
      Summarize(table, [&](size_t model, size_t method, uint64_t seed) -> const StudyRun* {
        if (model != 1 || (method != 0 && method != 3)) return nullptr;
        return method == 3 ? &hdp : seed < 2 ? &gdp : &slow;
      });
  const SpeedUpResult& of_model = result.speed_ups[1];
  EXPECT_EQ(of_model.n, 2u);
  EXPECT_GE(of_model.never, 1u);
  EXPECT_NEAR(of_model.samples, 10, 1e-9);
  EXPECT_NEAR(of_model.seconds, 10, 1e-9);
  EXPECT_THAT(MarkdownOf(table, result), HasSubstr("| 10 times by samples, 10 by seconds (n=2, "));
  EXPECT_THAT(MarkdownOf(table, result), HasSubstr("published: 1.76 times"));
  EXPECT_EQ(JsonOf(table, result)["speed_ups"][1]["n"], 2);
  EXPECT_EQ(result.speed_ups[0].n, 0u);
}

}  // namespace
}  // namespace placewright
