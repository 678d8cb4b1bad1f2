// `simulate`, `compare`, `inspect`, `check` and `cluster`: numbers and forms.
#include <gmock/gmock.h>
#include <zlib.h>

#include <cmath>

#include "program_runner.h"
#include "recorded_mlp.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using SimulateCommand = ProgramTest;
using CompareCommand = ProgramTest;
using InspectCommand = ProgramTest;
using CheckCommand = ProgramTest;
using ClusterCommand = ProgramTest;
using BenchCommand = ProgramTest;

TEST_F(SimulateCommand, TimesAChainOverTwoDevices) {
  Json graph = ChainGraph(2, kPlenty);
  graph["placement"] = {{"op0", "d0"}, {"op1", "d1"}};
  Write("net.json", graph.dump());
  const Outcome run = RunJson({"simulate", "net.json", "--schedule"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json result = run.json();
  // op0 [0, 100), y0 crosses 1,000 B at 1 GB/s [100, 1100), op1 [1100, 1200).
  EXPECT_EQ(result["step_time_ns"], 1200);
  EXPECT_EQ(result["feasible"], true);
  ASSERT_EQ(result["ops"].size(), 2u);
  EXPECT_EQ(result["ops"][0],
            Json({{"name", "op0"}, {"device", "d0"}, {"start_ns", 0}, {"end_ns", 100}}));
  EXPECT_EQ(result["ops"][1],
            Json({{"name", "op1"}, {"device", "d1"}, {"start_ns", 1100}, {"end_ns", 1200}}));
  // d0: x and w0 and y0, 1,024 B each; d1: w1, the copy of y0, and y1.
  EXPECT_EQ(result["devices"][0]["peak_memory_bytes"], 3 * 1024);
  EXPECT_EQ(result["devices"][1]["peak_memory_bytes"], 3 * 1024);
  // The path: op0 100, the transfer 1000, op1 100.
  EXPECT_EQ(result["reasons"][0]["what"], "moving over d0>d1");
  EXPECT_EQ(result["reasons"][0]["time_ns"], 1000);
  EXPECT_EQ(result["links"][0]["moved_bytes"], 1000);
  // Each device computes 100 of 1,200 ns. From 100 ns on, when y0 is made, d1 lacks only its copy.
  EXPECT_EQ(result["devices"][0]["idle_ns"], 1100);
  EXPECT_EQ(result["devices"][0]["idle_before_transfers_ns"], 0);
  EXPECT_EQ(result["devices"][1]["idle_ns"], 1100);
  EXPECT_EQ(result["devices"][1]["idle_before_transfers_ns"], 1000);
  ASSERT_EQ(result["transfers"].size(), 1u);
  EXPECT_EQ(result["transfers"][0], Json({{"storage", "y0"},
                                          {"version", 0},
                                          {"offset", 0},
                                          {"length", 1000},
                                          {"from", "d0"},
                                          {"to", "d1"},
                                          {"ready_ns", 100},
                                          {"start_ns", 100},
                                          {"end_ns", 1100}}));
  EXPECT_FALSE(RunJson({"simulate", "net.json"}).json().contains("transfers"));
}

// Two ops of a recorded step, the first of a type that no cost table knows, and their times: the
// first's measured, the second's modelled.
constexpr const char* kMystery = R"({"name": "net", "batch": 1, "inputs": [
    {"name": "x", "kind": "input", "shape": [4, 4], "dtype": "f32"}],
  "ops": [
    {"name": "one", "target": "org.example.mystery", "phase": "fwd", "inputs": ["x"],
     "args": ["%0"], "outputs": [{"shape": [4, 4], "dtype": "f32"}]},
    {"name": "two", "target": "aten.relu.default", "phase": "fwd", "inputs": ["one"],
     "args": ["%0"], "outputs": [{"shape": [4, 4], "dtype": "f32"}]}],
  "outputs": ["two"]})";
constexpr const char* kMysteryTimes =
    "overrides:\n  - {op: one, time: 3us}\n  - {op: two, time: 1us, source: modelled}\n";

