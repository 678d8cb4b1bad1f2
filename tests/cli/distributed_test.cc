// Plans that split or copy ops, end to end.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

class Distributed : public RecordedMlp {
 protected:
  void SetUp() override {
    RecordedMlp::SetUp();
    if (IsSkipped()) return;
    Write("even.json",
          R"({"layouts": [{"groups": "*", "axis": "batch", "devices": ["cpu0", "cpu1"]}]})");
  }

  // The error of a file of layouts.
  std::string ErrorOf(const std::string& layouts) {
    Write("layouts.json", layouts);
    const Outcome run =
        Run({"simulate", "mlp.json.gz", "-c", "two.yaml", "--layouts", "layouts.json"});
    EXPECT_EQ(run.status, 3) << run.out;
    return run.err;
  }
};

// Adam's powers of beta lie with one device, what all updates make of them is on both, and the other device updates one
// parameter alone: the plan's files are read as they were written, and hold.
TEST_F(Distributed, OneUpdateMayLieApartFromAllOthers) {
  std::map<std::string, int> group_of;
  const Json inspected = RunJson({"inspect", "mlp.json.gz", "--axes"}).json();
  for (const Json& op : inspected["ops"]) group_of[op["name"]] = op["group"];
  Json layouts = Json::parse(R"([{"groups": "*", "option": "place", "devices": ["cpu0"]}])");
  layouts.push_back(
      {{"groups", group_of.at("addcdiv_")}, {"option", "place"}, {"devices", {"cpu1"}}});
  for (const char* const shared : {"rsub", "rsub_1", "sqrt", "div", "mul_2"}) {
    layouts.push_back(
        {{"groups", group_of.at(shared)}, {"option", "duplicate"}, {"devices", {"cpu0", "cpu1"}}});
  }
  Write("apart.json", Json{{"layouts", layouts}}.dump());
  const Outcome planned = Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--layouts", "apart.json",
                               "-o", "apart.plan.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  const Outcome checked = Run({"check", "apart.plan.json", "--run"});
  EXPECT_EQ(checked.status, 0) << checked.err;
}

// Heads of queries in groups that share keys and values, attention op by op: the groups are what is split.
TEST_F(Distributed, GroupsOfHeadsAreSplitByTensorParallelism) {
  ASSERT_EQ(Run({"capture", "llama-3-8b",    "--batch", "4",
                 "--param", "layers=1",      "--param", "hidden=64",
                 "--param", "heads=8",       "--param", "key_heads=4",
                 "--param", "head_width=8",  "--param", "inner=64",
                 "--param", "vocabulary=64", "--param", "sequence=16",
                 "-o",      "llama.json.gz"})
                .status,
            0);
  const Outcome planned = Run({"plan", "llama.json.gz", "-c", "4xP100", "--algo", "tensor", "--set",
                               "tensor=4", "-o", "tensor.plan.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_EQ(Run({"check", "tensor.plan.json"}).status, 0);
}

// The same step, whether it comes from a planner, from layouts by hand, or from the plan's files.
TEST_F(Distributed, PlanSimulateAndCompareAgree) {
  const Outcome planned = RunJson(
      {"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "data-parallel", "-o", "dp.plan.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  const Json plan = planned.json();
  EXPECT_EQ(plan["space"], "replicated");
  EXPECT_EQ(plan["bound_space"], "replicated");
  EXPECT_EQ(plan["bound_scope"], "plans that may split or copy ops");
  EXPECT_GT(plan["lower_bound_ns"], 0);
  EXPECT_LE(plan["lower_bound_ns"], plan["step_time_ns"]);
  EXPECT_FALSE(plan["bound_argument"].get<std::string>().empty());
  EXPECT_DOUBLE_EQ(plan["gap"].get<double>(),
                   1 - plan["lower_bound_ns"].get<double>() / plan["step_time_ns"].get<double>());
  EXPECT_EQ(plan["layouts"],
            Json::parse(R"([{"groups": "*", "axis": "batch", "option": "all-reduce", "devices":
              [{"name": "cpu0", "from": 0, "to": 4}, {"name": "cpu1", "from": 4, "to": 8}]}])"));
  EXPECT_DOUBLE_EQ(plan["samples_per_second"].get<double>(),
                   8e9 / plan["step_time_ns"].get<double>());
  // Gradients of two layers with weights and biases.
  int64_t reduced = 0;
  for (const Json& use : plan["communication"]) {
    EXPECT_EQ(use["kind"], "all-reduce");
    reduced += use["count"].get<int64_t>();
  }
  EXPECT_GE(reduced, 4);
  EXPECT_GT(plan["communication_ns"], 0);
  EXPECT_LE(plan["communication_ns"], plan["step_time_ns"]);
  EXPECT_LE(plan["exposed_communication_ns"], plan["communication_ns"]);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"simulate", "dp.plan.json"},
        std::vector<std::string>{"simulate", "mlp.json.gz", "-c", "two.yaml", "--layouts",
                                 "even.json"},
        std::vector<std::string>{"simulate", "mlp.json.gz", "-c", "two.yaml", "--layouts",
                                 "dp.plan.json"}}) {
    const Json simulated = RunJson(arguments).json();
    EXPECT_EQ(simulated["step_time_ns"], plan["step_time_ns"]) << arguments[1];
    EXPECT_EQ(simulated["layouts"], plan["layouts"]);
    EXPECT_EQ(simulated["communication"], plan["communication"]);
    EXPECT_EQ(simulated["communication_ns"], plan["communication_ns"]);
    EXPECT_EQ(simulated["exposed_communication_ns"], plan["exposed_communication_ns"]);
    EXPECT_EQ(simulated["devices"], plan["devices"]);
  }
  const Json compared = RunJson({"compare", "mlp.json.gz", "-c", "two.yaml", "--iterations", "1",
                                 "--space", "replicated", "--layouts", "even.json"})
                            .json();
  int rows = 0;
  for (const Json& row : compared["plans"]) {
    if (row["planner"] != "data-parallel" && row["planner"] != "layouts") continue;
    EXPECT_EQ(row["step_time_ns"], plan["step_time_ns"]);
    EXPECT_EQ(row["space"], "replicated");
    EXPECT_EQ(row["lower_bound_ns"], plan["lower_bound_ns"]);
    EXPECT_EQ(row["gap"], plan["gap"]);
    ++rows;
  }
  EXPECT_EQ(rows, 2);
}

