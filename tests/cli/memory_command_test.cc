// `memory`: the three peaks of a plan, end to end.
#include <gmock/gmock.h>

#include "recorded_mlp.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

class MemoryCommand : public RecordedMlp {
 protected:
  // Two GPUs of 1 GiB with a context of 100 MiB and a link of 10 GB/s: the fewest channels, 2.
  static constexpr const char* kGpus = R"(
name: gpus
kinds:
  gpu: {class: gpu, architecture: ampere, peak_flops: {f32: 10000000000}, memory_bandwidth: 10 GB/s,
        memory: 1 GiB, launch_overhead: 1 us, runtime_context: 100 MiB}
devices:
  - {name: gpu0, kind: gpu, host: 0}
  - {name: gpu1, kind: gpu, host: 0}
links:
  - {between: [gpu0, gpu1], bandwidth: 10 GB/s, latency: 1 us}
)";
  static constexpr int64_t kMiB = int64_t{1} << 20;

  void SetUp() override {
    RecordedMlp::SetUp();
    if (IsSkipped()) return;
    Write("gpus.yaml", kGpus);
  }

  Json Measure(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"memory", "mlp.json.gz", "-c", "gpus.yaml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome run = RunJson(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json();
  }
};

TEST_F(MemoryCommand, PeaksOfDataParallelismAreSumsOfTheirParts) {
  const Json result = Measure({"--algo", "data-parallel"});
  EXPECT_EQ(result["schema"], "placewright.memory/1");
  EXPECT_EQ(result["fits"], true);
  ASSERT_EQ(result["devices"].size(), 2u);
  for (const Json& device : result["devices"]) {
    int64_t allocated = 0;
    for (const auto& [name, bytes] : device["allocated"].items()) allocated += bytes.get<int64_t>();
    EXPECT_EQ(device["allocated_bytes"], allocated);
    EXPECT_GT(device["allocated"]["parameters"], 0);
    // The small pool, and the large one for the workspace of products: whole segments of 2 MiB.
    EXPECT_GE(device["reserved_bytes"], allocated);
    EXPECT_EQ(device["reserved_bytes"].get<int64_t>() % (2 * kMiB), 0);
    // Two GPUs that sum: a ring and one of a tree, of 2 channels of 10 MiB each.
    EXPECT_EQ(device["communicators"], 1);
    EXPECT_EQ(device["library_bytes"], 40 * kMiB);
    EXPECT_EQ(device["context_bytes"], 100 * kMiB);
    EXPECT_EQ(device["device_bytes"], device["reserved_bytes"].get<int64_t>() + 140 * kMiB);
    // The default reserve of 5% is not kept: it stands for what is counted.
    EXPECT_EQ(device["offered_bytes"], 1024 * kMiB);
  }
}

TEST_F(MemoryCommand, APlanOfAFileHasThePeaksOfItsAlgorithm) {
  ASSERT_EQ(Run({"plan", "mlp.json.gz", "-c", "gpus.yaml", "--algo", "data-parallel", "-o",
                 "dp.plan.json"})
                .status,
            0);
  const Json made = Measure({"--algo", "data-parallel"});
  const Json read = Measure({"--plan", "dp.plan.json"});
  EXPECT_EQ(read["devices"], made["devices"]);
  EXPECT_EQ(read["algorithm"], "data-parallel");
  EXPECT_EQ(read["plan_file"], "dp.plan.json");
}

// A plan says how its step is rewritten; a plan of another step is one for `memory` and `simulate` alike.
TEST_F(MemoryCommand, APlanHasItsRewriting) {
  const std::vector<std::string> plan = {
      "plan", "mlp.json.gz",     "-c", "gpus.yaml", "--algo",
      "fsdp", "--micro-batches", "2",  "-o",        "two.plan.json"};
  ASSERT_EQ(Run(plan).status, 0);
  const Json made = Measure({"--algo", "fsdp", "--micro-batches", "2"});
  const Json read = Measure({"--plan", "two.plan.json"});
  EXPECT_EQ(read["devices"], made["devices"]);
  EXPECT_EQ(read["step_time_ns"], made["step_time_ns"]);
  EXPECT_NE(read["step_time_ns"], Measure({"--algo", "fsdp"})["step_time_ns"]);
}

// Its ops are whole, each on one device; what it fetches from the host it gives up behind each pass.
TEST_F(MemoryCommand, APlanOfWholeOpsHasItsFetching) {
  const std::string step =
      std::string(PLACEWRIGHT_SOURCE_DIR) + "/examples/tiny_transformer_adam.json.gz";
  const std::vector<std::string> offload = {"--algo", "offload", "--set", "layers=4",
                                            "copies=fetched-anew"};
  std::vector<std::string> plan = {"plan", step, "-c", "1xH100", "-o", "offload.plan.json"};
  std::vector<std::string> measure = {"memory", step, "-c", "1xH100"};
  plan.insert(plan.end(), offload.begin(), offload.end());
  measure.insert(measure.end(), offload.begin(), offload.end());
  const Outcome made = Run(plan);
  ASSERT_EQ(made.status, 0) << made.err;
  const Json planned = RunJson(measure).json();
  const Json read = RunJson({"memory", step, "-c", "1xH100", "--plan", "offload.plan.json"}).json();
  EXPECT_EQ(read["devices"], planned["devices"]);
  EXPECT_EQ(read["step_time_ns"], planned["step_time_ns"]);
}

