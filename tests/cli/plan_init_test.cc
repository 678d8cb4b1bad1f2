// `plan --init`: a search that goes on from a plan.
#include <gmock/gmock.h>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using PlanInit = ProgramTest;

TEST_F(PlanInit, InitIsRefusedWhereItWouldBeIgnored) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5"}).status, 0);
  const auto start_with = [&](const char* algorithm) {
    return RunJson({"plan", "net.json", "--algo", algorithm, "--iterations", "5", "--init",
                    "net.plan.json", "-o", "second.json"});
  };
  for (const char* algorithm : {"heft", "single", "random", "m-etf"}) {
    const Outcome run = start_with(algorithm);
    EXPECT_EQ(run.status, 2) << algorithm;
    const Json error = run.json()["error"];
    EXPECT_EQ(error["code"], "usage") << algorithm;
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(algorithm));
    EXPECT_THAT(error["remedy"].get<std::string>(),
                HasSubstr("auto, mcmc, annealing, local-search"))
        << algorithm;
    EXPECT_FALSE(Exists("second.json")) << algorithm;
  }
  for (const char* algorithm : {"auto", "local-search"}) {
    EXPECT_EQ(start_with(algorithm).status, 0) << algorithm;
  }
}

// --init X -o X: the search goes on and replaces the plan that it started from, with its files.
TEST_F(PlanInit, InitMayBeReplaced) {
  Write("net.json", BroadGraph(3, 3, kPlenty).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "0", "-o", "p.json"}).status, 0);
  const int64_t before = Json::parse(Read("p.json"))["step_time_ns"];
  const Outcome run =
      RunJson({"plan", "net.json", "--iterations", "300", "--init", "p.json", "-o", "./p.json"});
  ASSERT_EQ(run.status, 0) << run.out;
  EXPECT_LE(run.json()["step_time_ns"].get<int64_t>(), before);
  EXPECT_EQ(run.json()["init_differs"], Json::array());
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_EQ(Run({"check", "p.json"}).status, 0);
  // No other output may be one of its files, nor any output its graph.
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"-o", "p.json", "--svg", "p.costs.json"},
                                             {"-o", "q.json", "--svg", "p.schedule.json"},
                                             {"-o", "p.costs.json"},
                                             {"-o", "net.json"}}) {
    std::vector<std::string> words = {"plan", "net.json", "--init", "p.json", "--time", "60s"};
    words.insert(words.end(), line.begin(), line.end());
    EXPECT_EQ(Run(words).status, 2) << testing::PrintToString(line);
  }
  EXPECT_EQ(Run({"check", "p.json"}).status, 0);
}

// A graph with the same names but one other time: the plan is taken, and that is said.
TEST_F(PlanInit, InitOfAnotherGraphIsSaidAloud) {
  Json graph = ChainGraph(4, kPlenty);
  Write("net.json", graph.dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5"}).status, 0);
  graph["ops"][0]["time_ns"] = {200, 200};
  Write("changed.json", graph.dump());
  const Outcome run =
      RunJson({"plan", "changed.json", "--init", "net.plan.json", "--iterations", "5"});
  ASSERT_EQ(run.status, 0) << run.out;
  EXPECT_EQ(run.json()["init_differs"], Json({"graph"}));
  EXPECT_THAT(run.err, HasSubstr("what --init net.plan.json was made for differs in: graph"));
  graph["devices"][1]["memory_bytes"] = kPlenty + 512;
  Write("changed.json", graph.dump());
  EXPECT_EQ(RunJson({"plan", "changed.json", "--init", "net.plan.json", "--iterations", "5"})
                .json()["init_differs"],
            Json({"graph", "cluster"}));
}

}  // namespace
}  // namespace placewright