// A placement that is found where ops may be split has the bound of placements; a note says the other one.
TEST_F(Distributed, PlacementsNoteTheBoundOfOtherPlans) {
  const Outcome planned = RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "single",
                                   "--space", "replicated", "-o", "one.plan.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  const Json plan = planned.json();
  EXPECT_EQ(plan["space"], "placed");
  EXPECT_EQ(plan["bound_space"], "placed");
  EXPECT_THAT(plan["notes"].dump(),
              HasSubstr("below this is possible for plans that may split or copy ops"));
}

// Parameters of some KiB on two devices of 1 KiB: nothing fits, however it is split.
TEST_F(Distributed, ProvesThatNothingFitsInParts) {
  std::string small = kWorkers;
  small.replace(small.find("1 GiB"), 5, "1 KiB");
  Write("small.yaml", small);
  const Outcome planned = Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--space", "replicated"});
  EXPECT_EQ(planned.status, 4) << planned.out;
  EXPECT_THAT(planned.err, HasSubstr("however they are split"));
  EXPECT_THAT(planned.err, HasSubstr("more is needed on these devices"));
}

// What the step's modules do, from the plan's own search and from its files: one row of split layers with
// summed gradients, which sum up to all parameters.
TEST_F(Distributed, SaysHowEachModuleIsDistributed) {
  const Outcome planned =
      RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "horovod", "-o", "h.plan.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  const Json strategy = planned.json()["strategy"];
  ASSERT_FALSE(strategy.empty());
  EXPECT_EQ(RunJson({"simulate", "h.plan.json"}).json()["strategy"], strategy);
  double share = 0;
  int64_t reduced = 0, parameters = 0;
  for (const Json& row : strategy) {
    share += row["time_share"].get<double>();
    parameters += row["parameter_bytes"].get<int64_t>();
    for (const Json& part : row["synchronised"]) {
      EXPECT_EQ(part["kind"], "all-reduce") << row;
      EXPECT_TRUE(part["in_buckets"].get<bool>());
      EXPECT_EQ(part["devices"], Json::parse(R"(["cpu0", "cpu1"])"));
      reduced += part["bytes"].get<int64_t>();
    }
  }
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(reduced, parameters);
  EXPECT_GT(parameters, 0);
  const Json hidden = strategy[0]["computed"][0];
  EXPECT_EQ(hidden["kind"], "split");
  EXPECT_EQ(hidden["axis"], "batch");
  EXPECT_EQ(hidden["devices"],
            Json::parse(R"([{"name": "cpu0", "share": 4}, {"name": "cpu1", "share": 4}])"));
  const Outcome shown = Run({"simulate", "h.plan.json"});
  EXPECT_THAT(shown.out, HasSubstr("split by batch (4 each)"));
  EXPECT_THAT(shown.out, HasSubstr("all-reduce in buckets of 64.0 MiB"));
  EXPECT_THAT(shown.out, HasSubstr(" samples/s (batch 8)"));
}

