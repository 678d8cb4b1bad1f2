// Bad input: an error with code, file and place, never a crash, a hang or a guess.
#include <gmock/gmock.h>

#include <algorithm>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

using BadInput = ProgramTest;

struct Expectation {
  const char* what;
  Json graph;
  const char* code;
};

TEST_F(BadInput, EveryCommandThatReadsAGraphNamesWhatIsWrong) {
  const Json good = ChainGraph(3, kPlenty);
  std::vector<Expectation> cases;
  const auto add = [&](const char* what, const char* code, const auto& change) {
    Json graph = good;
    change(graph);
    cases.push_back({what, graph, code});
  };
  add("a cycle", "graph-cycle", [](Json& g) { g["ops"][0]["inputs"].push_back("y2"); });
  add("two ops of one name", "duplicate-name", [](Json& g) { g["ops"][1]["name"] = "op0"; });
  add("two tensors of one name", "duplicate-name", [](Json& g) { g["tensors"][1]["name"] = "w1"; });
  add("an unknown tensor", "unknown-name", [](Json& g) { g["ops"][1]["inputs"][0] = "w9"; });
  add("no devices", "cluster-invalid", [](Json& g) {
    g["devices"] = Json::array();
    g["routes"] = Json::array();
  });
  add("too few times", "field", [](Json& g) { g["ops"][1]["time_ns"] = {1}; });
  add("a negative size", "field", [](Json& g) { g["tensors"][0]["bytes"] = -1; });
  add("a size beyond every limit", "field", [](Json& g) { g["tensors"][0]["bytes"] = 1e30; });
  add("no bandwidth", "field", [](Json& g) { g["links"][0]["bandwidth"] = 0; });
  for (const Expectation& c : cases) {
    Write("net.json", c.graph.dump());
    for (const std::vector<std::string>& line : {std::vector<std::string>{"inspect", "net.json"},
                                                 {"plan", "net.json"},
                                                 {"simulate", "net.json"},
                                                 {"compare", "net.json"}}) {
      const Outcome run = RunJson(line);
      EXPECT_EQ(run.status, 3) << c.what << " " << line[0];
      const Json error = run.json()["error"];
      EXPECT_EQ(error["code"], c.code) << c.what << " " << line[0] << error;
      EXPECT_EQ(error["file"], "net.json") << c.what;
      EXPECT_FALSE(error["remedy"].get<std::string>().empty()) << c.what;
    }
  }
}

TEST_F(BadInput, FilesThatAreNone) {
  Write("folder/x", "");
  Write("empty.json", "");
  Write("text.json", "hello");
  Write("half.json", ChainGraph(3, kPlenty).dump().substr(0, 200));
  Write("list.json", "[1, 2]");
  Write("gzip.json.gz", std::string("\x1f\x8b\x08\x00garbage", 11));
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"missing.json", "file-unreadable"},
      {"folder", "file-unreadable"},
      {"/dev/zero", "file-unreadable"},
      {"empty.json", "format-unknown"},
      {"gzip.json.gz", "file-corrupt"}};
  for (const auto& [path, code] : cases) {
    const Outcome run = RunJson({"inspect", path});
    EXPECT_EQ(run.status, 3) << path;
    EXPECT_EQ(run.json()["error"]["code"], code) << path;
    EXPECT_EQ(run.json()["error"]["file"], path);
  }
  for (const char* path : {"text.json", "half.json", "list.json"}) {
    const Outcome run = RunJson({"plan", path, "-c", "4xP100"});
    EXPECT_EQ(run.status, 3) << path;
    EXPECT_EQ(run.json()["error"]["file"], path);
  }
}

TEST_F(BadInput, EveryTruncationOfAGraphEndsInAnError) {
  const std::string whole = ChainGraph(2, kPlenty).dump();
  for (size_t length = 0; length < whole.size(); length += 37) {
    Write("net.json", whole.substr(0, length));
    const Outcome run = Run({"inspect", "net.json"});
    EXPECT_EQ(run.status, 3) << length << run.out;
    EXPECT_THAT(run.err, HasSubstr("net.json")) << length;
  }
}