TEST_F(ProgramTest, EveryResultSaysWhereItsCostsComeFrom) {
  Write("net.json", kMystery);
  Write("times.yaml", kMysteryTimes);
  Write("map.json", R"({"one": "host0/gpu0", "two": "host0/gpu0"})");
  const std::vector<std::string> input = {"net.json", "-c", "2xV100", "--costs", "times.yaml"};
  const auto line = [&](const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> words = {command};
    words.insert(words.end(), input.begin(), input.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  // 3 of 4 us are measured, on every device.
  const Json sources = {{"given", 0.0}, {"measured", 0.75}, {"modelled", 0.25}};
  const char* const text = "75.0% measured, 25.0% modelled";
  const char* const unknown = "op types costed by their bytes alone: org.example.mystery\n";
  const auto simulate = line("simulate", {"--placement", "map.json"});
  const auto plan = line("plan", {"--iterations", "5"});
  const std::vector<std::vector<std::string>> lines = {
      plan, simulate, {"simulate", "net.plan.json"}};
  for (const auto& words : lines) {
    const Outcome run = RunJson(words);
    ASSERT_EQ(run.status, 0) << run.out;
    EXPECT_EQ(run.json()["cost_sources"], sources) << words[0];
    EXPECT_EQ(run.json()["unknown_types"], Json({"org.example.mystery"})) << words[0];
    EXPECT_EQ(run.json()["assumed_shapes"], Json::array()) << words[0];
    const std::string out = Run(words).out;
    EXPECT_THAT(out, HasSubstr(text)) << words[0];
    EXPECT_THAT(out, HasSubstr(unknown)) << words[0];
  }
  const auto compare = line("compare", {"--iterations", "5"});
  const Json algorithms = RunJson(compare).json();
  EXPECT_EQ(algorithms["unknown_types"], Json({"org.example.mystery"}));
  ASSERT_GT(algorithms["plans"].size(), 5u);
  for (const Json& entry : algorithms["plans"]) EXPECT_EQ(entry["cost_sources"], sources);
  EXPECT_THAT(Run(compare).out, testing::AllOf(HasSubstr(text), HasSubstr(unknown)));
  const Json plans = RunJson({"compare", "net.plan.json"}).json();
  EXPECT_EQ(plans["plans"][0]["cost_sources"], sources);
  EXPECT_TRUE(plans["unknown_types"].is_null());  // the graph is not read
  EXPECT_THAT(Run({"compare", "net.plan.json"}).out, HasSubstr(text));
}

TEST_F(SimulateCommand, OutOfMemoryIsAResult) {
  Json graph = ChainGraph(2, 2048);
  graph["placement"] = {{"op0", "d0"}, {"op1", "d0"}};
  Write("net.json", graph.dump());
  const Outcome run = RunJson({"simulate", "net.json"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.json()["feasible"], false);
  // w0, w1 and x all the time, y0 and y1 while op1 runs: 5 * 1,024 B.
  EXPECT_EQ(run.json()["over_bytes"], 5 * 1024 - 2048);
  EXPECT_THAT(Run({"simulate", "net.json"}).out, HasSubstr("d0 overflows by 3.0 KiB"));
}

TEST_F(SimulateCommand, PlacementMayComeFromAFile) {
  Write("net.json", ChainGraph(2, kPlenty).dump());
  const Outcome missing = Run({"simulate", "net.json"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("--placement"));
  Write("map.json", R"({"op0": "d1", "op1": "d0"})");
  EXPECT_EQ(RunJson({"simulate", "net.json", "--placement", "map.json"}).json()["step_time_ns"],
            1200);
  Write("short.json", R"({"op0": "d1"})");
  const Outcome incomplete = RunJson({"simulate", "net.json", "--placement", "short.json"});
  EXPECT_EQ(incomplete.status, 3);
  EXPECT_EQ(incomplete.json()["error"]["file"], "short.json");
  EXPECT_THAT(incomplete.json()["error"]["message"].get<std::string>(), HasSubstr("op1"));
}

// d1 runs op2 only behind op1, which d0 has: the list that says otherwise is refused, and so is one that
// is of another placement.
TEST_F(SimulateCommand, SequencesStandBesideThePlacement) {
  Write("net.json", ChainGraph(3, kPlenty).dump());
  const auto simulate = [&](const Json& sequence) {
    const Json placement = {{"placement", {{"op0", "d1"}, {"op1", "d0"}, {"op2", "d1"}}},
                            {"sequence", sequence}};
    Write("map.json", placement.dump());
    return RunJson({"simulate", "net.json", "--placement", "map.json"});
  };
  EXPECT_EQ(simulate({{"d1", {"op0", "op2"}}}).json()["step_time_ns"], 2300);
  const Outcome stuck = simulate({{"d1", {"op2", "op0"}}});
  EXPECT_EQ(stuck.status, 3);
  EXPECT_EQ(stuck.json()["error"]["code"], "plan-invalid");
  EXPECT_EQ(stuck.json()["error"]["file"], "map.json");
  EXPECT_THAT(stuck.json()["error"]["message"].get<std::string>(), HasSubstr("\"op2\" on d1"));
  EXPECT_EQ(simulate({{"d1", {"op1"}}}).json()["error"]["code"], "plan-mismatch");
  EXPECT_EQ(simulate({{"d1", "op1"}}).json()["error"]["code"], "field");
}

std::string Gunzip(const std::filesystem::path& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  std::array<char, 65536> buffer;
  for (int got = 0; (got = gzread(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<size_t>(got));
  }
  gzclose(file);
  return text;
}

TEST_F(SimulateCommand, EqualsThePublicVectors) {
  Json vectors = Json::array();
  for (const char* file : {"vectors.json.gz", "vectors2.json.gz"}) {
    const std::filesystem::path path =
        std::filesystem::path(PLACEWRIGHT_SHARED_DATA) / "simulator" / file;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
    for (const Json& vector : Json::parse(Gunzip(path))) vectors.push_back(vector);
  }
  ASSERT_GT(vectors.size(), 150u);
  for (size_t i = 0; i < vectors.size(); ++i) {
    Json graph = vectors[i];
    const Json expected = graph["expected"];
    graph.erase("expected");
    Write("vector.json", graph.dump());
    if (expected.contains("error")) {
      const Outcome refused = RunJson({"simulate", "vector.json"});
      EXPECT_EQ(refused.status, 3) << i;
      EXPECT_THAT(refused.json()["error"].dump(), HasSubstr(expected["error"].get<std::string>()));
      continue;
    }
    for (const char* order : {"fifo", "critical-path"}) {
      const Json result =
          RunJson({"simulate", "vector.json", "--order", order, "--schedule"}).json();
      EXPECT_EQ(result["step_time_ns"], expected[order]["step_time_ns"]) << i << order;
      for (size_t d = 0; d < graph["devices"].size(); ++d) {
        EXPECT_EQ(result["devices"][d]["peak_memory_bytes"],
                  expected[order]["peak_memory_bytes"][d])
            << i << order << d;
      }
      for (size_t op = 0; op < graph["ops"].size(); ++op) {
        EXPECT_EQ(result["ops"][op]["end_ns"], expected[order]["end_ns"][op]) << i << order << op;
      }
    }
  }
}

TEST_F(CompareCommand, RunsEveryAlgorithm) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  const Outcome run = RunJson({"compare", "net.json", "--iterations", "20"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json result = run.json();
  std::vector<std::string> names;
  for (const Json& plan : result["plans"]) names.push_back(plan["planner"]);
  EXPECT_THAT(names, testing::IsSupersetOf({"auto", "single", "random", "round-robin", "layered",
                                            "m-etf", "m-topo", "heft", "local-search"}));
  EXPECT_EQ(names.front(), "auto");
  for (const Json& plan : result["plans"]) {
    EXPECT_LE(result["plans"][0]["step_time_ns"], plan["step_time_ns"]) << plan;
  }
  EXPECT_THAT(Run({"compare", "net.json", "--iterations", "20"}).out, HasSubstr("found by"));
}

TEST_F(CompareCommand, SetsPlansSideBySide) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5", "-o", "a.json"}).status, 0);
  ASSERT_EQ(Run({"plan", "net.json", "--algo", "round-robin", "-o", "b.json"}).status, 0);
  const Json result = RunJson({"compare", "a.json", "b.json"}).json();
  ASSERT_EQ(result["plans"].size(), 2u);
  EXPECT_EQ(result["plans"][0]["file"], "a.json");
  EXPECT_EQ(result["plans"][0]["step_time_ns"], 400);
  EXPECT_EQ(result["plans"][1]["algorithm"], "round-robin");
  EXPECT_EQ(Run({"compare", "a.json", "net.json"}).status, 3);
  EXPECT_EQ(Run({"compare", "net.json", "a.json"}).status, 2);
}

TEST_F(InspectCommand, CountsACostGraph) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  const Json result = RunJson({"inspect", "net.json"}).json();
  EXPECT_EQ(result["schema"], "placewright.inspect/1");
  EXPECT_EQ(result["name"], "chain");
  EXPECT_EQ(result["ops"], 4);
  EXPECT_EQ(result["edges"], 3);
  EXPECT_EQ(result["parameter_bytes"], 4000);
  EXPECT_EQ(result["macs"]["total"], 0);
  EXPECT_EQ(result["phases"]["forward"], 4);
  EXPECT_EQ(result["memory"]["parameters"], 4000);
  EXPECT_EQ(result["memory"]["activations_total"], 4000);
  // x and four parameters, and two outputs at a time: 7 * 1,024 B.
  EXPECT_EQ(result["memory"]["one_device_peak"], 7 * 1024);
  EXPECT_THAT(Run({"inspect", "net.json"}).out, HasSubstr("colocation groups"));
  EXPECT_EQ(RunJson({"inspect", "net.json", "--modules"}).json()["modules"][0]["ops"], 4);
  // A chain of four: depth 4, width 1, 3 edges over 4 ops.
  EXPECT_EQ(result["statistics"]["depth"], 4);
  EXPECT_EQ(result["statistics"]["width"], 1);
  EXPECT_EQ(result["statistics"]["degree"], 0.75);
  EXPECT_EQ(result["statistics"]["diameter"], 3);
}

// op0 to op3, 100 ns each, with 1,000 B from one to the next.
TEST_F(InspectCommand, CutsOpsIntoGroups) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  for (const char* method : {"acyclic", "metis", "scotch"}) {
    const Json result = RunJson({"inspect", "net.json", "--groups", method}).json();
    EXPECT_EQ(result["schema"], "placewright.groups/1");
    EXPECT_EQ(result["method"], method);
    EXPECT_EQ(result["cut_bytes"], 1000);
    EXPECT_EQ(result["acyclic"], true);
    EXPECT_EQ(result["groups"][1], Json({{"ops", 2}, {"time_ns", 200}})) << method;
    EXPECT_NE(result["ops"][0]["group"], result["ops"][3]["group"]) << method;
  }
  const Json four = RunJson({"inspect", "net.json", "--groups", "acyclic", "--parts", "4"}).json();
  EXPECT_EQ(four["ops"][3], Json({{"name", "op3"}, {"group", 3}}));
  EXPECT_THAT(Run({"inspect", "net.json", "--groups", "acyclic"}).out, HasSubstr("no cycle"));
  const Json tag = RunJson({"inspect", "net.json", "--groups", "tag"}).json();  // of 60 parts
  EXPECT_EQ(tag["method"], "tag");
  EXPECT_EQ(tag["groups"].size(), 4u);
  EXPECT_THAT(Run({"inspect", "net.json", "--groups", "meits"}).err,
              HasSubstr("did you mean metis"));
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--parts", "4"}, {"--groups", "metis", "--modules"}}) {
    std::vector<std::string> line = {"inspect", "net.json"};
    line.insert(line.end(), wrong.begin(), wrong.end());
    EXPECT_EQ(Run(line).status, 2) << wrong[0];
  }
}

using InspectRecorded = RecordedMlp;

TEST_F(InspectRecorded, NamesAxesAndSaysWhatASplitOfTheBatchMakes) {
  const Json axes = RunJson({"inspect", "mlp.json.gz", "--axes"}).json();
  EXPECT_EQ(axes["schema"], "placewright.axes/1");
  EXPECT_EQ(axes["axes"][0]["name"], "batch");
  EXPECT_EQ(axes["axes"][0]["size"], axes["batch"]);
  int64_t outputs = 0;
  for (const Json& op : axes["ops"]) outputs += static_cast<int64_t>(op["outputs"].size());
  const Json& split = axes["splittable"];
  EXPECT_EQ(
      split["concat"].get<int64_t>() + split["sum"].get<int64_t>() + split["whole"].get<int64_t>(),
      outputs);
  EXPECT_GT(split["concat"].get<int64_t>(), 0);
  EXPECT_GT(split["sum"].get<int64_t>(), 0);
  EXPECT_EQ(axes["whole_on_batch"]["types"], Json::array());
  EXPECT_EQ(axes["whole_on_batch"]["times_of"], "A100-80GB");
  const std::string text = Run({"inspect", "mlp.json.gz", "--axes"}).out;
  EXPECT_THAT(text, HasSubstr("named axes"));
  EXPECT_THAT(text, HasSubstr("no op that has the batch is whole on it, the update apart"));
  EXPECT_EQ(Run({"inspect", "mlp.json.gz", "--axes", "--modules"}).status, 2);
}

TEST_F(SimulateCommand, InspectListsOpsInATraversalOrder) {
  Write("net.json", ChainGraph(4, 8192).dump());
  EXPECT_EQ(Run({"inspect", "net.json", "--order", "reversed-topo"}).out, "op3\nop2\nop1\nop0\n");
  const Json list = RunJson({"inspect", "net.json", "--order", "bfs"}).json();
  EXPECT_EQ(list["schema"], "placewright.order/1");
  EXPECT_EQ(list["ops"], Json({"op0", "op1", "op2", "op3"}));
  const Outcome typo = Run({"inspect", "net.json", "--order", "bsf"});
  EXPECT_EQ(typo.status, 2);
  EXPECT_THAT(typo.err, HasSubstr("did you mean bfs"));
  EXPECT_EQ(Run({"inspect", "net.json", "--order", "bfs", "--modules"}).status, 2);
}

TEST_F(SimulateCommand, TextIsTheGoldenOne) {
  Json graph = ChainGraph(4, 8192);
  graph["placement"] = {{"op0", "d0"}, {"op1", "d0"}, {"op2", "d1"}, {"op3", "d1"}};
  Write("net.json", graph.dump());
  const Outcome run = Run({"simulate", "net.json", "--schedule", "--memory"});
  EXPECT_EQ(run.out, Golden("simulate_chain", run.out));
  const Outcome inspect = Run({"inspect", "net.json"});
  EXPECT_EQ(inspect.out, Golden("inspect_chain", inspect.out));
}

TEST_F(CheckCommand, RejectsAPlanWithAnyNumberChanged) {
  Write("net.json", BroadGraph(3, 3, 24000).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "30"}).status, 0);
  const Json plan = Json::parse(Read("net.plan.json"));
  int changed = 0;
  const Json flat = plan.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (!value.is_number()) continue;
    Json copy = plan;
    Json& number = copy[Json::json_pointer(pointer)];
    if (number.is_number_integer()) {
      number = number.get<int64_t>() + 1;
    } else {
      number = number.get<double>() * 0.5 + 0.001;
    }
    Write("net.plan.json", copy.dump());
    const Outcome run = Run({"check", "net.plan.json"});
    EXPECT_EQ(run.status, 3) << pointer << run.out;
    EXPECT_THAT(run.err, HasSubstr("net.plan.")) << pointer;
    ++changed;
  }
  EXPECT_GT(changed, 30);
}

