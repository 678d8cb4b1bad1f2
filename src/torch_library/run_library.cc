// The entry of libplacewright_torch_run.so: plans executed, ops measured.
#include "aten/blas.h"
#include "aten/torch_version.h"
#include "runtime/device/device.h"
#include "runtime/measuring/measuring_evaluator.h"
#include "runtime/profiler/machine_reference.h"
#include "runtime/profiler/profiling.h"
#include "runtime/profiler/rank_profiling.h"
#include "runtime/service/execution.h"
#include "runtime/service/processes.h"
#include "torch_api/blas.h"
#include "torch_api/evaluator_service.h"
#include "torch_api/torch_api.h"

namespace placewright {
namespace {

class Executions : public ExecutionService {
 public:
  Result<std::unique_ptr<Execution>> Start(ExecutionRequest request) const override {
    return StartExecution(std::move(request));
  }
  Result<std::unique_ptr<Processes>> Join(const JoinRequest& request) const override {
    return JoinProcesses(request);
  }
};

class Evaluators : public EvaluatorService {
 public:
  Result<std::unique_ptr<Evaluator>> MakeMeasuringEvaluator(const Problem& problem) const override {
    return placewright::MakeMeasuringEvaluator(problem);
  }
};

class Profiling : public ProfilingService {
 public:
  Result<std::vector<DeviceProfile>> ProfileStep(const Graph& graph,
                                                 const std::vector<ExecutionDevice>& devices,
                                                 const std::vector<bool>& alone, bool loaded,
                                                 const ProfilingOptions& options) const override {
    return placewright::ProfileStep(graph, devices, alone, loaded, options);
  }
  Result<std::unique_ptr<MachineReference>> StartReference(
      const std::vector<ExecutionDevice>& devices, const std::vector<bool>& alone,
      bool loaded) const override {
    return placewright::StartReference(devices, alone, loaded);
  }
  Result<std::vector<TransferSample>> ProfileTransfers(
      const ExecutionDevice& from, const ExecutionDevice& to, Bytes max,
      const ProfilingOptions& options) const override {
    return placewright::ProfileTransfers(from, to, max, options);
  }
  Result<ExchangeProfile> ProfileExchange(const RankDevices& ranks, const Exchange& exchange,
                                          Bytes max,
                                          const ProfilingOptions& options) const override {
    return placewright::ProfileExchange(ranks, exchange, max, options);
  }
};

class RunLibraryApi : public TorchApi {
 public:
  int version() const override { return kVersion; }
  std::string libtorch_version() const override { return kTorchVersion; }
  int cuda_devices() const override { return CudaDeviceCount(); }
  std::string blas() const override { return WithBlasKernels(BlasLibrary()); }
  const ExecutionService* executions() const override { return &executions_; }
  const ProfilingService* profiling() const override { return &profiling_; }
  const EvaluatorService* evaluators() const override { return &evaluators_; }

 private:
  Executions executions_;
  Profiling profiling_;
  Evaluators evaluators_;
};

}  // namespace
}  // namespace placewright

extern "C" const placewright::TorchApi* placewright_torch_api() {
  static const placewright::RunLibraryApi api;
  return &api;
}
