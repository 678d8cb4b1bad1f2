// `plan` at the limits: of what can be counted, of what fits, and of how many devices there are.
#include <gmock/gmock.h>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;

using PlanLimits = ProgramTest;

constexpr int64_t kMaxTime = int64_t{1} << 60;

// Four ops of 2^60 ns: no step time that can be counted, in any order and on any device.
TEST_F(PlanLimits, TimesBeyondCountingAreRefused) {
  Json graph = ChainGraph(4, kPlenty);
  for (Json& op : graph["ops"]) op["time_ns"] = {kMaxTime, kMaxTime};
  for (int i = 0; i < 4; ++i) graph["placement"]["op" + std::to_string(i)] = "d0";
  Write("net.json", graph.dump());
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"plan", "net.json", "--iterations", "5"},
                                             {"simulate", "net.json"},
                                             {"compare", "net.json", "--iterations", "5"}}) {
    const Outcome run = RunJson(line);
    EXPECT_EQ(run.status, 3) << line[0] << run.out;
    const Json error = run.json()["error"];
    EXPECT_EQ(error["code"], "too-large") << line[0];
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("op op0 takes 1,152,921,504"));
    EXPECT_FALSE(error["remedy"].get<std::string>().empty());
  }
  EXPECT_FALSE(Exists("net.plan.json"));
  // A plan that states such a time is none, either.
  Write("net.json", ChainGraph(4, kPlenty).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5"}).status, 0);
  Json plan = Json::parse(Read("net.plan.json"));
  plan["step_time_ns"] = kMaxTime;
  Write("net.plan.json", plan.dump());
  for (const char* command : {"check", "simulate", "compare"}) {
    EXPECT_EQ(RunJson({command, "net.plan.json"}).json()["error"]["code"], "too-large") << command;
  }
}

TEST_F(PlanLimits, OpsWithoutTimeCountAsSources) {
  Json graph = ChainGraph(4, kPlenty);
  for (Json& op : graph["ops"]) op["time_ns"] = {0, 0};
  Write("net.json", graph.dump());
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "5"});
  ASSERT_EQ(run.status, 0) << run.out;
  EXPECT_EQ(run.json()["cost_sources"],
            (Json{{"given", 1.0}, {"measured", 0.0}, {"modelled", 0.0}}));
  EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0);
}

// w0 (1,000 B, 1,024 with the granule) has its home on d0, which has 900 B; d1 has plenty.
TEST_F(PlanLimits, AHomeThatCannotHoldItsParameterIsProved) {
  Json graph = ChainGraph(4, kPlenty);
  graph["devices"][0]["memory_bytes"] = 900;
  graph["homes"] = {{"w0", "d0"}};
  Write("net.json", graph.dump());
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "5"});
  EXPECT_EQ(run.status, 4) << run.out;
  EXPECT_THAT(run.json()["error"]["message"].get<std::string>(), HasSubstr("900 B"));
}

// 1,024 devices, a million pairs: 128 hosts of eight on a switch each, which hang on one switch.
std::string TwoLevels() {
  std::string devices = "devices:\n", switches = "switches: [core", links = "links:\n";
  for (int h = 0; h < 128; ++h) {
    const std::string host = "host" + std::to_string(h);
    devices += "  - {name: " + host + "/gpu, kind: V100-16GB, count: 8}\n";
    switches += ", " + host + "/switch";
    links += "  - {between: [\"" + host + "/gpu*\", " + host +
             "/switch], bandwidth: 12 GB/s, latency: 3 us}\n";
    links += "  - {between: [" + host + "/switch, core], bandwidth: 10 GB/s, latency: 4 us}\n";
  }
  return "name: two levels\n" + devices + switches + "]\n" + links;
}

// Only the routes that the plan uses are written: all of them would take 200 MB.
TEST_F(PlanLimits, AThousandDevices) {
  const std::string graph = PLACEWRIGHT_SHARED_DATA "/fx/tiny_rnnlm_1x64_b2_t3_sgd.json.gz";
  if (!std::filesystem::exists(graph)) GTEST_SKIP() << "no " << graph;
  Write("two.yaml", TwoLevels());
  const std::vector<std::string> plan = {"plan", graph, "-c", "two.yaml", "--iterations", "20"};
  std::vector<std::string> spread = plan;
  spread.insert(spread.end(), {"--algo", "round-robin", "-o", "p.json"});
  const Outcome run = RunJson(spread);
  ASSERT_EQ(run.status, 0) << run.out;
  EXPECT_LT(std::filesystem::file_size(folder() / "p.costs.json"), 16u << 20);
  const Json costs = Json::parse(Read("p.costs.json"));
  EXPECT_FALSE(costs["routes"].empty());
  EXPECT_LE(costs["routes"].size(), RunJson({"check", "p.json"}).json()["transfers"]);
  EXPECT_EQ(RunJson({"simulate", "p.json"}).json()["step_time_ns"], run.json()["step_time_ns"]);
  EXPECT_EQ(RunJson({"compare", "p.json"}).json()["plans"].size(), 1u);
  std::vector<std::string> again = plan;
  again.insert(again.end(), {"--algo", "local-search", "--init", "p.json", "-o", "p.json"});
  EXPECT_EQ(Run(again).status, 0);
  EXPECT_EQ(Run({"check", "p.json"}).status, 0);
}

}  // namespace
}  // namespace placewright
