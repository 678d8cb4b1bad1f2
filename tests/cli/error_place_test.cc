// Every error of the command line says where it is and what to do, for people and for programs.
#include <gmock/gmock.h>

#include <cstdlib>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A step of a transformer with Adam, 32 samples.
const std::string kStep =
    std::string(PLACEWRIGHT_SOURCE_DIR) + "/examples/tiny_transformer_adam.json.gz";

// Hosts of two GPUs and of one.
constexpr const char* kUnequal = R"(
name: unequal
hosts:
  - gpus: 2 x RTX-4090
    interconnect: pcie
  - gpus: [1 x RTX-4090]
network: {bandwidth: 25 Gbps, latency: 3 us}
)";

struct BadLine {
  std::vector<std::string> words;
  const char* code;
  std::string place;
  std::string file = "";
};

class ErrorPlaces : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    Write("net.json", ChainGraph(3, kPlenty).dump());
    Write("text.txt", "no graph at all");
    Write("list.json", "[1, 2]");
    Write("broken.json", "{\"ops\": [");
    Write("empty.json", "");
    Write("unequal.yaml", kUnequal);
    Write("bad.yaml", "name: x\nhosts: 3\n");
  }
};

TEST_F(ErrorPlaces, AreWhatTheErrorIsAbout) {
  const std::vector<BadLine> lines = {
      // Graphs that are none.
      {{"plan", "/dev/null", "-c", "8xH100"}, "file-unreadable", "GRAPH", "/dev/null"},
      {{"plan", "text.txt", "-c", "8xH100"}, "format-unknown", "GRAPH", "text.txt"},
      {{"plan", "list.json", "-c", "8xH100"}, "format-unknown", "GRAPH", "list.json"},
      {{"plan", "empty.json", "-c", "8xH100"}, "format-unknown", "GRAPH", "empty.json"},
      {{"inspect", "/dev/null"}, "file-unreadable", "GRAPH", "/dev/null"},
      {{"plan", "nowhere", "-c", "8xH100"}, "unknown-name", "GRAPH", "nowhere"},
      {{"check", "/dev/null"}, "file-unreadable", "PLAN", "/dev/null"},
      {{"check", "nowhere.json"}, "file-unreadable", "PLAN", "nowhere.json"},
      {{"simulate", "text.txt"}, "format-unknown", "FILE", "text.txt"},
      // Machines that are none.
      {{"plan", kStep, "-c", "8xH10"}, "unknown-name", "--cluster", "8xH10"},
      {{"plan", kStep, "-c", "text.txt"}, "", "", "text.txt"},
      {{"plan", kStep, "-c", "bad.yaml"}, "field", "line 2, column 8", "bad.yaml"},
      {{"cluster", "show", "8xH10"}, "unknown-name", "", "8xH10"},
      {{"memory", kStep, "-c", "8xH10"}, "unknown-name", "--cluster", "8xH10"},
      // Options that are none, or have no such value.
      {{"plan", kStep, "--foo"}, "usage", ""},
      {{"plan", kStep, "-c", "1x4090", "--time", "soon"}, "usage", "--time"},
      {{"plan", kStep, "-c", "1x4090", "--algo", "fsdpp"}, "usage", "--algo"},
      {{"plan", kStep, "-c", "1x4090", "--batch", "-3"}, "usage", "--batch"},
      {{"plan", kStep, "-c", "1x4090", "--iterations", "x"}, "usage", ""},
      {{"plan", kStep, "-c", "1x4090", "-c", "2x4090"}, "usage", "--cluster"},
      {{"plan", kStep, "-c", ""}, "usage", "--cluster"},
      {{"plan", kStep, "-c", "2x4090", "--algo", "fsdp", "--set", "x=1"}, "usage", ""},
      {{"plan", kStep, "-c", "2x4090", "--micro-batches", "5"}, "transform", "accumulate", kStep},
      {{"plan", kStep, "-c", "2x4090", "--for", "horovod"}, "usage", "--for"},
      {{"plan", kStep, "-c", "2x4090", "--pin", "x=y"}, "", ""},
      {{"plan", kStep, "-c", "2x4090", "--costs", "nowhere"},
       "file-unreadable",
       "--costs",
       "nowhere"},
      {{"plan", kStep, "-c", "2x4090", "--layouts", "nowhere"},
       "file-unreadable",
       "--layouts",
       "nowhere"},
      {{"plan"}, "usage", ""},
      {{"nothing"}, "usage", "placewright"},
      {{"simulate"}, "usage", ""},
      {{"simulate", "net.json", "--sim", "x"}, "usage", "--sim"},
      {{"inspect", "net.json", "--order", "x"}, "usage", "--order"},
      {{"inspect", "net.json", "--modules", "--axes"}, "usage", "--modules"},
      {{"explain", "nothing-at-all"}, "usage", ""},
      {{"size", kStep, "--kinds", "H100", "--target", "x"}, "usage", "--target"},
      {{"what-if", kStep, "-c", "8xH10"}, "unknown-name", "--cluster", "8xH10"},
      {{"compare", kStep, "-c", "8xH10"}, "unknown-name", "--cluster", "8xH10"},
      {{"export", "net.json", "--to", "x"}, "", ""},
      {{"completion", "x"}, "usage", ""},
      {{"train", "x"}, "usage", ""},
      {{"cluster", "random", "--seed", "x"}, "usage", ""},
      {{"profile"}, "usage", ""},
      {{"run"}, "usage", ""},
      {{"compile", "net.json"}, "usage", ""},
  };
  for (const BadLine& line : lines) {
    const Outcome run = RunJson(line.words);
    std::string words;
    for (const std::string& word : line.words) words += word + " ";
    SCOPED_TRACE(words + run.out);
    EXPECT_NE(run.status, 0);
    EXPECT_NE(run.status, 1) << "no defect of the program";
    const Json error = run.json()["error"];
    if (*line.code != '\0') {
      EXPECT_EQ(error["code"], line.code);
    }
    EXPECT_EQ(error["file"], line.file);
    EXPECT_NE(error["place"], "");
    if (!line.place.empty()) {
      EXPECT_EQ(error["place"], line.place);
    }
    EXPECT_NE(error["remedy"], "");
  }
}

