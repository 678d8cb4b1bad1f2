// `profile`, the cost store that it fills, `plan` that uses it, and `validate`.
#include <gmock/gmock.h>

#include <csignal>
#include <set>
#include <string>
#include <thread>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using testing::HasSubstr;

class Profile : public RecordedMlp {
 protected:
  Outcome Measure(std::vector<std::string> more = {}) {
    std::vector<std::string> command = {"profile",      "mlp.json.gz",  "-c",      "two.yaml",
                                        "--cost-store", "costs.sqlite", "--steps", "5"};
    command.insert(command.end(), more.begin(), more.end());
    return RunJson(command);
  }
  Outcome Plan(std::vector<std::string> more) {
    std::vector<std::string> command = {"plan",    "-c", "two.yaml",     "--algo",
                                        "layered", "-o", "mlp.plan.json"};
    command.insert(command.end(), more.begin(), more.end());
    return RunJson(command);
  }
};

TEST_F(Profile, MeasuresEverySignature) {
  const Outcome measured = Measure({"--batch", "8", "--largest-transfer", "1"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  const Json object = measured.json();
  EXPECT_EQ(object["schema"], "placewright.profile/1");
  EXPECT_GT(object["signatures"], 10);
  EXPECT_EQ(object["measured"], object["signatures"]);
  EXPECT_EQ(object["rows"], object["signatures"]);  // one kind, one batch
  EXPECT_EQ(object["store"], "costs.sqlite");
  EXPECT_GT(object["coverage"], 0);  // how much is a measurement (docs/results/executed.md)
  EXPECT_LE(object["coverage"], 1);
  ASSERT_EQ(object["steps"].size(), 1u);  // one kind, not two devices
  EXPECT_EQ(object["steps"][0]["kind"], "worker");
  EXPECT_EQ(object["steps"][0]["steps"], 5);
  ASSERT_EQ(object["transfers"].size(), 1u);
  EXPECT_EQ(object["transfers"][0]["sizes"].size(), 11u);  // 1 KiB to 1 MiB
  for (const Json& size : object["transfers"][0]["sizes"]) {
    EXPECT_GT(size["time_ns"], 0);
    EXPECT_GE(size["runs"], 5);
  }
  EXPECT_GE(object["transfers"][0]["segments"].size(), 1u);
}

TEST_F(Profile, OptionsOfRanksNeedRanks) {
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--no-nccl"}, std::vector<std::string>{"--rank-timeout", "5"}}) {
    const Outcome refused = Measure(option);
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.out, HasSubstr(option.front() + " is of --ranks"));
  }
}

