// `compare`: what Ctrl-C leaves, and plans that do not belong together.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "program_runner.h"
#include "recorded_mlp.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::Not;

using Compare = ProgramTest;

// Every algorithm that does not search is done within a second; those that search come last and
// have 100 s each.
TEST_F(Compare, CtrlCKeepsWhatIsDone) {
  Write("net.json", BroadGraph(8, 12, 1000000).dump());
  RunOptions options;
  options.signal = SIGINT;
  options.signal_after = 3;
  const Outcome run = RunJson({"compare", "net.json", "--time", "100s"}, options);
  EXPECT_EQ(run.status, 130);
  const Json result = run.json();
  EXPECT_EQ(result["interrupted"], true);
  EXPECT_EQ(result["error"]["code"], "interrupted");
  ASSERT_FALSE(result["plans"].empty());
  int cut_short = 0;
  for (const Json& plan : result["plans"]) {
    EXPECT_GT(plan["step_time_ns"], 0);
    cut_short += plan["interrupted"] == true;
  }
  EXPECT_EQ(cut_short, 1);
  // All algorithms are in one of the two lists.
  const Json all = RunJson({"compare", "net.json", "--iterations", "1"}).json();
  EXPECT_EQ(result["plans"].size() + result["not_run"].size(), all["plans"].size());
  EXPECT_EQ(all["interrupted"], false);
  EXPECT_TRUE(all["not_run"].empty());
}

TEST_F(Compare, CtrlCPrintsTheTable) {
  Write("net.json", BroadGraph(8, 12, 1000000).dump());
  RunOptions options;
  options.signal = SIGINT;
  options.signal_after = 3;
  const Outcome run = Run({"compare", "net.json", "--time", "100s"}, options);
  EXPECT_EQ(run.status, 130);
  EXPECT_THAT(run.out, HasSubstr("interrupted"));
  EXPECT_THAT(run.out, HasSubstr("single"));
  EXPECT_THAT(run.err, HasSubstr("the table has what was found until then"));
}

TEST_F(Compare, PlansOfDifferentGraphsAreNamed) {
  Json other = ChainGraph(6, 100000);
  other["name"] = "longer";
  Write("a.json", ChainGraph(4, 100000).dump());
  Write("b.json", other.dump());
  ASSERT_EQ(Run({"plan", "a.json", "--iterations", "5"}).status, 0);
  ASSERT_EQ(Run({"plan", "b.json", "--iterations", "5"}).status, 0);
  const Json result = RunJson({"compare", "a.plan.json", "b.plan.json"}).json();
  EXPECT_TRUE(result["graph"].is_null());
  EXPECT_TRUE(result["lower_bound_ns"].is_null());
  EXPECT_EQ(result["plans"][0]["graph"], "chain");
  EXPECT_EQ(result["plans"][1]["graph"], "longer");
  const Outcome table = Run({"compare", "a.plan.json", "b.plan.json"});
  EXPECT_THAT(table.out, HasSubstr("their step times do not compare"));
  EXPECT_THAT(table.out, HasSubstr("longer"));
  EXPECT_THAT(table.err, HasSubstr("another graph"));

  const Outcome same = Run({"compare", "a.plan.json", "a.plan.json"});
  EXPECT_THAT(same.out, HasSubstr("chain on "));
  EXPECT_THAT(same.out, Not(HasSubstr("do not compare")));
  EXPECT_EQ(RunJson({"compare", "a.plan.json", "a.plan.json"}).json()["graph"], "chain");
}

// `plan` and `compare` have the same default: ops may be split where the batch is proven to follow.
class CompareSpaces : public RecordedMlp {
 protected:
  static bool Splits(const Json& result) {
    return std::any_of(result["plans"].begin(), result["plans"].end(),
                       [](const Json& plan) { return plan.contains("layouts"); });
  }
};

TEST_F(CompareSpaces, AreThoseOfPlan) {
  const std::vector<std::string> line = {"compare",  "mlp.json.gz",  "-c",
                                         "two.yaml", "--iterations", "1"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = line;
    all.insert(all.end(), more.begin(), more.end());
    return RunJson(all);
  };
  const Outcome free = with({});
  ASSERT_EQ(free.status, 0) << free.err;
  EXPECT_TRUE(Splits(free.json()));
  EXPECT_THAT(free.err, HasSubstr("--space placed: whole ops alone"));
  const Outcome planned =
      Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--iterations", "1", "-o", "p.plan.json"});
  EXPECT_THAT(planned.err, HasSubstr("--space placed: whole ops alone"));
  const Outcome placed = with({"--space", "placed"});
  EXPECT_FALSE(Splits(placed.json()));
  EXPECT_THAT(placed.err, Not(HasSubstr("--space placed")));
  EXPECT_EQ(with({"--space", "replicated"}).json()["plans"].size(), free.json()["plans"].size());
}

// Pipelines and other rewritings need the step as they make it: they are tried as strategies, with what they come to or
// why they are none. Without splits there are none.
TEST_F(Compare, StrategiesStandBelowTheAlgorithms) {
  const std::vector<std::string> line = {
      "compare",      PLACEWRIGHT_SOURCE_DIR "/examples/tiny_transformer_adam.json.gz",
      "-c",           "4xP100",
      "--batch",      "8",
      "--iterations", "3"};
  const Json result = RunJson(line).json();
  std::map<std::string, Json> of;
  for (const Json& one : result["strategies"]) of.emplace(one["algorithm"], one);
  ASSERT_TRUE(of.contains("fsdp") && of.contains("1f1b") && of.contains("tensor"));
  int simulated = 0;
  for (const Json& one : result["strategies"]) {
    const bool known = one["fits"] == true;
    EXPECT_EQ(one["why_not"].get<std::string>().empty(), known) << one.dump();
    if (one["step_time_ns"].is_null()) continue;
    ++simulated;
    EXPECT_GT(one["step_time_ns"], 0);
    EXPECT_GT(one["memory_bytes"], 0);
    EXPECT_LE(one["memory_bytes"].get<int64_t>() > one["capacity_bytes"].get<int64_t>(), !known);
  }
  EXPECT_GE(simulated, 3);
  // `auto` chooses among them, as in plan: what it comes to is no worse than any that was simulated and fits.
  const auto plans = result["plans"];
  const auto automatic = std::find_if(plans.begin(), plans.end(),
                                      [](const Json& one) { return one["planner"] == "auto"; });
  ASSERT_NE(automatic, plans.end()) << plans.dump();
  for (const Json& one : result["strategies"]) {
    if (one["step_time_ns"].is_null() || one["fits"] != true) continue;
    EXPECT_LE((*automatic)["step_time_ns"], one["step_time_ns"]) << one.dump();
  }
  // Said once.
  for (const Json& note : result["notes"]) {
    EXPECT_FALSE(note.get<std::string>().starts_with("1f1b:")) << note;
  }
  std::vector<std::string> placed = line;
  placed.insert(placed.end(), {"--space", "placed"});
  EXPECT_TRUE(RunJson(placed).json()["strategies"].empty());
  const Outcome table = Run(line);
  EXPECT_THAT(table.out, HasSubstr("\nstrategy "));
  EXPECT_THAT(table.out, HasSubstr("1f1b"));
}

}  // namespace
}  // namespace placewright
