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

TEST_F(MemoryCommand, AReserveOfOnesOwnIsKeptFree) {
  const Json result = Measure({"--algo", "data-parallel", "--memory-reserve", "24 MiB"});
  EXPECT_EQ(result["devices"][0]["offered_bytes"], 1000 * kMiB);
}

// What is beside the tensors takes 140 MiB and segments: 160 MiB are too few though all tensors fit them.
TEST_F(MemoryCommand, FitsIsOfTheDevice) {
  std::string small = kGpus;
  small.replace(small.find("memory: 1 GiB"), 13, "memory: 160 MiB");
  Write("small.yaml", small);
  const Outcome run = Run({"memory", "mlp.json.gz", "-c", "small.yaml", "--algo", "data-parallel"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("does not fit"));
  EXPECT_THAT(run.out, HasSubstr("gpu0-1"));  // alike: one table
  EXPECT_THAT(run.out, HasSubstr("over by"));
  EXPECT_THAT(run.err, HasSubstr("`plan` says that it fits"));
}

TEST_F(MemoryCommand, APlanHasItsAlgorithm) {
  const Outcome run = Run({"memory", "mlp.json.gz", "-c", "gpus.yaml", "--plan", "x.plan.json",
                           "--algo", "data-parallel"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--algo cannot be used with --plan"));
}

}  // namespace
}  // namespace placewright