// Two processors, an all-reduce of all gradients at once: 1 us and 1 us a byte, whatever their link takes. It begins when
// the last gradient is there, so that little is computed meanwhile. Others are of the loss.
TEST_F(Distributed, CollectivesTakeWhatTheClusterStates) {
  Write("stated.yaml", std::string(kWorkers) +
                           "collectives:\n  one_communicator: true\n  measured_at: 10 GB/s\n"
                           "  lines: [{latency: 1 us, bandwidth: 1 MB/s}]\n");
  const auto plan = [&](const char* algorithm) {
    return RunJson({"plan", "mlp.json.gz", "-c", "stated.yaml", "--algo", algorithm, "-o",
                    "s.plan.json"})
        .json();
  };
  const Json early = plan("data-parallel"), late = plan("data-parallel-late");
  const Json reduced = late["communication"][0];
  EXPECT_EQ(reduced["kind"], "all-reduce");
  EXPECT_EQ(reduced["algorithm"], "stated");
  EXPECT_LT(reduced["count"], early["communication"][0]["count"]);
  EXPECT_EQ(reduced["bytes"], early["communication"][0]["bytes"]);
  EXPECT_EQ(reduced["time_ns"].get<int64_t>(),
            1000 * reduced["count"].get<int64_t>() + 1000 * reduced["bytes"].get<int64_t>());
  // But for what the update computes of its own state.
  const auto hidden = [](const Json& of) {
    return of["communication_ns"].get<int64_t>() - of["exposed_communication_ns"].get<int64_t>();
  };
  EXPECT_GT(hidden(early), hidden(late));
  EXPECT_EQ(RunJson({"simulate", "s.plan.json"}).json()["communication"], late["communication"]);
  EXPECT_THAT(Run({"simulate", "s.plan.json"}).out, HasSubstr("all-reduce of all together"));
  const Outcome checked = Run({"check", "s.plan.json"});
  EXPECT_EQ(checked.status, 0) << checked.err;
}

TEST_F(Distributed, NamesParameterServers) {
  const Json plan =
      RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "data-parallel-ps"}).json();
  for (const Json& row : plan["strategy"]) {
    for (const Json& part : row["synchronised"]) EXPECT_EQ(part["kind"], "parameter-server") << row;
  }
}

// A step without batch norms stays that of one device, whatever its batch norms were to be.
TEST_F(Distributed, LocalBatchNormsAreThoseThatThereAre) {
  const Outcome planned =
      RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "data-parallel", "--batch-norm",
               "local", "-o", "local.plan.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_EQ(planned.json()["batch_norm"], "synchronised");
  EXPECT_EQ(Run({"check", "local.plan.json", "--run"}).status, 0);
}

// The step is that of one device, and no slower than with synchronised gradients.
TEST_F(Distributed, RecomputesGradientsFromFactors) {
  const auto plan = [&](const std::string& mode) {
    return RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "data-parallel", "--sfb",
                    mode, "-o", mode + ".plan.json"});
  };
  const Outcome none = plan("none"), cut = plan("cut"), paper = plan("paper");
  ASSERT_EQ(none.status, 0) << none.err;
  ASSERT_EQ(cut.status, 0) << cut.err;
  ASSERT_EQ(paper.status, 0) << paper.err;
  EXPECT_LE(cut.json()["step_time_ns"], none.json()["step_time_ns"]);
  for (const char* file : {"cut.plan.json", "paper.plan.json"}) {
    const Outcome checked = Run({"check", file, "--run"});
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  }
  EXPECT_THAT(plan("papers").out, HasSubstr("did you mean paper?"));
}

// Two tables of 2,000 words would cross as gradients; the rows of 4 sentences of 6 words do instead. With a server the
// tables are looked up there, too.
TEST_F(Distributed, GathersRowsOfEmbeddings) {
  ASSERT_EQ(Run({"capture", "transformer", "--batch", "4",         "--param", "layers=1",
                 "--param", "hidden=32",   "--param", "heads=2",   "--param", "inner=32",
                 "--param", "source=6",    "--param", "target=6",  "--param", "vocabulary=2000",
                 "--param", "tied=0",      "--param", "dropout=0", "-o",      "mlp.json.gz"})
                .status,
            0);
  const auto plan = [&](const char* algorithm, const char* mode) {
    const Outcome run = RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", algorithm,
                                 "--sfb", mode, "-o", "rows.plan.json"});
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json();
  };
  const auto moved = [](const Json& made) {
    int64_t bytes = 0;
    for (const Json& use : made["communication"]) bytes += use["bytes"].get<int64_t>();
    return bytes;
  };
  constexpr int64_t kTables = 2 * 2000 * 32 * 4, kRows = 2 * 4 * 6 * 32 * 4;
  for (const char* algorithm : {"data-parallel", "data-parallel-ps"}) {
    const Json dense = plan(algorithm, "none"), rows = plan(algorithm, "embeddings");
    EXPECT_EQ(rows["algorithm"], dense["algorithm"].get<std::string>() + "+sfb");
    EXPECT_THAT(rows["notes"].dump(), HasSubstr("2 of 45 gradients are made of gathered rows"));
    EXPECT_LE(moved(rows), moved(dense) - kTables + 4 * kRows) << algorithm;
    const Outcome checked = Run({"check", "rows.plan.json", "--run"});
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
  }
}