TEST_F(BadInput, DevicesThatCannotReachEachOther) {
  Json graph = ChainGraph(2, kPlenty);
  graph["routes"] = Json::array();
  graph["ops"][0]["time_ns"] = {100, nullptr};
  graph["ops"][1]["time_ns"] = {nullptr, 100};
  Write("net.json", graph.dump());
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "5"});
  EXPECT_EQ(run.status, 4) << run.out;
  EXPECT_EQ(run.json()["error"]["code"], "infeasible");
  EXPECT_EQ(run.json()["error"]["file"], "net.json");
  EXPECT_EQ(run.json()["error"]["place"], "op op1");
  graph["placement"] = {{"op0", "d0"}, {"op1", "d1"}};
  Write("net.json", graph.dump());
  const Outcome simulated = RunJson({"simulate", "net.json"});
  EXPECT_EQ(simulated.status, 3);
  EXPECT_EQ(simulated.json()["error"]["code"], "unreachable");
  EXPECT_EQ(simulated.json()["error"]["file"], "net.json");
  EXPECT_EQ(simulated.json()["error"]["place"], "op op1");
}

// A map that somebody wrote is to blame itself, not Placewright: op1 cannot run on d1.
TEST_F(BadInput, AMapThatCannotBeSimulatedIsNamed) {
  Json graph = ChainGraph(2, kPlenty);
  graph["ops"][1]["time_ns"] = {100, nullptr};
  Write("net.json", graph.dump());
  Write("map.json", R"({"op0": "d0", "op1": "d1"})");
  const Outcome run = RunJson({"simulate", "net.json", "--placement", "map.json"});
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(run.json()["error"]["file"], "map.json");
  EXPECT_EQ(run.json()["error"]["place"], "op op1");
}

TEST_F(BadInput, AnOpThatNoDeviceRuns) {
  Json graph = ChainGraph(2, kPlenty);
  graph["ops"][1]["time_ns"] = {nullptr, nullptr};
  Write("net.json", graph.dump());
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "5"});
  EXPECT_THAT(run.status, AnyOf(3, 4)) << run.out;
  EXPECT_THAT(run.json()["error"]["message"].get<std::string>(), HasSubstr("op1"));
}

TEST_F(BadInput, ClustersWithoutDevicesOrWithUnknownFields) {
  Write("empty.yaml", "name: nothing\ndevices: []\n");
  Write("broken.yaml", "name: [unclosed\n");
  for (const char* path : {"empty.yaml", "broken.yaml", "missing.yaml"}) {
    const Outcome run = RunJson({"cluster", "check", path});
    EXPECT_EQ(run.status, 3) << path << run.out;
    EXPECT_FALSE(run.json()["error"]["message"].get<std::string>().empty());
  }
  const Outcome broken = RunJson({"cluster", "check", "broken.yaml"});
  EXPECT_THAT(broken.json()["error"]["place"].get<std::string>(), HasSubstr("line "));
}

TEST_F(BadInput, ClusterIsRequiredWhereTheGraphHasNone) {
  const std::filesystem::path path =
      std::filesystem::path(PLACEWRIGHT_SHARED_DATA) / "fx/tiny_rnnlm_1x64_b2_t3_sgd.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const Outcome run = Run({"plan", path.string()});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("-c CLUSTER is missing"));
  EXPECT_THAT(run.err, HasSubstr("cluster show"));
}

