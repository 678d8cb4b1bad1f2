// bench_executor [ROUNDS]: the time of a whole training step, executed op by op on one CPU device of one
// thread, beside that of eager LibTorch: forward, backward and update. Steps of both alternate, ROUNDS
// times (default 30); medians, and the median of the ratios of neighbours.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/stop.h"
#include "capture/step/model_step.h"
#include "runtime/executor/executor.h"

namespace placewright {
namespace {

struct Case {
  const char* label;
  CaptureRequest request;
};

std::vector<Case> Cases() {
  const auto of = [](const char* model, std::map<std::string, double> values) {
    CaptureRequest request;
    request.model = model;
    request.training = Training::kAdam;
    request.values = std::move(values);
    return request;
  };
  return {{"MLP, 4 x 6", of("mlp", {{"batch", 4}, {"features", 6}, {"hidden", 8}, {"classes", 3}})},
          {"RNNLM, 32 wide",
           of("rnnlm-2", {{"batch", 4}, {"steps", 10}, {"hidden", 32}, {"vocabulary", 100}})},
          {"BERT, 16 wide", of("bert-base", {{"batch", 2},
                                             {"sequence", 8},
                                             {"layers", 2},
                                             {"hidden", 16},
                                             {"heads", 2},
                                             {"inner", 32},
                                             {"positions", 12},
                                             {"vocabulary", 50}})},
          {"BERT, 512 wide", of("bert-base", {{"batch", 4},
                                              {"sequence", 128},
                                              {"layers", 2},
                                              {"hidden", 512},
                                              {"heads", 8},
                                              {"inner", 2048},
                                              {"positions", 128},
                                              {"vocabulary", 1000}})},
          {"ResNet-50, 4 images of 64", of("resnet-50", {{"batch", 4}, {"size", 64}})},
          {"VGG-16, 4 images of 32", of("vgg-16", {{"batch", 4}, {"size", 32}, {"hidden", 512}})}};
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class Body>
double Microseconds(const Body& body) {
  const Clock::time_point begin = Clock::now();
  body();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

Status Measure(const Case& one, int rounds) {
  PW_ASSIGN(ModelStep step, ModelStep::Build(one.request, false));
  PW_ASSIGN(const ModelStep::Recording recording, step.Record());
  const Graph& graph = recording.step.graph;
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  devices.push_back(MakeCpuDevice({"cpu:0", 1, 0}));
  PW_ASSIGN(const auto executor,
            Executor::Create(graph, Placement(graph.op_count(), DeviceId(0)), std::move(devices)));
  for (const auto& [id, tensor] : recording.step.inputs) {
    PW_RETURN_IF_ERROR(executor->SetInput(id, tensor.detach()));
  }
  std::vector<double> eager, executed, ratios;
  for (int round = -3; round < rounds; ++round) {
    Status failed = Ok();
    const double own = Microseconds([&] {
      const auto loss = step.Run();
      if (!loss.ok()) failed = loss.error();
    });
    const double ours = Microseconds([&] {
      const Status ran = executor->Step();
      if (!ran.ok()) failed = ran.error();
    });
    PW_RETURN_IF_ERROR(failed);
    if (round < 0) continue;  // warm-up
    eager.push_back(own);
    executed.push_back(ours);
    ratios.push_back(ours / own);
  }
  std::printf("%-26s %6zu %12.0f %12.0f %8.3f\n", one.label, graph.op_count(), Median(eager),
              Median(executed), Median(ratios));
  std::fflush(stdout);
  return Ok();
}

int Main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: bench_executor [ROUNDS]\n");
    return 2;
  }
  at::set_num_threads(1);
  std::printf("%-26s %6s %12s %12s %8s\n", "model", "ops", "eager us", "executed us", "ratio");
  for (const Case& one : Cases()) {
    const Status measured = Measure(one, rounds);
    if (measured.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", one.label, measured.error().ToString().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace placewright

int main(int argc, char** argv) { return placewright::Main(argc, argv); }