// Boxes by hand: of an axis that its box does not name a device has all.
TEST_F(Distributed, BoxesMayNameOtherAxes) {
  Write("boxes.json", R"({"layouts": [{"groups": "*", "devices": [
      {"name": "cpu0", "box": {"batch": [0, 3]}},
      {"name": "cpu1", "box": {"batch": [3, 8], "param:hidden0.weight[0]": [0, 32]}}]}]})");
  ASSERT_EQ(Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--layouts", "boxes.json", "-o",
                 "boxes.plan.json"})
                .status,
            0);
  const Outcome checked = Run({"check", "boxes.plan.json", "--run"});
  EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
}

// What a pipeline's devices wait is in the report's line of rates.
TEST_F(Distributed, APipelineHasABubble) {
  ASSERT_EQ(Run({"capture", "gpt-2", "--batch", "4", "--param", "layers=2", "--param", "hidden=32",
                 "--param", "heads=2", "--param", "sequence=8", "--param", "vocabulary=50", "-o",
                 "mlp.json.gz"})
                .status,
            0);
  const Outcome planned = Run({"plan", "mlp.json.gz", "-c", "2xV100", "--algo", "1f1b", "--stages",
                               "2", "--micro-batches", "2", "-o", "stages.plan.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("; bubble "));
  EXPECT_THAT(Run({"simulate", "stages.plan.json"}).out, HasSubstr("; bubble "));
}

// What gradients by factors gain is a baseline of its own, and `auto` no worse with them than without.
TEST_F(Distributed, AutoRecomputesGradientsFromFactors) {
  const auto plan = [&](const std::string& mode) {
    const Outcome run = RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--iterations", "20",
                                 "--sfb", mode, "-o", mode + ".plan.json"});
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(Run({"check", mode + ".plan.json"}).status, 0);
    return run.json();
  };
  const Json none = plan("none"), cut = plan("cut"), paper = plan("paper");
  EXPECT_LT(cut["step_time_ns"], none["step_time_ns"]);
  EXPECT_LE(paper["step_time_ns"], none["step_time_ns"]);
  EXPECT_EQ(cut["algorithm"], none["algorithm"].get<std::string>() + "+sfb");
  EXPECT_EQ(cut["baselines"].size(), none["baselines"].size() + 1);
  // A plan of whole ops has no such gradients, and says so.
  const Outcome whole = RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--iterations", "1",
                                 "--pin", "*=cpu0", "--sfb", "cut"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_EQ(whole.json()["space"], "placed");
  EXPECT_THAT(whole.json()["notes"].dump(), HasSubstr("splits no op"));
}

// Parameters and update of 64 bits for a step in 32: stated by the plan, proven, and of whatever algorithm.
TEST_F(Distributed, KeepsParametersInAWiderType) {
  const std::string types = "reduce=f64 master=f64";
  for (const char* algorithm : {"zero-2", "data-parallel"}) {
    const Outcome made = RunJson({"plan", "mlp.json.gz", "-c", "2xP100-16GB", "--space",
                                  "replicated", "--algo", algorithm, "--iterations", "5",
                                  "--mixed-precision", types, "-o", "wide.plan.json"});
    ASSERT_EQ(made.status, 0) << algorithm << made.err;
    EXPECT_EQ(made.json()["transforms"][0]["precision"][0], types) << algorithm;
    const Outcome checked = Run({"check", "wide.plan.json"});
    EXPECT_EQ(checked.status, 0) << checked.out << checked.err;
    EXPECT_EQ(Run({"simulate", "wide.plan.json", "--mixed-precision", types}).status, 2);
  }
  const Outcome refused =
      Run({"plan", "mlp.json.gz", "-c", "2xP100-16GB", "--mixed-precision", "param=bf16"});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, HasSubstr("in f32, not in bf16"));
}