TEST_F(CheckCommand, AnEditedPlanIsNotTrusted) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5"}).status, 0);
  Json plan = Json::parse(Read("net.plan.json"));
  plan["step_time_ns"] = plan["step_time_ns"].get<int64_t>() - 1;
  Write("edited.json", plan.dump());
  for (const std::vector<std::string>& line : {std::vector<std::string>{"check", "edited.json"},
                                               {"simulate", "edited.json"},
                                               {"compare", "net.plan.json", "edited.json"}}) {
    const Outcome run = RunJson(line);
    EXPECT_EQ(run.status, 3) << line[0];
    EXPECT_EQ(run.json()["error"]["code"], "plan-invalid") << line[0];
    EXPECT_EQ(run.json()["error"]["file"], "edited.json") << line[0];
  }
  EXPECT_EQ(Run({"compare", "net.plan.json"}).status, 0);
}

TEST_F(SimulateCommand, PicturesNeverReplaceWhatIsRead) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5"}).status, 0);
  for (const char* path : {"net.plan.json", "net.json", "net.plan.costs.json",
                           "./net.plan.schedule.json", "same.svg"}) {
    const std::string before = Read(path);
    const Outcome run = RunJson({"simulate", "net.plan.json", "--svg", path, "--html", "same.svg"});
    EXPECT_EQ(run.status, 2) << path << run.out;
    EXPECT_THAT(run.json()["error"]["message"].get<std::string>(), HasSubstr("would overwrite"));
    EXPECT_EQ(Read(path), before) << path;
  }
  EXPECT_FALSE(Exists("same.svg"));
}

