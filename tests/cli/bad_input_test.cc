// Bad input: an error with code, file and place, never a crash, a hang or a guess.
#include <gmock/gmock.h>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

using BadInput = ProgramTest;

constexpr int64_t kPlenty = 1 << 20;

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
  EXPECT_THAT(run.status, AnyOf(3, 4)) << run.out;
  EXPECT_THAT(run.json()["error"]["code"], AnyOf("unreachable", "infeasible"));
  graph["placement"] = {{"op0", "d0"}, {"op1", "d1"}};
  Write("net.json", graph.dump());
  const Outcome simulated = RunJson({"simulate", "net.json"});
  EXPECT_EQ(simulated.status, 3);
  EXPECT_EQ(simulated.json()["error"]["code"], "unreachable");
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

}  // namespace
}  // namespace placewright