TEST_F(BadInput, WhatIsSaidToBeEnoughMemoryIsEnough) {
  // Four parameters of 1,024 B and whatever the chain holds besides, on two devices of 2,100 B.
  Write("net.json", ChainGraph(4, 2100).dump());
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "50"});
  ASSERT_THAT(run.status, AnyOf(4, 5)) << run.out;
  const Json error = run.json()["error"];
  const std::string message = error["message"], remedy = error["remedy"];
  EXPECT_THAT(message, HasSubstr("largest indivisible group"));
  EXPECT_THAT(message, HasSubstr("2,100 B"));
  // "1,234 B more on d0 (3,334 B usable in all) ...", possibly for both devices.
  Json graph = ChainGraph(4, 2100);
  int enlarged = 0;
  for (Json& device : graph["devices"]) {
    const std::string words = " more on " + device["name"].get<std::string>() + " (";
    const size_t at = remedy.find(words);
    if (at == std::string::npos) continue;
    std::string all = remedy.substr(at + words.size(), remedy.find(" B", at + words.size()));
    all.erase(std::remove(all.begin(), all.end(), ','), all.end());
    device["memory_bytes"] = std::stoll(all);
    ++enlarged;
  }
  ASSERT_GT(enlarged, 0) << remedy;
  EXPECT_THAT(remedy, HasSubstr("enough: checked by simulation"));
  Write("net.json", graph.dump());
  EXPECT_EQ(Run({"plan", "net.json", "--iterations", "50"}).status, 0) << remedy;
}

TEST_F(BadInput, OneDeviceThatIsTooSmallIsAProof) {
  Write("small.yaml", "hosts:\n  - gpus: [{kind: K80, memory: 900 MiB}]\n");
  const std::string graph =
      std::string(PLACEWRIGHT_SOURCE_DIR) + "/examples/tiny_transformer_adam.json.gz";
  const Outcome run = RunJson({"plan", graph, "-c", "small.yaml", "-o", "x.plan.json"});
  EXPECT_EQ(run.status, 4) << run.out;
  const Json error = run.json()["error"];
  EXPECT_EQ(error["code"], "infeasible");
  const std::string message = error["message"], remedy = error["remedy"];
  EXPECT_THAT(message, HasSubstr("855.0 MiB"));
  EXPECT_THAT(message, HasSubstr("host0/gpu0"));
  EXPECT_THAT(message, Not(HasSubstr("together")));
  const std::string words = "more on host0/gpu0 (";
  const size_t at = remedy.find(words);
  ASSERT_NE(at, std::string::npos) << remedy;
  const size_t from = at + words.size();
  std::string all = remedy.substr(from, remedy.find(" usable", from) - from);
  all.erase(std::remove(all.begin(), all.end(), ','), all.end());
  // What the caching allocator takes beside tensors goes into the reserve.
  const std::string memory = std::to_string(std::stoll(all) + 100);
  Write("small.yaml",
        "hosts:\n  - gpus: [{kind: K80, memory: " + memory + " MiB, reserve: 100 MiB}]\n");
  EXPECT_EQ(
      Run({"plan", graph, "-c", "small.yaml", "--iterations", "1", "-o", "x.plan.json"}).status, 0)
      << remedy;
}

TEST_F(BadInput, APlanThatDoesNotFitSaysWhatWouldHelp) {
  // Two chains side by side; by chance (seed 1 to 20) some placement does not fit, though others
  // do.
  Write("net.json", BroadGraph(4, 3, 9000).dump());
  bool met = false;
  for (int seed = 1; seed <= 20 && !met; ++seed) {
    const Outcome run =
        RunJson({"plan", "net.json", "--algo", "random", "--seed", std::to_string(seed)});
    if (run.status == 0) continue;
    ASSERT_EQ(run.status, 5) << run.out;
    met = true;
    const Json error = run.json()["error"];
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("largest indivisible group"));
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("8.8 KiB (9,000 B)"));
    EXPECT_THAT(error["remedy"].get<std::string>(),
                AnyOf(HasSubstr("enough: checked by simulation"), HasSubstr("--algo ")));
  }
  EXPECT_TRUE(met);
}

TEST_F(BadInput, KindsThatBeginAlikeAreNear) {
  Write("kinds.yaml", "hosts:\n  - gpus: V1000\n");
  const Outcome run = RunJson({"cluster", "check", "kinds.yaml"});
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.json()["error"]["message"].get<std::string>(),
              HasSubstr("did you mean V100-16GB, V100-32GB"));
}

}  // namespace
}  // namespace placewright
