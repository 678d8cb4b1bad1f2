#include "runtime/service/execution.h"

#include <ATen/ATen.h>
#include <sched.h>

#include <algorithm>
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
    return step;
  }
  Schedule LastSchedule() const override { return executor_->LastSchedule(); }
  IdVector<OpId, int64_t> LastWorkspaces() const override { return executor_->LastWorkspaces(); }

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

std::vector<int> CoresOfThisProcess() {
  std::vector<int> cores;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  return cores;
}

// The cores of each device, one device after the other; none for any where they do not suffice for all.
std::vector<std::vector<int>> ShareCores(const std::vector<ExecutionDevice>& devices) {
  const std::vector<int> cores = CoresOfThisProcess();
  std::vector<std::vector<int>> shares(devices.size());
  size_t next = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto threads = static_cast<size_t>(std::max(1, devices[i].threads));
    const size_t first =
        devices[i].first_core >= 0 ? static_cast<size_t>(devices[i].first_core) : next;
    if (first + threads > cores.size()) return std::vector<std::vector<int>>(devices.size());
    shares[i].assign(cores.begin() + static_cast<int64_t>(first),
                     cores.begin() + static_cast<int64_t>(first + threads));
    next = first + threads;
  }
  return shares;
}

}  // namespace

Result<std::unique_ptr<Execution>> StartExecution(ExecutionRequest request) {
  const std::vector<std::vector<int>> cores = ShareCores(request.devices);
  std::vector<std::unique_ptr<RuntimeDevice>> devices;
  for (size_t i = 0; i < request.devices.size(); ++i) {
    const ExecutionDevice& device = request.devices[i];
    CpuDeviceOptions options{device.name, device.threads, device.memory_limit};
    if (device.kind == ExecutionDevice::Kind::kCpu) options.cores = cores[i];
    devices.push_back(device.kind == ExecutionDevice::Kind::kCpu ? MakeCpuDevice(options)
                                                                 : MakeSimulatedDevice(options));
  }
  ExecutorOptions options;
  options.policy = request.policy;
  options.paths = std::move(request.paths);
  options.measure_workspace = request.measure_workspace;
  PW_ASSIGN(auto executor, Executor::Create(*request.graph, request.placement, std::move(devices),
                                            std::move(options)));
  PW_ASSIGN(const auto inputs, SeededInputs(*request.graph, request.seed));
  for (const auto& [id, tensor] : inputs) PW_RETURN_IF_ERROR(executor->SetInput(id, tensor));
  at::manual_seed(request.seed);
  return std::unique_ptr<Execution>(std::make_unique<ExecutionHere>(
      std::move(executor), !request.graph->outputs().empty(), request.devices.size()));
}

}  // namespace placewright
