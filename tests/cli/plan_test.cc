// `plan`: what it prints and writes, and what it leaves alone.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <random>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

using PlanCommand = ProgramTest;

TEST_F(PlanCommand, JsonHasEveryFieldWithItsType) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "50", "--seed", "7"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json plan = run.json();
  EXPECT_EQ(plan["schema"], "placewright.plan-result/1");
  EXPECT_EQ(plan["feasible"], true);
  EXPECT_TRUE(plan["algorithm"].is_string());
  EXPECT_NE(plan["algorithm"], "auto");
  EXPECT_EQ(plan["objective"], "step-time");
  // One device, nothing moved: four ops of 100 ns, and no chain can be faster.
  EXPECT_EQ(plan["step_time_ns"], 400);
  EXPECT_EQ(plan["lower_bound_ns"], 400);
  EXPECT_EQ(plan["gap"], 0.0);
  ASSERT_EQ(plan["devices"].size(), 2u);
  int64_t ops = 0;
  for (const Json& device : plan["devices"]) {
    EXPECT_TRUE(device["name"].is_string());
    EXPECT_TRUE(device["kind"].is_string());
    EXPECT_GE(device["busy"].get<double>(), 0);
    EXPECT_LE(device["busy"].get<double>(), 1);
    EXPECT_TRUE(device["peak_memory_bytes"].is_number_integer());
    EXPECT_EQ(device["capacity_bytes"], kPlenty);
    // All ops lie on one device, which is never idle; the other always is, but not for transfers.
    EXPECT_EQ(device["idle_ns"], device["ops"] == 4 ? 0 : 400);
    EXPECT_EQ(device["idle_before_transfers_ns"], 0);
    ops += device["ops"].get<int64_t>();
  }
  EXPECT_EQ(ops, 4);
  ASSERT_GE(plan["baselines"].size(), 7u);
  for (const Json& baseline : plan["baselines"]) {
    EXPECT_TRUE(baseline["algorithm"].is_string());
    EXPECT_TRUE(baseline["feasible"].is_boolean());
    EXPECT_TRUE(!baseline["feasible"] || baseline["step_time_ns"] >= 400) << baseline;
  }
  EXPECT_EQ(plan["cost_sources"]["given"], 1.0);
  EXPECT_EQ(plan["cost_sources"]["measured"], 0.0);
  EXPECT_EQ(plan["cost_sources"]["modelled"], 0.0);
  EXPECT_EQ(plan["seed"], 7);
  EXPECT_TRUE(plan["iterations"].is_number_integer());
  EXPECT_GT(plan["seconds"].get<double>(), 0);
  EXPECT_TRUE(plan["first_feasible_seconds"].is_number());
  EXPECT_GT(plan["peak_rss_bytes"].get<int64_t>(), 1 << 20);
  EXPECT_EQ(plan["plan_file"], "net.plan.json");
  EXPECT_THAT(run.err, IsEmpty());
}