TEST_F(MemoryCommand, APlanOfAnotherGraphIsAMismatch) {
  ASSERT_EQ(
      Run({"plan", "mlp.json.gz", "-c", "gpus.yaml", "--algo", "m-etf", "-o", "placed.plan.json"})
          .status,
      0);
  ASSERT_EQ(Run({"plan", "mlp.json.gz", "-c", "gpus.yaml", "--algo", "fsdp", "--micro-batches", "2",
                 "-o", "two.plan.json"})
                .status,
            0);
  const std::string other =
      std::string(PLACEWRIGHT_SOURCE_DIR) + "/examples/tiny_transformer_adam.json.gz";
  for (const char* const file : {"placed.plan.json", "two.plan.json"}) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"memory", "--plan"}, {"simulate", "--placement"}}) {
      const Outcome run = RunJson({command[0], other, "-c", "gpus.yaml", command[1], file});
      EXPECT_EQ(run.json()["error"]["code"], "plan-mismatch") << command[0] << " " << run.out;
    }
  }
}

// A plan runs ops on GPUs that the cluster lacks: what its globs name of those that are there is another plan.
TEST_F(MemoryCommand, APlanOfAnotherClusterIsAMismatch) {
  ASSERT_EQ(
      Run({"plan", "mlp.json.gz", "-c", "2x 2xH100", "--algo", "zero-2", "-o", "four.plan.json"})
          .status,
      0);
  const Outcome run =
      RunJson({"memory", "mlp.json.gz", "-c", "2xH100", "--plan", "four.plan.json"});
  EXPECT_EQ(run.status, 3);
  const Json error = run.json()["error"];
  EXPECT_EQ(error["code"], "plan-mismatch") << error;
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("host1/gpu0"));
  EXPECT_THAT(error["remedy"].get<std::string>(), HasSubstr("the cluster"));
}

// Tensors and the context have to leave it free; what lies beside tensors may take it.
TEST_F(MemoryCommand, TensorsLeaveTheReserveFree) {
  const Json plenty = Measure({"--algo", "data-parallel", "--memory-reserve", "24 MiB"});
  EXPECT_EQ(plenty["devices"][0]["offered_bytes"], 1024 * kMiB);
  EXPECT_EQ(plenty["fits"], true);
  // The context alone takes 100 MiB of the 924 that are left.
  const Json tight = Measure({"--algo", "data-parallel", "--memory-reserve", "923 MiB"});
  EXPECT_EQ(tight["fits"], false);
  EXPECT_LT(tight["devices"][0]["device_bytes"], 1024 * kMiB);
}

// What is beside the tensors takes 140 MiB and segments: 160 MiB are too few though all tensors fit them. No command says
// that it fits.
TEST_F(MemoryCommand, OneVerdictOfAllCommands) {
  std::string small = kGpus;
  small.replace(small.find("memory: 1 GiB"), 13, "memory: 160 MiB");
  Write("small.yaml", small);
  const Outcome run = Run({"memory", "mlp.json.gz", "-c", "small.yaml", "--algo", "data-parallel"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("does not fit"));
  EXPECT_THAT(run.out, HasSubstr("gpu0-1"));  // alike: one table
  EXPECT_THAT(run.out, HasSubstr("over by"));
  const Outcome plan = Run({"plan", "mlp.json.gz", "-c", "small.yaml", "--algo", "data-parallel"});
  EXPECT_EQ(plan.status, 5);
  EXPECT_THAT(plan.err, HasSubstr("the plan of data-parallel does not fit: gpu"));
}

// As much memory as the plan's device peak, and 1 MiB less: `plan` writes what `memory` says fits, and nothing else.
TEST_F(MemoryCommand, APlanIsWrittenIfItsDevicePeakFits) {
  for (const std::string algorithm : {"data-parallel", "fsdp"}) {
    const Json peaks = Measure({"--algo", algorithm})["devices"][0];
    const int64_t needed = peaks["device_bytes"].get<int64_t>() / kMiB;
    for (const int64_t mebibytes : {needed - 41, needed - 1, needed, needed + 1, needed + 60}) {
      std::string gpus = kGpus;
      gpus.replace(gpus.find("memory: 1 GiB"), 13,
                   "memory: " + std::to_string(mebibytes) + " MiB, reserve: 0");
      Write("sized.yaml", gpus);
      const std::vector<std::string> of = {"mlp.json.gz", "-c", "sized.yaml", "--algo", algorithm};
      std::vector<std::string> memory = {"memory"}, plan = {"plan"};
      memory.insert(memory.end(), of.begin(), of.end());
      plan.insert(plan.end(), of.begin(), of.end());
      const bool fits = RunJson(memory).json()["fits"];
      EXPECT_EQ(Run(plan).status, fits ? 0 : 5) << algorithm << " " << mebibytes;
      EXPECT_TRUE(fits || mebibytes < needed) << algorithm << " " << mebibytes;
      EXPECT_TRUE(!fits || mebibytes >= needed - 40) << algorithm << " " << mebibytes;
    }
  }
}

TEST_F(MemoryCommand, APlanHasItsAlgorithm) {
  const Outcome run = Run({"memory", "mlp.json.gz", "-c", "gpus.yaml", "--plan", "x.plan.json",
                           "--algo", "data-parallel"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--algo cannot be used with a plan"));
}

}  // namespace
}  // namespace placewright