// A search goes on from a plan that splits ops, and is never worse than it.
TEST_F(Distributed, SearchesStartFromPlansThatSplitOps) {
  const auto plan = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"plan", "mlp.json.gz", "-c", "two.yaml"});
    return RunJson(words);
  };
  const Outcome first = plan({"--algo", "expert-hybrid", "-o", "first.plan.json"});
  ASSERT_EQ(first.status, 0) << first.err;
  for (const char* algorithm : {"auto", "layout-search", "local-search", "annealing", "mcmc"}) {
    const Outcome next = plan({"--algo", algorithm, "--iterations", "30", "--init",
                               "first.plan.json", "-o", "next.plan.json"});
    ASSERT_EQ(next.status, 0) << algorithm << next.err;
    EXPECT_LE(next.json()["step_time_ns"], first.json()["step_time_ns"]) << algorithm;
    EXPECT_EQ(next.json()["init_differs"], Json::array());
    EXPECT_EQ(Run({"check", "next.plan.json"}).status, 0) << algorithm;
  }
  ASSERT_EQ(plan({"--iterations", "0", "--init", "first.plan.json", "-o", "kept.json"}).status, 0);
  const Json history = Json::parse(Read("kept.json"))["history"];
  EXPECT_EQ(history[0]["algorithm"], "init");
  EXPECT_EQ(history[0]["step_time_ns"], first.json()["step_time_ns"]);
  EXPECT_THAT(plan({"--space", "placed", "--init", "first.plan.json"}).out,
              HasSubstr("which --space placed forbids"));
  EXPECT_THAT(plan({"--expert", "first.plan.json", "--algo", "expert"}).out,
              HasSubstr("splits or copies ops"));
  // Of devices that are not there.
  std::string other = Read("two.yaml");
  for (size_t at = 0; (at = other.find("cpu1", at)) != std::string::npos;) {
    other.replace(at, 4, "cpu9");
  }
  Write("other.yaml", other);
  const Outcome unknown =
      RunJson({"plan", "mlp.json.gz", "-c", "other.yaml", "--init", "first.plan.json"});
  EXPECT_NE(unknown.status, 0);
  EXPECT_THAT(unknown.out, HasSubstr("cpu1"));
}

TEST_F(Distributed, PlansNameAllTheirFiles) {
  ASSERT_EQ(Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--layouts", "even.json", "-o",
                 "even.plan.json"})
                .status,
            0);
  const Json plan = Json::parse(Read("even.plan.json"));
  EXPECT_EQ(plan["schema"], "placewright.plan/2");
  EXPECT_EQ(plan["algorithm"], "layouts");
  EXPECT_EQ(plan["step"]["path"], "even.plan.compiled.json.gz");
  ASSERT_EQ(Run({"compile", "even.plan.json", "-o", "step.json"}).status, 0);
  const Json step = Json::parse(Read("step.json"));
  EXPECT_FALSE(step["collectives"].empty());
  EXPECT_TRUE(step["inputs"][0].contains("of"));
  EXPECT_TRUE(step["ops"][0].contains("device"));
  // What is not as it was is named.
  Write("mlp.json.gz", "another graph");
  const Outcome changed = Run({"simulate", "even.plan.json"});
  EXPECT_EQ(changed.status, 3);
  EXPECT_THAT(changed.err, HasSubstr("mlp.json.gz"));
}

TEST_F(Distributed, ThePlacedSpaceStaysAsItIs) {
  const Json plan =
      RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--space", "placed", "--iterations", "10"})
          .json();
  EXPECT_EQ(plan["space"], "placed");
  EXPECT_FALSE(plan.contains("layouts"));
  EXPECT_EQ(Json::parse(Read("mlp.plan.json"))["schema"], "placewright.plan/1");
  for (const Json& baseline : plan["baselines"]) EXPECT_NE(baseline["algorithm"], "data-parallel");
  const Outcome refused =
      Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "horovod", "--space", "placed"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("horovod splits ops"));
}

// Unasked, but not without saying so; what is of placements alone keeps ops whole.
TEST_F(Distributed, OpsAreSplitUnaskedWhereTheBatchIsProven) {
  const std::vector<std::string> line = {"plan",     "mlp.json.gz",  "-c",
                                         "two.yaml", "--iterations", "10"};
  const Outcome planned = RunJson(line);
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(Run(line).err, HasSubstr("ops may be split and copied"));
  const Json plan = planned.json();
  std::vector<std::string> baselines;
  for (const Json& baseline : plan["baselines"]) {
    baselines.push_back(baseline["algorithm"].get<std::string>());
  }
  EXPECT_THAT(baselines, testing::Contains("data-parallel"));
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--space", "placed"},
                                             {"--algo", "heft"},
                                             {"--init", "mlp.plan.json", "--space", "placed"}}) {
    std::vector<std::string> whole = line;
    whole.insert(whole.end(), more.begin(), more.end());
    EXPECT_THAT(Run(whole).err, Not(HasSubstr("ops may be split"))) << more[1];
  }
}