TEST_F(CheckCommand, RejectsAPlanForAnotherGraph) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5"}).status, 0);
  Write("net.json", ChainGraph(5, kPlenty).dump());
  for (const char* command : {"check", "simulate"}) {
    const Outcome run = RunJson({command, "net.plan.json"});
    EXPECT_EQ(run.status, 3) << command;
    EXPECT_EQ(run.json()["error"]["code"], "plan-mismatch") << command;
  }
  const Outcome init =
      RunJson({"plan", "net.json", "--init", "net.plan.json", "--iterations", "1", "-o", "x.json"});
  EXPECT_EQ(init.status, 3);
}

// The figures are those of the machine; what has no meaning on one device is null.
TEST_F(BenchCommand, TablesComeFromTheStore) {
  const Outcome none = RunJson({"bench", "seeds", "--table", "mars2", "--no-runs"});
  ASSERT_EQ(none.status, 0) << none.err;
  EXPECT_EQ(none.json()["schema"], "placewright.bench-seeds/1");
  EXPECT_EQ(none.json()["cells"][0]["n"], 0);
  EXPECT_FALSE(Exists("seeds.jsonl"));
  const std::string run =
      R"({"graph":"bert-base@mars","cluster":"4xP100-tf","algorithm":"one-gpu","seed":0,)"
      R"("samples":0,"seconds":0,"evaluating_seconds":0,"environment_seconds":0,)"
      R"("placement":"0","program":"1","settings":{},"curve":[[0,1.25,1.25,0]]})";
  Write("seeds.jsonl", run + "\n");
  const Outcome one =
      RunJson({"bench", "seeds", "--table", "mars2", "--no-runs", "-o", "mars2.md"});
  const Json table = one.json();
  bool found = false;
  for (const Json& cell : table["cells"]) {
    found = found || (cell["model"] == "BERT-Base" && cell["method"] == "one GPU" &&
                      std::abs(cell["seconds"].get<double>() - 1.25) < 1e-9 &&
                      cell["published"] == "out of memory");
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(Read("mars2.md"), HasSubstr("1.250"));
  Write("seeds.jsonl", run + "\n{\n");
  const Outcome broken = RunJson({"bench", "seeds", "--table", "mars2", "--no-runs"});
  EXPECT_EQ(broken.status, 3);
  EXPECT_THAT(broken.json()["error"]["place"], HasSubstr("line 2"));
  EXPECT_EQ(Run({"bench", "seeds", "--table", "mars9"}).status, 2);
}

TEST_F(BenchCommand, TheTraversalStudyComesFromItsStore) {
  const Outcome none = RunJson({"bench", "traversal", "--no-runs"});
  ASSERT_EQ(none.status, 0) << none.err;
  EXPECT_EQ(none.json()["schema"], "placewright.bench-traversal/1");
  EXPECT_TRUE(none.json()["findings"].empty());
  EXPECT_FALSE(Exists("traversal.jsonl"));
  // One graph on three devices: reversed-topo takes 1 us, the others 2.
  std::string lines;
  for (const std::string order :
       {"topo", "reversed-topo", "dfs-preorder", "dfs-postorder", "bfs", "lexico"}) {
    const Json times(5, std::vector<int64_t>(8, order == "reversed-topo" ? 1000 : 2000));
    lines += Json{{"rules", 2},     {"family", "nmt"},         {"graph", 0},
                  {"devices", 3},   {"policy", "improvement"}, {"first_repeat", 0},
                  {"episodes", 50}, {"order", order},          {"times_ns", times}}
                 .dump() +
             "\n";
  }
  Write("traversal.jsonl", lines);
  const Outcome one = RunJson({"bench", "traversal", "--no-runs", "-o", "tables.md"});
  ASSERT_EQ(one.status, 0) << one.err;
  const Json findings = one.json()["findings"];
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0]["wins"], Json::parse("[0,1,0,0,0,0]"));
  EXPECT_THAT(Read("tables.md"), HasSubstr("| nmt | 3 | 10 | 1 x 5 | 0 (2) | 1 (22) |"));
  Write("net.json", ChainGraph(5, kPlenty).dump());
  const Outcome advice =
      RunJson({"advise", "net.json", "--devices", "2", "--store", "traversal.jsonl"});
  ASSERT_EQ(advice.status, 0) << advice.err;
  const Json advised = advice.json();
  EXPECT_EQ(advised["order"], "reversed-topo");
  EXPECT_EQ(advised["nearest"].size(), 1U);
  EXPECT_THAT(advised["confidence"].get<std::string>(), testing::StartsWith("low"));
  // What it has no runs of, it takes from the nearest number of devices that it has.
  EXPECT_EQ(RunJson({"advise", "net.json", "--devices", "8", "--store", "traversal.jsonl"})
                .json()["studied_devices"],
            3);
  Write("none.jsonl", "");
  const Outcome empty = Run({"advise", "net.json", "--store", "none.jsonl"});
  EXPECT_EQ(empty.status, 3);
  EXPECT_THAT(empty.err, HasSubstr("none.jsonl"));
  EXPECT_EQ(Run({"advise", "net.json", "--episodes", "7"}).status, 2);
  EXPECT_EQ(Run({"bench", "traversal", "--repeats", "7", "--no-runs"}).status, 2);
  Write("traversal.jsonl", lines + "{}\n");
  const Outcome broken = RunJson({"bench", "traversal", "--no-runs"});
  EXPECT_EQ(broken.status, 3);
  EXPECT_THAT(broken.json()["error"]["place"], HasSubstr("line 7"));
}

