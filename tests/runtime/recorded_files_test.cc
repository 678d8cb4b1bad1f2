// Steps that others recorded (make_fx, through files) run, too: on two devices with the bits of one.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/input.h"
#include "runtime/executor/executor.h"
#include "runtime/inputs/seeded_inputs.h"
#include "simulated_devices.h"

namespace placewright {
namespace {

struct Outcome {
  std::vector<at::Tensor> outputs;
  int64_t peak = 0;
};

Result<Outcome> RunOn(const Graph& graph, size_t count, int steps) {
  Random random(1);
  PW_ASSIGN(const auto executor, Executor::Create(graph, RandomPlacement(graph, count, random),
                                                  SimulatedDevices(count)));
  PW_ASSIGN(const auto inputs, SeededInputs(graph, 3));
  for (const auto& [id, tensor] : inputs) PW_RETURN_IF_ERROR(executor->SetInput(id, tensor));
  at::manual_seed(5);
  for (int step = 0; step < steps; ++step) PW_RETURN_IF_ERROR(executor->Step());
  Outcome outcome;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    outcome.outputs.push_back(executor->Output(i).clone());
  }
  outcome.peak = executor->device(DeviceId(0)).memory().peak();
  return outcome;
}

class RecordedFiles : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedFiles, RunOnTwoDevicesAsOnOne) {
  const std::string path = std::string(PLACEWRIGHT_SHARED_DATA) + "/fx/" + GetParam() + ".json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  at::set_num_threads(1);
  const Result<LoadedGraph> loaded = LoadGraph(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().ToString();
  const Graph& graph = loaded.value().graph;
  const Result<Outcome> one = RunOn(graph, 1, 2), two = RunOn(graph, 2, 2);
  ASSERT_TRUE(one.ok()) << one.error().ToString();
  ASSERT_TRUE(two.ok()) << two.error().ToString();
  ASSERT_EQ(one.value().outputs.size(), two.value().outputs.size());
  for (size_t i = 0; i < one.value().outputs.size(); ++i) {
    EXPECT_TRUE(one.value().outputs[i].equal(two.value().outputs[i])) << "output " << i;
  }
  EXPECT_TRUE(one.value().outputs[0].isfinite().all().item<bool>());
  EXPECT_GT(one.value().peak, two.value().peak);
}

INSTANTIATE_TEST_SUITE_P(Shared, RecordedFiles,
                         ::testing::Values("tiny_bert_l2_b2_s64_adam", "tiny_rnnlm_1x64_b2_t3_sgd",
                                           "alexnet_b4_sgd"));

}  // namespace
}  // namespace placewright