TEST_F(Profile, PlansUseWhatWasMeasured) {
  ASSERT_EQ(Measure({"--batch", "8", "--no-transfers"}).status, 0);
  const Outcome planned = Plan({"mlp.json.gz", "--cost-store", "costs.sqlite"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_DOUBLE_EQ(planned.json()["cost_sources"]["measured"], 1);
  EXPECT_THAT(planned.json()["notes"].dump(), HasSubstr("times measured on worker, LibTorch"));
  const Json plan = Json::parse(Read("mlp.plan.json"));
  EXPECT_EQ(plan["cost_store"]["path"], "costs.sqlite");
  ASSERT_EQ(plan["cost_store"]["environments"].size(), 1u);
  EXPECT_EQ(plan["cost_store"]["environments"][0]["kind"], "worker");
  EXPECT_EQ(plan["cost_store"]["environments"][0]["loaded"], false);
  EXPECT_GT(plan["cost_store"]["environments"][0]["rows"], 10);
  EXPECT_EQ(plan["cost_store"]["environments"][0]["rows_sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(Run({"check", "mlp.plan.json"}).status, 0);

  const Outcome modelled = Plan({"mlp.json.gz", "--cost-store", "costs.sqlite", "--no-store"});
  EXPECT_DOUBLE_EQ(modelled.json()["cost_sources"]["modelled"], 1);
  EXPECT_FALSE(Json::parse(Read("mlp.plan.json")).contains("cost_store"));
  // A cluster of other devices owes nothing to the store.
  const Outcome gpus = RunJson({"plan", "mlp.json.gz", "-c", "4xP100", "--algo", "single", "-o",
                                "gpus.plan.json", "--cost-store", "costs.sqlite"});
  EXPECT_DOUBLE_EQ(gpus.json()["cost_sources"]["modelled"], 1);
}

TEST_F(Profile, PlansUseMeasuredTransfers) {
  ASSERT_EQ(Measure({"--batch", "8", "--largest-transfer", "1"}).status, 0);
  const Outcome planned = Plan({"mlp.json.gz", "--cost-store", "costs.sqlite"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  EXPECT_THAT(planned.json()["notes"].dump(), HasSubstr("and of 2 links come from"));
  const Json plan = Json::parse(Read("mlp.plan.json"));
  ASSERT_EQ(plan["links"].size(), 2u);
  EXPECT_GT(plan["links"][0]["bandwidth_bytes_per_second"], 0);
  // The checker and other commands take them from the plan.
  EXPECT_EQ(RunJson({"check", "mlp.plan.json"}).json()["plan_links"], 2);
  const Outcome checked = Run({"check", "mlp.plan.json"});
  EXPECT_EQ(checked.status, 0);
  EXPECT_THAT(checked.err, HasSubstr("2 links have the plan's latency and bandwidth"));
  const Outcome simulated = RunJson({"simulate", "mlp.plan.json"});
  EXPECT_EQ(simulated.json()["step_time_ns"], plan["step_time_ns"]);
  EXPECT_THAT(simulated.json()["notes"].dump(), HasSubstr("2 links have the plan's"));
  // What names no link of the cluster, or one twice, is refused before anything is simulated.
  for (const char* const name : {"nowhere", "twice"}) {
    Json wrong = plan;
    wrong["links"][1]["name"] =
        name == std::string("twice") ? wrong["links"][0]["name"] : Json(name);
    Write("wrong.plan.json", wrong.dump());
    const Outcome refused = RunJson({"simulate", "wrong.plan.json"});
    EXPECT_EQ(refused.status, 3) << name;
    EXPECT_THAT(refused.json()["error"].dump(), HasSubstr("links[1].name")) << name;
  }
  EXPECT_EQ(Plan({"mlp.json.gz", "--no-store"}).status, 0);
  EXPECT_FALSE(Json::parse(Read("mlp.plan.json")).contains("links"));
}

TEST_F(Profile, OtherBatchesLieOnTheLine) {
  ASSERT_EQ(Measure({"--batch", "16", "--batch", "8", "--no-transfers"}).status, 0);
  const Outcome between = Plan({"mlp.json.gz", "--batch", "12", "--cost-store", "costs.sqlite"});
  ASSERT_EQ(between.status, 0) << between.err;
  EXPECT_DOUBLE_EQ(between.json()["cost_sources"]["measured"], 1);
  const Outcome beyond = Plan({"mlp.json.gz", "--batch", "64", "--cost-store", "costs.sqlite"});
  EXPECT_LT(beyond.json()["cost_sources"]["measured"], 1);
  EXPECT_GT(beyond.json()["cost_sources"]["modelled"], 0);
  EXPECT_THAT(beyond.json()["notes"].dump(), testing::Not(HasSubstr("not measured")));
}

TEST_F(Profile, LoadedDevicesAreMeasuredBeside) {
  const Outcome measured = Measure({"--batch", "8", "--no-transfers", "--loaded"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  ASSERT_EQ(measured.json()["steps"].size(), 2u);
  EXPECT_EQ(measured.json()["steps"][0]["loaded"], false);
  EXPECT_EQ(measured.json()["steps"][1]["loaded"], true);
  ASSERT_EQ(Plan({"mlp.json.gz", "--cost-store", "costs.sqlite"}).status, 0);
  EXPECT_EQ(Json::parse(Read("mlp.plan.json"))["cost_store"]["environments"][0]["loaded"], true);
}

TEST_F(Profile, ValidateComparesPlansWithTheirPrediction) {
  ASSERT_EQ(Measure({"--batch", "8", "--no-transfers"}).status, 0);
  const std::vector<std::string> of_suite = {
      "validate",     "--suite", "mlp.json.gz", "-c",       "two.yaml", "--cost-store",
      "costs.sqlite", "--steps", "6",           "--passes", "1"};
  // Two workers contend: that has to be measured.
  EXPECT_THAT(Run(of_suite).err, HasSubstr("--loaded` measures them"));
  ASSERT_EQ(Measure({"--batch", "8", "--no-transfers", "--loaded"}).status, 0);
  ASSERT_EQ(Plan({"mlp.json.gz", "--cost-store", "costs.sqlite"}).status, 0);
  const Outcome validated = RunJson({"validate", "mlp.plan.json", "--steps", "8", "--passes", "2"});
  ASSERT_EQ(validated.status, 0) << validated.err;
  const Json object = validated.json();
  EXPECT_EQ(object["schema"], "placewright.validate/1");
  ASSERT_EQ(object["pairs"].size(), 1u);
  const Json& pair = object["pairs"][0];
  EXPECT_EQ(pair["plan"], "mlp.plan.json");
  // What the plan said, and what is predicted of the machine as it is now.
  EXPECT_EQ(pair["predicted_as_profiled_ns"], Json::parse(Read("mlp.plan.json"))["step_time_ns"]);
  EXPECT_GT(pair["predicted_ns"], 0);
  EXPECT_GT(pair["measured_ns"], 0);
  EXPECT_LE(pair["measured_p10_ns"], pair["measured_ns"]);
  EXPECT_GT(pair["predicted_peak_bytes"], 0);
  EXPECT_GT(pair["measured_peak_bytes"], 0);
  EXPECT_EQ(pair["devices"].size(), 2u);
  EXPECT_TRUE(pair["classes"].contains("gemm"));
  EXPECT_TRUE(object["rank_correlation"].empty());  // one plan has no rank
  EXPECT_EQ(object["not_ranked"].size(), 1u);

  const Outcome suite = RunJson(of_suite);
  ASSERT_EQ(suite.status, 0) << suite.err;
  const Json pairs = suite.json()["pairs"];
  EXPECT_GE(pairs.size(), 4u);
  std::set<std::string> workers;
  for (const Json& one : pairs) workers.insert(one["workers"].dump());
  EXPECT_EQ(workers, (std::set<std::string>{"1", "2"}));
}

TEST_F(Profile, CtrlCKeepsWhatIsMeasured) {
  RunOptions signalled;
  signalled.signal = SIGINT;
  // Until it was stopped behind the first rounds of a busy machine.
  double measured = 0;
  for (const double seconds : {2, 8, 32}) {
    signalled.signal_after = seconds;
    const Outcome stopped =
        RunJson({"profile", "mlp.json.gz", "-c", "two.yaml", "--cost-store", "costs.sqlite",
                 "--steps", "1000000", "--time", "1000", "--batch", "8", "--batch", "4"},
                signalled);
    EXPECT_EQ(stopped.status, 130);
    EXPECT_EQ(stopped.json()["interrupted"], true);
    const Outcome planned = Plan({"mlp.json.gz", "--cost-store", "costs.sqlite"});
    ASSERT_EQ(planned.status, 0) << planned.err;
    measured = planned.json()["cost_sources"]["measured"];
    if (measured == 1) break;
  }
  EXPECT_DOUBLE_EQ(measured, 1);

  // A run that is stopped saves what it has; the next one goes on from it.
  Outcome run;
  for (const double seconds : {6, 24}) {  // behind its look at the machine
    signalled.signal_after = seconds;
    run = RunJson({"run", "mlp.plan.json", "--steps", "100000000", "--save", "state.safetensors"},
                  signalled);
    if (run.status == 130 && run.json()["steps"] > 0) break;
  }
  EXPECT_EQ(run.status, 130);
  ASSERT_GT(run.json()["steps"], 0);
  const Outcome next =
      RunJson({"run", "mlp.plan.json", "--steps", "1", "--load", "state.safetensors"});
  ASSERT_EQ(next.status, 0) << next.err;
  EXPECT_LT(next.json()["loss"][0], run.json()["loss"][0]);
  EXPECT_GT(next.json()["predicted"]["now_ns"], 0);
  // Without the store there are only the plan's times.
  std::filesystem::rename(folder() / "costs.sqlite", folder() / "elsewhere.sqlite");
  const Outcome without = RunJson({"run", "mlp.plan.json", "--steps", "1"});
  ASSERT_EQ(without.status, 0) << without.err;
  EXPECT_TRUE(without.json()["predicted"]["now_ns"].is_null());
}

// One plan that cannot be executed takes nothing from the others.
TEST_F(Profile, ValidateGoesOnBehindAFailure) {
  ASSERT_EQ(Plan({"mlp.json.gz"}).status, 0);
  const Outcome validated =
      RunJson({"validate", "none.plan.json", "mlp.plan.json", "--steps", "6", "--passes", "1"});
  EXPECT_EQ(validated.status, 3);
  EXPECT_EQ(validated.json()["pairs"].size(), 1u);
  ASSERT_EQ(validated.json()["failed"].size(), 1u);
  EXPECT_THAT(validated.json()["failed"][0].get<std::string>(), HasSubstr("none.plan.json"));
}

// What was measured alone holds where nothing was measured with others at work.
TEST_F(Profile, ALoadedProfileHidesNoOther) {
  ASSERT_EQ(Measure({"--batch", "8", "--no-transfers"}).status, 0);
  ASSERT_EQ(
      Run({"capture", "mlp", "--batch", "3", "--param", "hidden=48", "-o", "other.json.gz"}).status,
      0);
  ASSERT_EQ(Run({"profile", "other.json.gz", "-c", "two.yaml", "--cost-store", "costs.sqlite",
                 "--steps", "5", "--no-transfers", "--loaded"})
                .status,
            0);
  const Outcome planned = Plan({"mlp.json.gz", "--cost-store", "costs.sqlite"});
  EXPECT_DOUBLE_EQ(planned.json()["cost_sources"]["measured"], 1);
}

TEST_F(Profile, TwoProfilersAtOnce) {
  std::vector<std::thread> threads;
  for (const char* batch : {"8", "4", "2"}) {
    threads.emplace_back([this, batch] {
      EXPECT_EQ(Measure({"--batch", batch, "--no-transfers"}).status, 0) << batch;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* batch : {"8", "4", "2"}) {
    const Outcome planned = Plan({"mlp.json.gz", "--batch", batch, "--cost-store", "costs.sqlite"});
    EXPECT_DOUBLE_EQ(planned.json()["cost_sources"]["measured"], 1) << batch;
  }
}

// Candidates are executed; the plan keeps what was measured beside what is predicted.
TEST_F(Profile, SearchesMayMeasure) {
  for (const std::vector<std::string>& search : {std::vector<std::string>{"--algo", "layered"},
                                                 {"--algo", "annealing", "--iterations", "4"}}) {
    std::vector<std::string> command = {"plan",       "mlp.json.gz", "-c",           "two.yaml",
                                        "--measured", "-o",          "mlp.plan.json"};
    command.insert(command.end(), search.begin(), search.end());
    // A step that takes ten times what it took before is cut off, which a busy machine may do to it.
    Outcome planned;
    for (int attempt = 0; attempt < 4; ++attempt) {
      planned = RunJson(command);
      ASSERT_EQ(planned.status, 0) << planned.err;
      if (planned.json()["notes"].dump().find("went by measured") != std::string::npos) break;
    }
    EXPECT_THAT(planned.json()["notes"].dump(), HasSubstr("went by measured steps"));
    const Json plan = Json::parse(Read("mlp.plan.json"));
    EXPECT_GT(plan["measured_step_time_ns"], 0);
    EXPECT_NE(plan["measured_step_time_ns"], plan["step_time_ns"]);
    EXPECT_EQ(Run({"check", "mlp.plan.json"}).status, 0);
  }
  const Outcome gpus = Run({"plan", "mlp.json.gz", "-c", "4xP100", "--measured"});
  EXPECT_EQ(gpus.status, 6);
  EXPECT_THAT(gpus.err, HasSubstr("CUDA device 0 of this LibTorch"));
}

// Two machines of two T4: an all-reduce of all takes what the log says.
TEST_F(Profile, TakesLogsOfNcclTests) {
  std::string log = "# Collective test starting: all_reduce_perf\n";
  for (int rank = 0; rank < 4; ++rank) {
    log += "#  Rank  " + std::to_string(rank) + " Group  0 Pid  7 on " + (rank < 2 ? "b" : "a") +
           " device  0 [0000:1b:00] Tesla T4\n";
  }
  log +=
      "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
      "   1024    256  float    sum    -1   500   0.00   0.00  0\n"
      "1073741824 268435456 float sum    -1  1e6   1.07   1.61  0\n";
  Write("reduce.log", log);
  std::vector<std::string> plan = {"plan", "mlp.json.gz", "-c", "2x 2xT4", "--batch", "8"};
  plan.insert(plan.end(), {"--algo", "data-parallel", "-o", "t.plan.json"});
  const Outcome before = RunJson(plan);
  ASSERT_EQ(before.status, 0) << before.out;
  const Outcome taken = RunJson(
      {"profile", "--nccl-tests", "reduce.log", "-c", "2x 2xT4", "--cost-store", "costs.sqlite"});
  ASSERT_EQ(taken.status, 0) << taken.out;
  EXPECT_EQ(taken.json()["collectives"][0]["key"], "all-reduce 2xT4/2");
  EXPECT_EQ(taken.json()["collectives"][0]["devices"].size(), 4u);
  plan.insert(plan.end(), {"--cost-store", "costs.sqlite"});
  const Outcome after = RunJson(plan);
  ASSERT_EQ(after.status, 0) << after.out;
  EXPECT_GT(after.json()["step_time_ns"].get<int64_t>(),
            before.json()["step_time_ns"].get<int64_t>() + 400'000);

  const auto refused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"profile", "--cost-store", "costs.sqlite"};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words).err;
  };
  EXPECT_THAT(refused({"--nccl-tests", "reduce.log", "-c", "4xT4"}),
              HasSubstr("reduce.log: 4xT4 has no further machine with 2 Tesla T4"));
  EXPECT_THAT(refused({"--nccl-tests", "reduce.log", "-c", "2x 2xH100"}),
              HasSubstr("no further machine with 2 Tesla T4"));
  EXPECT_THAT(refused({"--nccl-tests", "all-redoce=reduce.log", "-c", "2x 2xT4"}),
              HasSubstr("(did you mean all-reduce?)"));
  EXPECT_THAT(refused({"--nccl-tests", "reduce.log", "-c", "2x 2xT4", "--steps", "5"}),
              HasSubstr("leave --steps out"));
  EXPECT_THAT(refused({"--nccl-tests", "two.yaml", "-c", "2x 2xT4"}),
              HasSubstr("there are no times of a collective"));
}

TEST_F(Profile, WrongInputsAreNamed) {
  // No measurements: which command makes them.
  const Outcome unmeasured =
      Run({"validate", "--suite", "mlp.json.gz", "-c", "two.yaml", "--cost-store", "none.sqlite"});
  EXPECT_EQ(unmeasured.status, 3);
  EXPECT_THAT(unmeasured.err, HasSubstr("none.sqlite"));
  EXPECT_EQ(Run({"validate"}).status, 2);
  EXPECT_EQ(Run({"validate", "--suite"}).status, 2);
  const Outcome gpus = Run({"profile", "mlp.json.gz", "-c", "4xP100", "--cost-store", "c.sqlite"});
  EXPECT_EQ(gpus.status, 6);
  EXPECT_THAT(gpus.err, HasSubstr("has none of the devices"));
  Write("damaged.sqlite", std::string(9000, 'x'));
  for (const Outcome& outcome :
       {Run({"profile", "mlp.json.gz", "-c", "two.yaml", "--cost-store", "damaged.sqlite"}),
        Run({"plan", "mlp.json.gz", "-c", "two.yaml", "--cost-store", "damaged.sqlite"})}) {
    EXPECT_EQ(outcome.status, 3);
    EXPECT_THAT(outcome.err, HasSubstr("damaged.sqlite"));
    EXPECT_THAT(outcome.err, HasSubstr("file-corrupt"));
  }
  EXPECT_EQ(Read("damaged.sqlite"), std::string(9000, 'x'));
  // More cores than any machine has.
  std::string many = kWorkers;
  many.replace(many.find("cores: 1"), 8, "cores: 4096");
  Write("many.yaml", many);
  ASSERT_EQ(
      Run({"plan", "mlp.json.gz", "-c", "many.yaml", "--algo", "single", "-o", "many.plan.json"})
          .status,
      0);
  const Outcome cores = Run({"run", "many.plan.json"});
  EXPECT_EQ(cores.status, 6);
  EXPECT_THAT(cores.err, HasSubstr("state 8192 cores"));
  EXPECT_EQ(Measure({"--batch", "0"}).status, 2);
  EXPECT_EQ(Measure({"--batch", "seven"}).status, 2);
}

// Where the step would have been, and as it was: in the same forms.
TEST_F(Profile, ExecutedSchedulesAreWritten) {
  ASSERT_EQ(Plan({"mlp.json.gz"}).status, 0);
  const Outcome run =
      Run({"run", "mlp.plan.json", "--steps", "6", "--schedule", "executed.json", "--svg",
           "executed.svg", "--html", "executed.html", "--trace", "executed.trace.json"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json planned = Json::parse(Read("mlp.plan.schedule.json"));
  const Json executed = Json::parse(Read("executed.json"));
  EXPECT_EQ(executed["schema"], planned["schema"]);
  ASSERT_EQ(executed["ops"].size(), planned["ops"].size());
  EXPECT_EQ(executed["transfers"].size(), planned["transfers"].size());
  int64_t end = 0;
  for (size_t i = 0; i < executed["ops"].size(); ++i) {
    const Json& op = executed["ops"][i];
    EXPECT_EQ(op["name"], planned["ops"][i]["name"]);
    EXPECT_EQ(op["device"], planned["ops"][i]["device"]);
    EXPECT_LE(op["start_ns"], op["end_ns"]);
    end = std::max(end, op["end_ns"].get<int64_t>());
  }
  EXPECT_GT(end, 0);
  for (const Json& transfer : executed["transfers"]) {
    EXPECT_LE(transfer["ready_ns"], transfer["start_ns"]);
    EXPECT_LT(transfer["start_ns"], transfer["end_ns"]);
  }
  EXPECT_THAT(Read("executed.svg"), HasSubstr("executed:"));
  EXPECT_THAT(Read("executed.html"), HasSubstr("busy shares and peaks are measured"));
  EXPECT_TRUE(Json::parse(Read("executed.trace.json")).contains("traceEvents"));
  EXPECT_EQ(Run({"run", "mlp.plan.json", "--svg", "mlp.json.gz"}).status, 2);
}

}  // namespace
}  // namespace placewright
