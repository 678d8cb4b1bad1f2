// `run`: plans executed.
#include <gmock/gmock.h>

#include "program_runner.h"
#include "small_graphs.h"

namespace placewright {
namespace {

using testing::HasSubstr;

constexpr const char* kTwoCpus = R"(
name: two
kinds:
  core: {class: cpu, architecture: zen3, peak_flops: {f32: 10000000000}, memory_bandwidth: 10 GB/s,
         memory: 1 GiB, launch_overhead: 1 us, runtime_context: 0 B}
devices:
  - {name: cpu0, kind: core, host: 0}
  - {name: cpu1, kind: core, host: 0}
links:
  - {between: [cpu0, cpu1], bandwidth: 10 GB/s, latency: 1 us}
)";

class RunPlan : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
#ifndef PLACEWRIGHT_HAS_TORCH
    GTEST_SKIP() << "built without LibTorch";
#endif
    Write("two.yaml", kTwoCpus);
    ASSERT_EQ(
        Run({"capture", "mlp", "--batch", "8", "--param", "hidden=32", "-o", "mlp.json.gz"}).status,
        0);
  }
  // A plan of that planner.
  void Plan(const std::string& algorithm, const std::string& file,
            const std::string& cluster = "two.yaml") {
    const Outcome planned =
        Run({"plan", "mlp.json.gz", "-c", cluster, "--algo", algorithm, "-o", file});
    ASSERT_EQ(planned.status, 0) << planned.err;
  }
};

TEST_F(RunPlan, MeasuresWhatThePlanPredicts) {
  Plan("layered", "mlp.plan.json");
  const Outcome run = RunJson({"run", "mlp.plan.json", "--steps", "12"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json object = run.json();
  EXPECT_EQ(object["schema"], "placewright.run/1");
  EXPECT_EQ(object["steps"], 12);
  EXPECT_EQ(object["dropped"], 5);
  EXPECT_LE(object["step_time_ns"]["p10"], object["step_time_ns"]["median"]);
  EXPECT_LE(object["step_time_ns"]["median"], object["step_time_ns"]["p90"]);
  ASSERT_EQ(object["loss"].size(), 12u);
  EXPECT_LT(object["loss"].back(), object["loss"].front());  // it trains
  ASSERT_EQ(object["devices"].size(), 2u);
  ASSERT_EQ(object["predicted"]["devices"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(object["devices"][i]["name"], object["predicted"]["devices"][i]["name"]);
    EXPECT_GT(object["devices"][i]["busy"], 0);
    // The prediction rounds every tensor up to 512 bytes.
    const auto measured = object["devices"][i]["peak_memory_bytes"].get<double>();
    const auto predicted = object["predicted"]["devices"][i]["tensor_peak_bytes"].get<double>();
    EXPECT_GT(measured, 0.5 * predicted);
    EXPECT_LT(measured, 1.5 * predicted);
  }
  EXPECT_EQ(object["cost_sources"]["modelled"], 1);
  const Outcome text = Run({"run", "mlp.plan.json", "--steps", "7"});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, HasSubstr("7 steps, 5 of them warm-up"));
  EXPECT_THAT(text.out, HasSubstr("peak of tensors"));
}

// Where ops run changes no bit of what they compute; the seed does.
TEST_F(RunPlan, LossesAreThoseOfAnyPlacement) {
  Plan("single", "one.plan.json");
  Plan("layered", "two.plan.json");
  Plan("layered", "gpus.plan.json", "4xP100");
  const auto losses = [&](const std::string& plan, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", plan, "--steps", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome run = RunJson(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.json()["loss"];
  };
  const Json one = losses("one.plan.json", {"--simulate-devices"});
  EXPECT_EQ(losses("two.plan.json", {"--simulate-devices"}), one);
  EXPECT_EQ(losses("gpus.plan.json", {"--simulate-devices"}), one);
  EXPECT_NE(losses("one.plan.json", {"--simulate-devices", "--seed", "1"}), one);
}

TEST_F(RunPlan, WhatCannotRunIsNamed) {
  Plan("single", "gpu.plan.json", "4xP100");
  const Outcome gpu = RunJson({"run", "gpu.plan.json"});
  EXPECT_EQ(gpu.status, 6);
  EXPECT_THAT(gpu.json()["error"]["message"].get<std::string>(), HasSubstr("host0/gpu0 is a"));
  EXPECT_THAT(gpu.json()["error"]["remedy"].get<std::string>(), HasSubstr("--simulate-devices"));
  Write("net.json", BroadGraph(4, 6, 1 << 20).dump());
  ASSERT_EQ(Run({"plan", "net.json", "--algo", "single", "-o", "net.plan.json"}).status, 0);
  const Outcome costs = RunJson({"run", "net.plan.json"});
  EXPECT_EQ(costs.status, 3);
  EXPECT_THAT(costs.json()["error"]["message"].get<std::string>(), HasSubstr("cannot be executed"));
  EXPECT_EQ(RunJson({"run", "two.yaml"}).status, 3);
  EXPECT_EQ(RunJson({"run", "no.plan.json"}).status, 3);
  EXPECT_EQ(RunJson({"run", "gpu.plan.json", "--steps", "0"}).status, 2);
}

}  // namespace
}  // namespace placewright