TEST_F(PlanCommand, WritesIntoTheCallersFolderAndTheCheckerAgrees) {
  Write("models/net.json", ChainGraph(4, kPlenty).dump());
  const Outcome run = Run({"plan", "models/net.json", "--iterations", "10"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(Exists("net.plan.json"));
  EXPECT_TRUE(Exists("net.plan.costs.json"));
  EXPECT_TRUE(Exists("net.plan.schedule.json"));
  EXPECT_FALSE(Exists("models/net.plan.json"));
  EXPECT_THAT(run.out, HasSubstr("plan written to net.plan.json"));
  EXPECT_THAT(run.out, HasSubstr("idle: "));  // a chain gains nothing from a second device
  EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0);
  const Outcome check = RunJson({"check", "net.plan.json"});
  EXPECT_EQ(check.json()["ok"], true);
  EXPECT_EQ(RunJson({"simulate", "net.plan.json"}).json()["step_time_ns"], 400);
}

// What may differ between two runs with one seed: times of the search, and what depends on them.
Json WithoutTimes(Json plan) {
  plan.erase("seconds");
  plan.erase("first_feasible_seconds");
  plan.erase("digest");
  for (Json& point : plan["history"]) point.erase("seconds");
  return plan;
}

TEST_F(PlanCommand, SameSeedAndIterationsGiveTheSamePlanForAnyThreads) {
  Write("net.json", BroadGraph(6, 5, 24000).dump());
  const std::vector<std::string> line = {"plan", "net.json", "--iterations", "400", "--seed", "3"};
  std::vector<std::string> first;
  for (const char* threads : {"1", "2", "2"}) {
    std::vector<std::string> words = line;
    words.insert(words.end(), {"--threads", threads});
    ASSERT_EQ(Run(words).status, 0);
    const std::vector<std::string> files = {WithoutTimes(Json::parse(Read("net.plan.json"))).dump(),
                                            Read("net.plan.costs.json"),
                                            Read("net.plan.schedule.json")};
    if (first.empty()) first = files;
    EXPECT_EQ(files, first) << threads << " threads";
  }
}

// Recorded steps run in the order of the program, other graphs first come, first served; every plan says which.
TEST_F(PlanCommand, TheOrderIsThatOfTheGraphUnlessItIsGiven) {
  const std::string recorded = PLACEWRIGHT_SOURCE_DIR "/examples/tiny_transformer_adam.json.gz";
  Write("net.json", ChainGraph(4, kPlenty).dump());
  const auto order_of = [&](const std::string& graph, std::vector<std::string> more) {
    std::vector<std::string> words = {"plan", graph, "--algo", "layered", "-o", "o.plan.json"};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(Run(words).status, 0);
    EXPECT_EQ(Run({"check", "o.plan.json"}).status, 0);
    return Json::parse(Read("o.plan.json"))["order"];
  };
  EXPECT_EQ(order_of(recorded, {"-c", "4xP100"}), "program");
  EXPECT_EQ(order_of(recorded, {"-c", "4xP100", "--order", "fifo"}), "fifo");
  EXPECT_EQ(order_of("net.json", {}), "fifo");
  EXPECT_EQ(order_of("net.json", {"--order", "program"}), "program");
}

// A cost graph may list ops in any order; as a program it then cannot run.
TEST_F(PlanCommand, AnOrderThatCannotRunIsRefused) {
  Json net = ChainGraph(4, kPlenty);
  std::reverse(net["ops"].begin(), net["ops"].end());
  Write("net.json", net.dump());
  EXPECT_EQ(Run({"plan", "net.json", "--iterations", "10"}).status, 0);
  for (const std::string command : {"plan", "compare"}) {
    const Outcome refused =
        RunJson({command, "net.json", "--order", "program", "--iterations", "10"});
    EXPECT_EQ(refused.status, 3);
    EXPECT_EQ(refused.json()["error"]["code"], "graph-order") << refused.out;
  }
}

// With more than one, baselines of layouts are made beside the first placements.
TEST_F(PlanCommand, LayoutsAreTheSameForAnyThreads) {
  const std::string graph = PLACEWRIGHT_SOURCE_DIR "/examples/tiny_transformer_adam.json.gz";
  std::vector<std::string> first;
  for (const char* threads : {"1", "2", "2"}) {
    ASSERT_EQ(Run({"plan", graph, "-c", "4xP100", "--order", "fifo", "--iterations", "3000",
                   "--threads", threads, "-o", "net.plan.json"})
                  .status,
              0);
    const Json plan = Json::parse(Read("net.plan.json"));
    EXPECT_EQ(plan["space"], "replicated");
    const std::vector<std::string> files = {WithoutTimes(plan).dump(), plan["baselines"].dump(),
                                            Read("net.plan.costs.json"),
                                            Read("net.plan.schedule.json")};
    if (first.empty()) first = files;
    EXPECT_EQ(files, first) << threads << " threads";
  }
}

TEST_F(PlanCommand, AutoIsNeverWorseThanItsBaselines) {
  Write("net.json", BroadGraph(6, 5, 24000).dump());
  const Json plan = RunJson({"plan", "net.json", "--iterations", "200"}).json();
  for (const Json& baseline : plan["baselines"]) {
    if (!baseline["feasible"]) continue;
    EXPECT_LE(plan["step_time_ns"].get<int64_t>(), baseline["step_time_ns"].get<int64_t>())
        << baseline;
  }
  EXPECT_LE(plan["lower_bound_ns"].get<int64_t>(), plan["step_time_ns"].get<int64_t>());
}

TEST_F(PlanCommand, EveryAlgorithmHasAName) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  for (const char* name : {"single", "random", "round-robin", "layered", "m-etf", "m-topo", "heft",
                           "local-search", "auto"}) {
    const Outcome run = RunJson({"plan", "net.json", "--algo", name, "--iterations", "20"});
    ASSERT_EQ(run.status, 0) << name << run.err;
    EXPECT_TRUE(run.json()["algorithm"] == name || std::string(name) == "auto") << run.out;
  }
}