// The portfolio's plan is at most each of its baselines, of whichever space.
TEST_F(Distributed, AutoMayReplicate) {
  const Json plan = RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--iterations", "10",
                             "--space", "replicated"})
                        .json();
  int replicated = 0, hybrid = 0;
  for (const Json& baseline : plan["baselines"]) {
    if (baseline["feasible"] == true) {
      EXPECT_LE(plan["step_time_ns"], baseline["step_time_ns"]);
    }
    replicated += std::string(baseline["algorithm"]).starts_with("data-parallel");
    hybrid += baseline["algorithm"] == "expert-hybrid";
  }
  EXPECT_EQ(replicated, 4);
  EXPECT_EQ(hybrid, 1);
}

// Fully connected layers are split by their outputs, and a note says so.
TEST_F(Distributed, ExpertHybridSaysWhatItSplits) {
  const Outcome planned =
      Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "expert-hybrid", "-o", "eh.json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.err, HasSubstr("3 fully connected layers"));
  EXPECT_THAT(planned.err, HasSubstr("(one weird trick); over 2 devices"));
  const Json plan = Json::parse(Read("eh.json"));
  EXPECT_EQ(plan["algorithm"], "expert-hybrid");
  std::set<std::string> axes;
  for (const Json& layout : plan["layouts"]) axes.insert(layout.value("axis", ""));
  for (const char* layer : {"hidden0", "hidden1", "output"}) {
    EXPECT_TRUE(axes.contains(std::string("param:") + layer + ".weight[0]")) << layer;
  }
  EXPECT_EQ(Run({"check", "eh.json"}).status, 0);
}

// Compiled steps in other programs' forms: those that know instances of ops take them.
TEST_F(Distributed, ExportsSayTheSameStep) {
  for (const std::string algorithm : {"data-parallel", "data-parallel-ps"}) {
    ASSERT_EQ(
        Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", algorithm, "-o", "p.json"}).status,
        0);
    const Json plan = Json::parse(Read("p.json"));
    const auto to = [&](const std::string& format, const std::string& file) {
      return RunJson({"export", "p.json", "--to", format, "-o", file});
    };
    ASSERT_EQ(to("costgraph", "c.json").status, 0);
    const Json file = Json::parse(Read("c.json"));
    EXPECT_FALSE(file["collectives"].empty());
    const Json simulated = RunJson({"simulate", "c.json"}).json();
    EXPECT_EQ(simulated["step_time_ns"], plan["step_time_ns"]) << algorithm;
    for (size_t d = 0; d < plan["devices"].size(); ++d) {
      EXPECT_EQ(simulated["devices"][d]["tensor_peak_bytes"],
                plan["devices"][d]["tensor_peak_bytes"]);
    }
    ASSERT_EQ(to("chrome-trace", "t.json").status, 0);
    int collectives = 0;
    const Json trace = Json::parse(Read("t.json"));
    for (const Json& event : trace["traceEvents"]) {
      collectives += event.value("cat", "") == "collective" ? 1 : 0;
    }
    EXPECT_GT(collectives, 0);
    ASSERT_EQ(to("aten", "a.json").status, 0);
    EXPECT_FALSE(Json::parse(Read("a.json"))["collectives"].empty());
    const Outcome refused = to("accelerate", "m.json");
    EXPECT_EQ(refused.status, 3);
    EXPECT_EQ(refused.json()["error"]["code"], "not-expressible");
    EXPECT_THAT(
        refused.json()["error"]["remedy"].get<std::string>(),
        ::testing::AllOf(HasSubstr("Plan again with --space placed"), HasSubstr("that fits")));
    EXPECT_FALSE(Exists("m.json"));
  }
}

