// What the screen says beside numbers: where layers run, what the bound covers, which baseline is
// meant, what is left out; and that a search can go on.
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kTransformer = PLACEWRIGHT_SOURCE_DIR "/examples/tiny_transformer_adam.json.gz";

class PlanScreen : public ProgramTest {
 protected:
  Outcome Plan(const std::string& cluster, const std::vector<std::string>& more = {},
               const RunOptions& options = {}) {
    std::vector<std::string> line = {"plan",  kTransformer,   "--space", "placed", "-c",
                                     cluster, "--iterations", "50",      "-o",     "p.json"};
    line.insert(line.end(), more.begin(), more.end());
    return Run(line, options);
  }
};

TEST_F(PlanScreen, BeginsWithWhichLayersRunWhere) {
  const Outcome run = Plan("4xP100");
  ASSERT_EQ(run.status, 0) << run.err;
  const size_t headline = run.out.find("step time"), layers = run.out.find("module "),
               devices = run.out.find("device ");
  EXPECT_LT(headline, layers);
  EXPECT_LT(layers, devices);
  const Json plan = Json::parse(Plan("4xP100", {"--json"}).out);
  // The rows sum to the devices of the step.
  int64_t rows = 0, ops = 0;
  for (const Json& row : plan["layers"]) {
    EXPECT_FALSE(row["modules"].empty());
    for (const Json& share : row["devices"]) rows += share["ops"].get<int64_t>();
  }
  for (const Json& device : plan["devices"]) ops += device["ops"].get<int64_t>();
  EXPECT_GT(rows, 0);
  EXPECT_EQ(rows, ops);
  EXPECT_LE(plan["layers"].size(), 24u);
  const Json simulated = Json::parse(Run({"simulate", "p.json", "--json"}).out);
  EXPECT_EQ(simulated["layers"], plan["layers"]);
  // Whole ops have a place, and their parameters nothing to synchronise.
  EXPECT_EQ(simulated["strategy"], plan["strategy"]);
  double time = 0;
  for (const Json& row : plan["strategy"]) {
    time += row["time_share"].get<double>();
    for (const Json& part : row["computed"]) EXPECT_EQ(part["kind"], "placed");
    for (const Json& part : row["synchronised"]) EXPECT_EQ(part["kind"], "none");
  }
  EXPECT_NEAR(time, 1, 1e-9);
  EXPECT_LE(plan["strategy"].size(), 20u);
}

TEST_F(PlanScreen, CostGraphsWithoutModulesHaveNoSuchTable) {
  Write("net.json", ChainGraph(4, 1 << 20).dump());
  const Outcome run = RunJson({"plan", "net.json", "--iterations", "5"});
  EXPECT_EQ(run.json()["layers"], Json::array());
  EXPECT_EQ(run.json()["strategy"], Json::array());
  EXPECT_TRUE(run.json()["samples_per_second"].is_null());  // its batch is not known
  EXPECT_EQ(run.json()["gpu_use"], nullptr);                // its devices are no GPUs
  EXPECT_THAT(Run({"plan", "net.json", "--iterations", "5"}).out, Not(HasSubstr("module")));
}