// Those who mistype one option hear of no other that merely begins alike.
TEST_F(ErrorPlaces, NearOptionsAreNear) {
  const auto said = [this](const char* option) {
    return Run({"simulate", "net.json", option}).err;
  };
  EXPECT_THAT(said("--placment"),
              HasSubstr("unknown option --placment (did you mean --placement?)"));
  EXPECT_THAT(said("--plan"), Not(HasSubstr("did you mean")));
  EXPECT_THAT(said("--ordr"), HasSubstr("(did you mean --order?)"));
}

// It is the machines that do not suit: the remedy names strategies that do, and these can be planned.
TEST_F(ErrorPlaces, OfStrategiesThatTheMachinesDoNotSuitAreTheCluster) {
  for (const char* strategy : {"hsdp", "context", "ulysses"}) {
    const Outcome run = RunJson({"plan", kStep, "-c", "unequal.yaml", "--algo", strategy});
    EXPECT_EQ(run.status, 3) << run.out;
    const Json error = run.json()["error"];
    EXPECT_EQ(error["code"], "cluster-unsuited");
    EXPECT_EQ(error["place"], "cluster unequal");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("these have 2, 1"));
    EXPECT_THAT(error["remedy"].get<std::string>(),
                HasSubstr("fsdp, zero-1, zero-2, data-parallel-p or 1f1b"));
  }
  for (const char* strategy : {"fsdp", "zero-1", "zero-2", "data-parallel-p"}) {
    const Outcome run = RunJson({"plan", kStep, "-c", "unequal.yaml", "--algo", strategy});
    EXPECT_EQ(run.status, 0) << strategy << run.out;
  }
}

// A check that has no room says so before it begins. The figure of ops is the plan's own.
TEST_F(ErrorPlaces, OfAStepThatIsTooLargeToCheckAreItsDevices) {
  ASSERT_EQ(Run({"plan", kStep, "-c", "2x4090", "--algo", "fsdp", "-o", "a.plan.json"}).status, 0);
  Json plan = Json::parse(Read("a.plan.json"));
  plan["devices"][0]["ops"] = int64_t{1} << 40;
  Write("a.plan.json", plan.dump());
  const Outcome run = RunJson({"check", "a.plan.json"});
  EXPECT_EQ(run.status, 6);
  const Json error = run.json()["error"];
  EXPECT_EQ(error["code"], "out-of-memory");
  EXPECT_EQ(error["file"], "a.plan.json");
  EXPECT_EQ(error["place"], "devices");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("TiB of memory"));
  EXPECT_THAT(error["remedy"].get<std::string>(), HasSubstr("ulimit -v"));
}

// In one file the error comes behind the report, which it does not cut.
TEST_F(ErrorPlaces, ErrorsComeBehindWhatWasPrinted) {
  const std::string line = "cd '" + folder().string() + "' && " + PLACEWRIGHT_PROGRAM + " plan " +
                           kStep +
                           " -c 1x4090 --algo single --memory-reserve 24300MiB > both.txt 2>&1";
  ASSERT_NE(std::system(line.c_str()), 0);
  const std::string text = Read("both.txt");
  const size_t error = text.find("placewright: error:");
  ASSERT_NE(error, std::string::npos) << text;
  EXPECT_GT(error, 0u);
  EXPECT_EQ(text[error - 1], '\n');
  EXPECT_GT(text.find("step time"), 0u);
  EXPECT_LT(text.find("step time"), error) << text;
  EXPECT_EQ(text.find("step time", error), std::string::npos) << text;
}

// A plan names its graph and its machines: `memory` takes it by itself, as `simulate` and `check` do.
TEST_F(ErrorPlaces, MemoryTakesAPlan) {
  ASSERT_EQ(Run({"plan", kStep, "-c", "2x4090", "--algo", "fsdp", "--micro-batches", "1", "-o",
                 "a.plan.json"})
                .status,
            0);
  const Outcome named = RunJson({"memory", kStep, "-c", "2x4090", "--plan", "a.plan.json"});
  const Outcome alone = RunJson({"memory", "a.plan.json"});
  ASSERT_EQ(alone.status, 0) << alone.out;
  EXPECT_EQ(alone.json()["devices"], named.json()["devices"]);
  EXPECT_EQ(alone.json()["plan_file"], "a.plan.json");
  const Outcome twice = RunJson({"memory", "a.plan.json", "--plan", "a.plan.json"});
  EXPECT_EQ(twice.status, 2);
  EXPECT_EQ(twice.json()["error"]["place"], "--plan");
}

}  // namespace
}  // namespace placewright
