// A recorded step of a small network, and two CPU workers to execute it on.
#ifndef PLACEWRIGHT_TESTS_CLI_RECORDED_MLP_H_
#define PLACEWRIGHT_TESTS_CLI_RECORDED_MLP_H_

#include "program_runner.h"

namespace placewright {

// In a folder with mlp.json.gz and two.yaml, whose kind of CPU is called worker and states one core.
class RecordedMlp : public TorchProgramTest {
 protected:
  static constexpr const char* kWorkers = R"(
name: two
kinds:
  worker: {class: cpu, architecture: zen3, peak_flops: {f32: 10000000000}, memory_bandwidth: 10 GB/s,
           memory: 1 GiB, launch_overhead: 1 us, runtime_context: 0 B, cores: 1}
devices:
  - {name: cpu0, kind: worker, host: 0}
  - {name: cpu1, kind: worker, host: 0}
links:
  - {between: [cpu0, cpu1], bandwidth: 10 GB/s, latency: 1 us}
)";

  void SetUp() override {
    TorchProgramTest::SetUp();
    if (IsSkipped()) return;
    Write("two.yaml", kWorkers);
    ASSERT_EQ(
        Run({"capture", "mlp", "--batch", "8", "--param", "hidden=32", "-o", "mlp.json.gz"}).status,
        0);
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TESTS_CLI_RECORDED_MLP_H_