// A thousand ops that read ten of the forty before them: too much for the linear program.
TEST_F(PlanCommand, WhatPlannersHaveToSayIsInTheJsonToo) {
  Json graph = ChainGraph(0, kPlenty);
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    Json inputs = Json::array();
    for (int k = 0; k < 10 && i > 0; ++k) {
      const int back = 1 + static_cast<int>(random() % static_cast<unsigned>(std::min(i, 40)));
      inputs.push_back("t" + std::to_string(i - back));
    }
    const std::string n = std::to_string(i);
    const int time = 1 + static_cast<int>(random() % 1000);
    graph["tensors"].push_back({{"name", "t" + n}, {"bytes", 1 + random() % 500}});
    graph["ops"].push_back(
        {{"name", "o" + n}, {"time_ns", {time, time}}, {"inputs", inputs}, {"outputs", {"t" + n}}});
  }
  Write("net.json", graph.dump());
  const Outcome run = RunJson({"plan", "net.json", "--algo", "m-sct", "--quiet"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  const Json notes = run.json()["notes"];
  ASSERT_EQ(notes.size(), 1u) << notes;
  // By iterations, or, where much else runs, by time.
  EXPECT_THAT(notes[0].get<std::string>(), MatchesRegex("m-sct: the linear program .*iterations.*; "
                                                        "the heaviest edges took its place"));
}

TEST_F(PlanCommand, PinsForbidsAndInitAreObeyed) {
  Json graph = ChainGraph(4, kPlenty);
  Write("net.json", graph.dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "20", "--forbid", "*=d0"}).status, 0);
  Json placement = Json::parse(Read("net.plan.json"))["placement"];
  for (const auto& [op, device] : placement.items()) EXPECT_EQ(device, "d1") << op;

  ASSERT_EQ(Run({"plan", "net.json", "--algo", "local-search", "--iterations", "0", "--init",
                 "net.plan.json", "-o", "second.json"})
                .status,
            0);
  EXPECT_EQ(Json::parse(Read("second.json"))["placement"], placement);

  const Outcome nowhere = Run({"plan", "net.json", "--pin", "*=d7"});
  EXPECT_EQ(nowhere.status, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("d7"));
  const Outcome nothing = RunJson({"plan", "net.json", "--pin", "encoder.*=d0"});
  EXPECT_EQ(nothing.status, 3);
  EXPECT_EQ(nothing.json()["error"]["code"], "constraint");
}

TEST_F(PlanCommand, ReportsToPeopleWithoutANoteOnStandardError) {
  Write("net.json", BroadGraph(4, 4, kPlenty).dump());
  const Outcome run = Run({"plan", "net.json", "--time", "300ms"});
  ASSERT_EQ(run.status, 0);
  EXPECT_THAT(run.err, IsEmpty());
  for (const char* word : {"step time", "bound", "busy", "memory", "baseline", "100.0% given",
                           "why it is not faster", "is fullest at", "round-robin"}) {
    EXPECT_THAT(run.out, HasSubstr(word));
  }
}

TEST_F(PlanCommand, ProgressOnlyOnATerminal) {
  Write("net.json", BroadGraph(6, 8, kPlenty).dump());
  RunOptions terminal;
  terminal.terminal = true;
  EXPECT_THAT(Run({"plan", "net.json", "--time", "1500ms"}, terminal).out,
              HasSubstr("moves  best"));
  EXPECT_THAT(Run({"plan", "net.json", "--time", "1500ms", "--quiet"}, terminal).out,
              Not(HasSubstr("moves  best")));
}