TEST_F(PlanScreen, SaysWhatTheBoundCoversAndThatGpusIdle) {
  const Outcome run = Plan("4xP100", {"--algo", "single", "--html", "p.html"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json plan = Json::parse(Plan("4xP100", {"--algo", "single", "--json"}).out);
  EXPECT_EQ(plan["bound_scope"], "placements of whole ops");
  ASSERT_TRUE(plan["gpu_use"].is_object());
  EXPECT_EQ(plan["gpu_use"]["gpus"], 4);
  const std::string idle = "does not cover data parallelism, replication or pipelining";
  const std::string page = Read("p.html");
  for (const std::string& text : {run.out, page}) {
    EXPECT_THAT(text, AllOf(HasSubstr(idle), HasSubstr("for placements of whole ops")));
    EXPECT_THAT(text, Not(HasSubstr("less time")));
  }
  EXPECT_THAT(page, AllOf(HasSubstr("<h2>Modules</h2>"), HasSubstr("runs on")));
}

TEST_F(PlanScreen, NamesTheDevicesOfBaselinesAndTheBestOnGpus) {
  const Outcome run = Plan("4xP100");
  EXPECT_THAT(run.out, HasSubstr("the best baseline on GPUs ("));
  const Json plan = Json::parse(Plan("4xP100", {"--json"}).out);
  EXPECT_EQ(plan["best_baseline"]["on_gpus"], true);
  int64_t min = plan["best_baseline"]["step_time_ns"];
  for (const Json& baseline : plan["baselines"]) {
    EXPECT_FALSE(baseline["devices"].empty()) << baseline;
    const bool search = baseline["algorithm"] == "local-search";
    EXPECT_EQ(baseline["search"], search);
    if (!search && baseline["feasible"]) {
      EXPECT_GE(baseline["step_time_ns"], min);
    }
  }
  EXPECT_EQ(plan["devices"][0]["class"], "gpu");
  const Json compared =
      RunJson({"compare", kTransformer, "--space", "placed", "-c", "4xP100", "--iterations", "20"})
          .json();
  EXPECT_EQ(compared["best_baseline"]["algorithm"], plan["best_baseline"]["algorithm"]);
  EXPECT_EQ(compared["plans"][1]["planner"], "single");
  EXPECT_THAT(compared["plans"][1]["devices"], ElementsAre("host0/gpu0"));
  EXPECT_EQ(Run({"check", "p.json"}).status, 0);
}

// Whether a step fits no GPU: then `single` runs on a CPU, and that is said. Two GPUs of 48 KiB
// above their runtime context hold one half of the parameters each.
TEST_F(PlanScreen, ABaselineThatLeavesTheGpusSaysSo) {
  Write("small.yaml", R"(
kinds:
  tiny: {like: P100-12GB, memory: 800 MiB, runtime_context: 799 MiB, reserve: 0}
gpus: 4 x tiny
cpus: 1 x Xeon-E5-2650v4
memory: 16 GiB
interconnect: pcie3
)");
  const Outcome run = Plan("small.yaml");
  ASSERT_EQ(run.status, 0) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("host0/cpu0, no GPU"));
}

TEST_F(PlanScreen, LinesKeepToTheWidthOfTheTerminal) {
  for (const int width : {60, 80, 200}) {
    // A row of modules takes what its devices' names need, which is 60 columns where it names one.
    const std::vector<std::string> more =
        width == 60 ? std::vector<std::string>{"--algo", "single"} : std::vector<std::string>{};
    const Outcome run = Plan("4xP100", more, {.environment = {"COLUMNS=" + std::to_string(width)}});
    ASSERT_EQ(run.status, 0) << run.err;
    std::istringstream lines(run.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), static_cast<size_t>(width)) << line;
    }
  }
}