// Parameter servers are planned with Broadcasts and without; the faster step is taken, and says which it is.
TEST_F(Distributed, ServersBroadcastWhereThatIsFaster) {
  const Json plan = RunJson({"plan", "mlp.json.gz", "-c", "4xP100", "--algo", "data-parallel-ps",
                             "-o", "ps.plan.json"})
                        .json();
  int64_t fastest = 0;
  for (const bool broadcasts : {true, false}) {
    const Json layouts = {{"layouts", plan["layouts"]}, {"broadcasts", broadcasts}};
    Write("servers.json", layouts.dump());
    const Json simulated =
        RunJson({"simulate", "mlp.json.gz", "-c", "4xP100", "--layouts", "servers.json"}).json();
    int64_t count = 0;
    for (const Json& use : simulated["communication"]) {
      if (use["kind"] == "broadcast") count += use["count"].get<int64_t>();
    }
    EXPECT_EQ(count > 0, broadcasts);
    const int64_t time = simulated["step_time_ns"];
    if (fastest == 0 || time < fastest) fastest = time;
    if (plan["broadcasts"] == broadcasts) {
      EXPECT_EQ(plan["step_time_ns"], time);
      EXPECT_EQ(plan["communication"], simulated["communication"]);
    }
  }
  EXPECT_EQ(plan["step_time_ns"], fastest);
  EXPECT_EQ(Run({"check", "ps.plan.json"}).status, 0);
}

TEST_F(Distributed, FewerSamplesThanDevices) {
  ASSERT_EQ(
      Run({"capture", "mlp", "--batch", "8", "--param", "hidden=32", "-o", "one.json.gz"}).status,
      0);
  const Outcome run =
      Run({"plan", "one.json.gz", "-c", "two.yaml", "--batch", "1", "--algo", "data-parallel"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("a batch of 1 for 2 devices: the fastest have one sample each"));
}

TEST_F(Distributed, BadLayoutsNameThePlace) {
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("the list \"layouts\" is missing"));
  EXPECT_THAT(ErrorOf(R"({"layouts": [{"groups": "*", "axis": "batch",
      "devices": [{"name": "cpu0", "from": 0, "to": 3}, {"name": "cpu1", "from": 3, "to": 7}]}]})"),
              HasSubstr("layouts[0].devices: the shares cover 7 of the 8 of \"batch\""));
  EXPECT_THAT(
      ErrorOf(R"({"layouts": [{"groups": "*", "axis": "batch", "devices": ["cpu0", "cpu0"]}]})"),
      HasSubstr("cpu0 stands there twice"));
  EXPECT_THAT(ErrorOf(R"({"layouts": [{"groups": "nothing", "devices": ["cpu0"]}]})"),
              HasSubstr("\"nothing\" matches no module"));
  EXPECT_THAT(ErrorOf(R"({"layouts": [{"groups": 0, "devices": ["cpu0"]}]})"),
              HasSubstr("no layout is given for the op"));
  const Outcome few =
      Run({"simulate", "mlp.json.gz", "-c", "two.yaml", "--batch", "1", "--layouts", "even.json"});
  EXPECT_EQ(few.status, 3);
  EXPECT_THAT(few.err, HasSubstr("the batch is one sample, which cannot be split"));
}