TEST_F(PlanCommand, CtrlCWritesTheBestPlanSoFar) {
  Write("net.json", BroadGraph(8, 12, 100000).dump());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    RunOptions options;
    options.signal = signal;
    options.signal_after = 1;
    const Outcome run = RunJson({"plan", "net.json", "--time", "100s"}, options);
    EXPECT_EQ(run.status, 130);
    const Json plan = run.json();
    EXPECT_EQ(plan["interrupted"], true);
    EXPECT_EQ(plan["feasible"], true);
    EXPECT_EQ(plan["error"]["code"], "interrupted");
    EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0);
  }
}

// As `timeout` signals: the process, then its group.
TEST_F(PlanCommand, RepeatedSignalsLoseNoPlan) {
  Write("net.json", BroadGraph(8, 30, kPlenty).dump());
  RunOptions options;
  options.signal = SIGTERM;
  options.signal_after = 1;
  options.signal_count = 3;
  const Outcome run = RunJson({"plan", "net.json", "--time", "100s"}, options);
  EXPECT_EQ(run.status, 130);
  EXPECT_EQ(run.json()["error"]["code"], "interrupted");
  EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0);
}

TEST_F(PlanCommand, ReaderThatWentAwayLosesNoPlan) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  RunOptions options;
  options.close_output = true;
  EXPECT_EQ(Run({"plan", "net.json", "--iterations", "5"}, options).status, 0);
  EXPECT_EQ(Run({"check", "net.plan.json"}).status, 0);
}

TEST_F(PlanCommand, DrawsPictures) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  ASSERT_EQ(
      Run({"plan", "net.json", "--iterations", "5", "--svg", "a.svg", "--html", "a.html"}).status,
      0);
  EXPECT_THAT(Read("a.svg"), testing::StartsWith("<svg"));
  EXPECT_THAT(Read("a.html"), HasSubstr("</html>"));
  EXPECT_THAT(Read("a.html"), HasSubstr("Where the time and the memory go"));
}

TEST_F(PlanCommand, UnwritableOutputIsFoundBeforeTheSearch) {
  Write("net.json", "no graph: even reading it would be an error");
  Write("folder/file", "");
  for (const char* path : {"no-such-folder/x.json", "folder", "/proc/x.json", "/dev/full"}) {
    const Outcome run = RunJson({"plan", "net.json", "-o", path});
    EXPECT_EQ(run.status, 3) << path;
    EXPECT_EQ(run.json()["error"]["code"], "file-unwritable") << path;
    EXPECT_THAT(run.json()["error"]["file"], HasSubstr(path)) << path;
  }
  Write("net.json", ChainGraph(4, kPlenty).dump());
  const Outcome over_itself = Run({"plan", "net.json", "-o", "net.json"});
  EXPECT_EQ(over_itself.status, 2);
  EXPECT_EQ(Read("net.json"), ChainGraph(4, kPlenty).dump());
}

TEST_F(PlanCommand, DashIsNoOutputFile) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  for (const char* option : {"-o", "--svg", "--html"}) {
    const Outcome run = RunJson({"plan", "net.json", "--time", "60s", option, "-"});
    EXPECT_EQ(run.status, 2) << option;
    EXPECT_EQ(run.json()["error"]["code"], "usage") << option;
    EXPECT_THAT(run.json()["error"]["remedy"].get<std::string>(), HasSubstr("--json")) << option;
    EXPECT_FALSE(Exists("-")) << option;
  }
  EXPECT_EQ(Run({"plan", "net.json", "--iterations", "5", "-o", "./-"}).status, 0);
  EXPECT_TRUE(Exists("-"));
}