// Texts of the tables of modules and of strategies are broken where they would be wider, and so is why a strategy is
// none.
TEST_F(PlanScreen, TablesOfSplitPlansKeepToTheWidthOfTheTerminal) {
  const Outcome run =
      Run({"plan", kTransformer, "-c", "8xH100", "--iterations", "20", "-o", "p.json"},
          {.environment = {"COLUMNS=80"}});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nmodule "));
  EXPECT_THAT(run.out, HasSubstr("\nstrategy "));
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(PlanScreen, TimesWithoutTf32AreNamedWhereTheGpuHasIt) {
  const std::string note = "float32 matrix products are timed in FP32 on A100-40GB";
  EXPECT_THAT(Plan("dgx-a100").out, HasSubstr(note));
  EXPECT_THAT(Plan("4xP100").out, Not(HasSubstr("TF32")));
  EXPECT_THAT(Plan("dgx-a100", {"--json"}).out, HasSubstr(note));
  EXPECT_THAT(Run({"compare", kTransformer, "-c", "dgx-a100", "--iterations", "5"}).out,
              HasSubstr(note));
}

TEST_F(PlanScreen, OnnxIsSaidToBeAForwardPassWithTheCommandThatTrains) {
  const std::string model = PLACEWRIGHT_SHARED_DATA "/onnx/resnet50_dynbatch.onnx";
  if (!std::filesystem::exists(model)) GTEST_SKIP() << "no " << model;
  const std::string note = "holds a forward pass only";
  const std::string command =
      "placewright capture " + model +
      " --train adam --loss cross-entropy -o resnet50_dynbatch.step.json.gz";
  const std::vector<std::string> more = {"--batch", "2"};
  for (std::vector<std::string> line : std::vector<std::vector<std::string>>{
           {"plan", model, "-c", "2xV100", "--iterations", "5"},
           {"inspect", model},
           {"compare", model, "-c", "2xV100", "--iterations", "5"}}) {
    line.insert(line.end(), more.begin(), more.end());
    EXPECT_THAT(Run(line).out, AllOf(HasSubstr(note), HasSubstr(command))) << line[0];
    EXPECT_THAT(RunJson(line).json()["notes"].dump(), HasSubstr(note)) << line[0];
  }
  // As a shell takes it: a name with a space, a compressed file, and none for standard input.
  std::filesystem::copy_file(model, folder() / "my net.onnx.gz");
  EXPECT_THAT(Run({"inspect", "my net.onnx.gz", "--batch", "2"}).out,
              HasSubstr("capture 'my net.onnx.gz' --train adam --loss cross-entropy -o 'my "
                        "net.step.json.gz'`"));
#ifdef PLACEWRIGHT_HAS_TORCH
  // The command holds as it is printed.
  ASSERT_EQ(Run({"capture", model, "--train", "adam", "--loss", "cross-entropy", "-o",
                 "resnet50_dynbatch.step.json.gz", "--batch", "2"})
                .status,
            0);
  const Outcome trained = RunJson({"inspect", "resnet50_dynbatch.step.json.gz"});
  EXPECT_GT(trained.json()["phases"]["backward"], 0);
  EXPECT_THAT(trained.json()["notes"].dump(), Not(HasSubstr(note)));
#endif
}

TEST_F(PlanScreen, GroupsNameTheDeviceOfTheirTimes) {
  const std::vector<std::string> line = {"inspect", kTransformer, "--groups", "acyclic"};
  EXPECT_THAT(Run(line).out, HasSubstr("times: modelled on one A100-40GB"));
  EXPECT_EQ(RunJson(line).json()["times_of"], "A100-40GB");
  Write("net.json", ChainGraph(4, 1 << 20).dump());
  EXPECT_EQ(RunJson({"inspect", "net.json", "--groups", "acyclic"}).json()["times_of"], "file");
}

// Names are suggested by their ends, and words that are no slips are not.
TEST_F(PlanScreen, NearNamesAreSensible) {
  EXPECT_THAT(Plan("4xP100", {"--pin", "*=gpu0"}).err, HasSubstr("did you mean host0/gpu0?"));
  EXPECT_THAT(Plan("4xP100", {"--forbid", "*=host0/gpu9"}).err, HasSubstr("host0/gpu0"));
  const Outcome best = Plan("4xP100", {"--algo", "best"});
  EXPECT_EQ(best.status, 2);
  EXPECT_THAT(best.err, AllOf(Not(HasSubstr("did you mean")), HasSubstr("auto keeps the best")));
}

#ifdef PLACEWRIGHT_HAS_TORCH

// What Ctrl-C advises: the same command with --init. The recorded step is made again, to the same
// bytes, and may lie where the plan that is continued has it.
TEST_F(PlanScreen, AModelsSearchGoesOn) {
  const std::vector<std::string> first = {"plan", "mlp", "-c", "2xV100", "--iterations", "20"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> line = first;
    line.insert(line.end(), more.begin(), more.end());
    return Run(line);
  };
  ASSERT_EQ(with({}).status, 0);
  const std::string step = Read("mlp.step.json.gz");
  const Outcome again = with({"--init", "mlp.plan.json"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, Not(HasSubstr("was made for")));
  EXPECT_EQ(Read("mlp.step.json.gz"), step);
  const Outcome beside = with({"--init", "mlp.plan.json", "-o", "second.plan.json"});
  EXPECT_EQ(beside.status, 0) << beside.err;
  const Outcome elsewhere = with({"--init", "mlp.plan.json", "-o", "mlp.json"});
  EXPECT_EQ(elsewhere.status, 0) << elsewhere.err;
  for (const char* plan : {"mlp.plan.json", "second.plan.json", "mlp.json"}) {
    EXPECT_EQ(Run({"check", plan}).status, 0) << plan;
  }
  // With another batch, from a plan of that batch, and as an expert's placement.
  ASSERT_EQ(with({"--batch", "8"}).status, 0);
  EXPECT_EQ(with({"--batch", "8", "--init", "mlp.plan.json"}).status, 0);
  EXPECT_EQ(with({"--batch", "8", "--expert", "mlp.plan.json", "-o", "e.json"}).status, 0);
  EXPECT_EQ(Run({"check", "mlp.plan.json"}).status, 0);
  // No other output may be that step, and a step that became another is not replaced.
  EXPECT_EQ(
      with({"--batch", "8", "--init", "mlp.plan.json", "--svg", "mlp-batch8.step.json.gz"}).status,
      2);
  Write("mlp-batch8.step.json.gz", "changed");
  const Outcome changed = with({"--batch", "8", "--init", "mlp.plan.json", "-o", "f.json"});
  EXPECT_EQ(changed.status, 2);
  EXPECT_THAT(changed.err, HasSubstr("belongs to a plan that this command reads"));
  EXPECT_EQ(Read("mlp-batch8.step.json.gz"), "changed");
}

TEST_F(PlanScreen, APlanOfAnotherModelIsNamed) {
  ASSERT_EQ(Run({"plan", "mlp", "-c", "2xV100", "--iterations", "5"}).status, 0);
  const Outcome run =
      Run({"plan", "resnet-50", "-c", "2xV100", "--iterations", "5", "--init", "mlp.plan.json"});
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, HasSubstr("this is a plan of mlp on 2xV100, not of resnet-50 on 2xV100"));
}

#endif  // PLACEWRIGHT_HAS_TORCH

}  // namespace
}  // namespace placewright