// Files have the names of the step that was recorded: each device gets its part of inputs, parameters and optimizer
// state, by whatever axis the plan splits them.
// A compiled step of whole ops is a step like others: its draws count already, and nothing is rewritten once more.
TEST_F(Distributed, StepsWhoseDrawsCountArePlannedAgain) {
  Write("one.json", R"({"layouts": [{"groups": "*", "devices": ["cpu0"]}]})");
  Write("both.json", R"({"layouts": [{"groups": "*", "devices": ["cpu0", "cpu1"]}]})");
  const Outcome first = RunJson(
      {"plan", "mlp.json.gz", "-c", "two.yaml", "--layouts", "one.json", "-o", "one.plan.json"});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.json()["transforms"], Json({"counted-draws"}));
  ASSERT_EQ(Run({"compile", "one.plan.json", "-o", "one.json.gz"}).status, 0);
  const Outcome again = RunJson(
      {"plan", "one.json.gz", "-c", "two.yaml", "--layouts", "both.json", "-o", "again.plan.json"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_FALSE(again.json().contains("transforms"));
  const Outcome checked = Run({"check", "again.plan.json"});
  EXPECT_EQ(checked.status, 0) << checked.err;
}

// Whole ops in two micro-batches: groups of the rewritten step are none that its text would give them.
TEST_F(Distributed, PlacedStepsThatAreRewrittenAreCompiled) {
  const Outcome made = RunJson({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "round-robin",
                                "--micro-batches", "2", "-o", "parts.plan.json"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_FALSE(made.json().contains("layouts"));
  ASSERT_EQ(Run({"compile", "parts.plan.json", "-o", "parts.json"}).status, 0);
  const Json step = Json::parse(Read("parts.json"));
  std::set<std::string> names, devices;
  for (const Json& op : step["ops"]) {
    names.insert(op["name"].get<std::string>());
    devices.insert(op["device"].get<std::string>());
  }
  EXPECT_TRUE(names.contains("addmm@1") && names.contains("addmm@2"));
  EXPECT_EQ(devices, (std::set<std::string>{"cpu0", "cpu1"}));
  EXPECT_EQ(Run({"simulate", "parts.json", "-c", "two.yaml"}).status, 0);
}

// Which another order is, as times in it do not compare.
TEST_F(Distributed, StartsSayThatTheirOrderWasAnother) {
  ASSERT_EQ(Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--algo", "data-parallel", "--order",
                 "critical-path", "-o", "other.plan.json"})
                .status,
            0);
  const Outcome run = RunJson(
      {"plan", "mlp.json.gz", "-c", "two.yaml", "--init", "other.plan.json", "--iterations", "1"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.json()["init_differs"], Json({"order (--order critical-path)"}));
}

TEST_F(Distributed, FilesReachEveryPart) {
  ASSERT_EQ(Run({"capture", "mlp", "--batch", "8", "--param", "hidden=32", "--param", "dropout=0",
                 "-o", "mlp.json.gz"})
                .status,
            0);
  const auto plan = [&](std::vector<std::string> how, const std::string& file) {
    std::vector<std::string> words = {"plan", "mlp.json.gz", "-c", "two.yaml", "-o", file};
    words.insert(words.end(), how.begin(), how.end());
    const Outcome planned = Run(words);
    ASSERT_EQ(planned.status, 0) << planned.err;
  };
  plan({"--algo", "single"}, "one.plan.json");
  plan({"--algo", "data-parallel"}, "batch.plan.json");
  Write("hidden.json", R"({"layouts": [
      {"groups": "*", "option": "duplicate", "devices": ["cpu0", "cpu1"]},
      {"groups": "hidden0", "axis": "param:hidden0.weight[0]", "option": "all-reduce",
       "devices": [{"name": "cpu0", "from": 0, "to": 20}, {"name": "cpu1", "from": 20, "to": 32}]}]})");
  plan({"--layouts", "hidden.json"}, "hidden.plan.json");
  // Two batches, each of its own numbers.
  std::string numbers;
  for (int i = 0; i < 2 * 8 * 784; ++i) {
    const float number = static_cast<float>(i % 97) / 97 + (i < 8 * 784 ? 0.0f : 1.0f);
    numbers.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  const auto write = [&](const std::string& file, const std::string& name) {
    Json header;
    header[name] = {
        {"dtype", "F32"}, {"shape", {2, 8, 784}}, {"data_offsets", {0, numbers.size()}}};
    const std::string text = header.dump();
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 0xff);
    Write(file, length + text + numbers);
  };
  write("x.safetensors", "x");
  ASSERT_EQ(Run({"run", "one.plan.json", "--steps", "2", "--save", "two.safetensors"}).status, 0);
  const auto losses = [&](const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> words = {"run", file, "--steps", "4", "--simulate-devices"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome run = RunJson(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json()["loss"];
  };
  const std::vector<std::string> files = {"--inputs", "x.safetensors", "--load", "two.safetensors"};
  const Json one = losses("one.plan.json", files);
  for (const char* const file : {"batch.plan.json", "hidden.plan.json"}) {
    const Json parts = losses(file, files), seeded = losses(file, {});
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(parts[i].get<double>(), one[i].get<double>(), 1e-4) << file << ", step " << i;
      EXPECT_GT(std::abs(seeded[i].get<double>() - one[i].get<double>()), 1e-2) << file;
    }
    // A checkpoint of the same plan has the parts by their own names.
    EXPECT_EQ(Run({"run", file, "--steps", "2", "--simulate-devices", "--save", "own.safetensors"})
                  .status,
              0);
    const Json all = losses(file, {}), rest = losses(file, {"--load", "own.safetensors"});
    EXPECT_EQ(rest[0], all[2]);
    EXPECT_EQ(rest[1], all[3]);
  }
  // What reaches nothing is an error: in the file of inputs, in that of parameters, and parts of another plan.
  write("wrong.safetensors", "y");
  const Outcome inputs = Run({"run", "batch.plan.json", "--inputs", "wrong.safetensors"});
  EXPECT_EQ(inputs.status, 3);
  EXPECT_THAT(inputs.err, HasSubstr("\"y\" is no input of the step"));
  EXPECT_THAT(inputs.err, HasSubstr("They are called input:x, input:targets."));
  const Outcome load = Run({"run", "batch.plan.json", "--load", "x.safetensors"});
  EXPECT_EQ(load.status, 3);
  EXPECT_THAT(load.err, HasSubstr("it has no tensor of this graph"));
  const Outcome other = Run({"run", "one.plan.json", "--load", "own.safetensors"});
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.err, HasSubstr("of any plan that places whole ops, or of this one"));
}

}  // namespace
}  // namespace placewright
