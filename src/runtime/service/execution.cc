#include "runtime/service/execution.h"

#include <ATen/ATen.h>

#include <chrono>
#include <utility>

#include "base/stop.h"
#include "runtime/executor/executor.h"
#include "runtime/inputs/seeded_inputs.h"

namespace placewright {
namespace {

class ExecutionHere : public Execution {
 public:
  explicit ExecutionHere(std::unique_ptr<Executor> executor, bool has_output, size_t devices)
      : executor_(std::move(executor)), has_output_(has_output), devices_(devices) {}

  Result<Step> Run() override {
    const Clock::time_point begin = Clock::now();
    PW_RETURN_IF_ERROR(executor_->Step());
    Step step;
    step.time_ns =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count();
    if (has_output_) {
      const at::Tensor loss = executor_->Output(0);
      if (loss.defined() && loss.numel() == 1) step.loss = loss.to(at::kDouble).item<double>();
    }
    for (const DeviceId device : IdRange<DeviceId>(devices_)) {
      step.busy_ns.push_back(executor_->busy_ns(device));
    }
    return step;
  }

  std::vector<int64_t> TakePeaks() override {
    std::vector<int64_t> peaks;
    for (const DeviceId device : IdRange<DeviceId>(devices_)) {
      DeviceMemory& memory = executor_->device(device).memory();
      peaks.push_back(memory.peak());
      memory.ResetPeak();
    }
    return peaks;
  }

 private:
  std::unique_ptr<Executor> executor_;
  const bool has_output_;
  const size_t devices_;
};

}  // namespace

Result<std::unique_ptr<Execution>> StartExecution(ExecutionRequest request) {
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  for (const ExecutionDevice& device : request.devices) {
    const CpuDeviceOptions options{device.name, device.threads, device.memory_limit};
    devices.push_back(device.kind == ExecutionDevice::Kind::kCpu ? MakeCpuDevice(options)
                                                                 : MakeSimulatedDevice(options));
  }
  PW_ASSIGN(auto executor, Executor::Create(*request.graph, request.placement, std::move(devices),
                                            {request.policy, std::move(request.paths), {}}));
  PW_ASSIGN(const auto inputs, SeededInputs(*request.graph, request.seed));
  for (const auto& [id, tensor] : inputs) PW_RETURN_IF_ERROR(executor->SetInput(id, tensor));
  at::manual_seed(request.seed);
  return std::unique_ptr<Execution>(std::make_unique<ExecutionHere>(
      std::move(executor), !request.graph->outputs().empty(), request.devices.size()));
}

}  // namespace placewright