TEST_F(BenchCommand, MeasuresTheSimulator) {
  const Outcome run =
      RunJson({"bench", "simulator", "--placement", "random", "--repeat", "3", "--ops", "400"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json result = run.json();
  EXPECT_EQ(result["schema"], "placewright.bench-simulator/1");
  EXPECT_EQ(result["ops"], 400);
  EXPECT_FALSE(result.contains("contiguous_ops_per_second"));
  for (const char* field :
       {"random_ops_per_second", "median_ops_per_second", "plain_pass_ops_per_second",
        "plain_pass_ratio", "incremental_median_ratio", "incremental_last_tenth_ratio"}) {
    EXPECT_GT(result[field].get<double>(), 0) << field;
  }
  const Json alone = RunJson({"bench", "simulator", "--ops", "1", "--devices", "1"}).json();
  EXPECT_GT(alone["contiguous_ops_per_second"].get<double>(), 0);
  EXPECT_TRUE(alone["incremental_median_ratio"].is_null());
}

TEST_F(ClusterCommand, ShowsPresetsAndChecksFiles) {
  const Json all = RunJson({"cluster", "show"}).json();
  std::vector<std::string> names;
  for (const Json& preset : all["presets"]) names.push_back(preset["name"]);
  EXPECT_THAT(names, testing::IsSupersetOf({"4xP100", "4xP100-tf", "8xP100", "4xP100-16GB",
                                            "2xP100-16GB", "tag-testbed", "tag-testbed-measured",
                                            "tag-two-1080ti-measured", "tag-cloud", "2xV100",
                                            "dgx-a100", "mixed-lab"}));
  EXPECT_EQ(RunJson({"cluster", "show", "4xP100"}).json()["schema"], "placewright.cluster-show/1");
  EXPECT_THAT(Run({"cluster", "show", "4xP100"}).out, HasSubstr("host0/gpu3"));
  EXPECT_EQ(RunJson({"cluster", "check", "dgx-a100"}).json()["ok"], true);
  EXPECT_THAT(Run({"cluster", "show", "4xP100+one-communicator"}).out,
              HasSubstr("collectives run one after another"));
  const Outcome typo = Run({"cluster", "show", "4xP10"});
  EXPECT_EQ(typo.status, 3);
  EXPECT_THAT(typo.err, HasSubstr("did you mean 4xP100"));
}

}  // namespace
}  // namespace placewright