TEST_F(PlanCommand, NoOutputReplacesAnInputOrAnotherOutput) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  Write("cluster.yaml", "a cluster");
  Write("own.json", "{}");
  std::filesystem::create_symlink("own.json", folder() / "link.json");
  const std::vector<std::vector<std::string>> lines = {
      {"-o", "net.json"},
      {"-c", "cluster.yaml", "-o", "./cluster.yaml"},
      {"--costs", "own.json", "-o", "own.json"},
      {"--costs", "own.json", "-o", "link.json"},
      {"--costs", "own.json", "--html", "link.json"},
      {"--init", "own.json", "--svg", "own.json"},
      {"--svg", "net.json"},
      {"-o", "h.json", "--html", "h.json"},
      {"-o", "h.json", "--html", "../" + folder().filename().string() + "/h.costs.json"},
      {"-o", "h.json", "--svg", "h.schedule.json"},
      {"--svg", "x", "--html", "./x"}};
  for (const auto& line : lines) {
    std::vector<std::string> words = {"plan", "net.json", "--time", "60s"};
    words.insert(words.end(), line.begin(), line.end());
    const Outcome run = RunJson(words);
    EXPECT_EQ(run.status, 2) << testing::PrintToString(line) << run.out;
    EXPECT_EQ(run.json()["error"]["code"], "usage");
    EXPECT_THAT(run.out, HasSubstr("would overwrite"));
  }
  EXPECT_EQ(Read("net.json"), ChainGraph(4, kPlenty).dump());
  EXPECT_EQ(Read("own.json"), "{}");
  EXPECT_FALSE(Exists("h.json"));
  EXPECT_FALSE(Exists("x"));
  // An override that is named as the plan's costs would be.
  Write("net.plan.costs.json", "{}");
  EXPECT_EQ(Run({"plan", "net.json", "--costs", "net.plan.costs.json"}).status, 2);
  EXPECT_EQ(Read("net.plan.costs.json"), "{}");
}

TEST_F(PlanCommand, ALimitOnFileSizesIsAnErrorAndLeavesNothing) {
  Write("net.json", ChainGraph(200, kPlenty * 16).dump());
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small = {1000, before.rlim_max};  // the program inherits it
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "5"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(run.status, 3) << run.out;
  EXPECT_EQ(run.json()["error"]["code"], "file-unwritable");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder())) ++files;
  EXPECT_EQ(files, 1);  // net.json
}

// The page is the largest of the files: half of what it needs is enough for all others.
TEST_F(PlanCommand, APageThatCannotBeWrittenLeavesThePlan) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--iterations", "5", "--html", "a.html"}).status, 0);
  const size_t page = Read("a.html").size();
  for (const char* file : {"net.plan.json", "net.plan.costs.json", "net.plan.schedule.json"}) {
    ASSERT_LT(Read(file).size(), page / 2);
    std::filesystem::remove(folder() / file);
  }
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small = {page / 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "5", "--html", "a.html"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(run.status, 3) << run.out;
  EXPECT_EQ(run.json()["error"]["file"], "a.html");
  EXPECT_THAT(run.json()["error"]["message"].get<std::string>(),
              HasSubstr("the plan was written to net.plan.json"));
  EXPECT_TRUE(Exists("net.plan.json"));
}

TEST_F(PlanCommand, EarlierOutputIsKeptOnFailure) {
  Write("net.json", ChainGraph(4, 900).dump());
  Write("net.plan.json", "precious");
  EXPECT_EQ(Run({"plan", "net.json", "--iterations", "5"}).status, 4);
  EXPECT_EQ(Read("net.plan.json"), "precious");
  EXPECT_FALSE(Exists("net.plan.costs.json"));
}

TEST_F(PlanCommand, WhatCannotFitIsProvedWithNumbers) {
  // Every parameter takes 1,024 B with the granule; a device has 900.
  Write("net.json", ChainGraph(4, 900).dump());
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "5"});
  EXPECT_EQ(run.status, 4);
  const Json error = run.json()["error"];
  EXPECT_EQ(error["code"], "infeasible");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("900 B"));
  EXPECT_FALSE(error["remedy"].get<std::string>().empty());
}

TEST_F(PlanCommand, CostGraphsRefuseOptionsThatTheyAnswerThemselves) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  for (const std::vector<std::string>& extra :
       {std::vector<std::string>{"-c", "4xP100"}, {"--cost-profile", "tf1"}, {"--batch", "3"}}) {
    std::vector<std::string> words = {"plan", "net.json", "--iterations", "1"};
    words.insert(words.end(), extra.begin(), extra.end());
    const Outcome run = Run(words);
    EXPECT_EQ(run.status, 2) << extra[0] << run.err;
    EXPECT_THAT(run.err, HasSubstr(extra[0]));
  }
}

// tiny models with symbolic sizes: the plan remembers them, so that other commands need no option.
TEST_F(PlanCommand, SymbolicDimensionsAreRemembered) {
  const std::string model = PLACEWRIGHT_SHARED_DATA "/public/onnxruntime/gpt2_megatron.onnx";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  const std::vector<std::string> plan = {"plan",         model, "-c", "2xV100",
                                         "--iterations", "5",   "-o", "p.json"};
  const Outcome open = Run(plan);
  EXPECT_EQ(open.status, 3);
  EXPECT_THAT(open.err, HasSubstr("--batch N, or --dim batch_size=N --dim seq_len=N --dim past"));
  EXPECT_FALSE(Exists("p.json"));

  std::vector<std::string> sized = plan;
  for (const char* text : {"--batch", "2", "--dim", "seq_len=8", "--dim", "past_seq_len=56"}) {
    sized.emplace_back(text);
  }
  const Outcome made = RunJson(sized);
  ASSERT_EQ(made.status, 0) << made.out;
  EXPECT_TRUE(made.json()["assumed_shapes"].is_array());
  const Json file = Json::parse(Read("p.json"));
  EXPECT_EQ(file["graph"]["batch_option"], 2);
  EXPECT_EQ(file["graph"]["dimensions"], (Json{{"past_seq_len", 56}, {"seq_len", 8}}));
  EXPECT_EQ(Run({"check", "p.json"}).status, 0);
  EXPECT_EQ(RunJson({"simulate", "p.json"}).json()["step_time_ns"], file["step_time_ns"]);
  EXPECT_EQ(Run({"simulate", "p.json", "--dim", "seq_len=8"}).status, 2);
  EXPECT_EQ(Run({"compare", "p.json", "--batch", "2"}).status, 2);
  Json changed = file;
  changed["graph"]["dimensions"]["seq_len"] = 4;
  Write("changed.json", changed.dump());
  EXPECT_EQ(Run({"check", "changed.json"}).status, 3);
}

TEST_F(PlanCommand, DimensionsThatDoNotExistAreRefused) {
  Write("net.json", ChainGraph(4, kPlenty).dump());
  const Outcome fixed = RunJson({"plan", "net.json", "--dim", "n=4"});
  EXPECT_EQ(fixed.status, 2);
  EXPECT_EQ(fixed.json()["error"]["code"], "usage");
  EXPECT_FALSE(fixed.json()["error"]["remedy"].get<std::string>().empty());
  const std::string model = PLACEWRIGHT_SHARED_DATA "/onnx/resnet50_dynbatch.onnx";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  const Outcome unknown = RunJson({"inspect", model, "--dim", "btch=4"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_EQ(unknown.json()["error"]["code"], "unknown-name");
  EXPECT_THAT(unknown.out, HasSubstr("did you mean batch?"));
}

// 122 ops and 137 edges as the data's index says; 1 for the open batch, and the program says so.
TEST_F(PlanCommand, InspectAssumesOpenDimensionsAloud) {
  const std::string model = PLACEWRIGHT_SHARED_DATA "/onnx/resnet50_dynbatch.onnx";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  const Outcome run = RunJson({"inspect", model});
  ASSERT_EQ(run.status, 0) << run.out;
  EXPECT_EQ(run.json()["ops"], 122);
  EXPECT_EQ(run.json()["edges"], 137);
  EXPECT_EQ(run.json()["assumed_dimensions"], (Json{{"batch", 1}}));
  EXPECT_THAT(run.err, HasSubstr("assumed batch=1; give --batch or --dim for real sizes"));
  EXPECT_THAT(Run({"inspect", model}).out, HasSubstr("assumed batch=1; give"));
  const Outcome sized = RunJson({"inspect", model, "--dim", "batch=4"});
  EXPECT_EQ(sized.json()["assumed_dimensions"], Json::object());
  EXPECT_THAT(sized.err, Not(HasSubstr("assumed")));
}

}  // namespace
}  // namespace placewright
