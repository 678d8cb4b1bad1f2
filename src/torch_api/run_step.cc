#include <fmt/format.h>
#include <placewright/run_step.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "cost/cost_model.h"
#include "sim/engine/sim_graph.h"
#include "sim/placement_check.h"
#include "torch_api/execution_setup.h"
#include "torch_api/step_measurement.h"
#include "torch_api/torch_library.h"

namespace placewright {
namespace {

class ValuesOfExecution : public StepValues {
 public:
  ValuesOfExecution(const Graph& graph, Execution& execution)
      : graph_(graph), execution_(execution) {}

  Status Set(std::string_view name, std::string_view bytes) override {
    PW_ASSIGN(const TensorId id, Find(name));
    const Bytes wanted = graph_.tensor(id).bytes;
    if (static_cast<int64_t>(bytes.size()) != wanted.count) {
      return MakeError(ErrorCode::kField,
                       fmt::format("{} bytes are given for \"{}\", which has {}", bytes.size(),
                                   Printable(name, 80), wanted.count));
    }
    return execution_.SetInput(id, bytes);
  }
  Result<std::string> Get(std::string_view name) const override {
    PW_ASSIGN(const TensorId id, Find(name));
    return execution_.ReadInput(id);
  }

 private:
  Result<TensorId> Find(std::string_view name) const {
    for (const TensorId id : graph_.tensors()) {
      const Tensor& tensor = graph_.tensor(id);
      if (tensor.producer.valid()) continue;
      if (tensor.name == name || tensor.name == "input:" + std::string(name)) return id;
    }
    return MakeError(ErrorCode::kUnknownName,
                     "the step has no input, parameter or state \"" + Printable(name, 80) + "\"");
  }

  const Graph& graph_;
  Execution& execution_;
};

}  // namespace

Result<StepRun> RunStep(const Graph& graph, const Cluster& cluster, const Placement& placement,
                        const RunRequest& request) {
  if (request.steps < 1) {
    return MakeError(ErrorCode::kUsage, fmt::format("{} steps cannot be run", request.steps));
  }
  PW_RETURN_IF_ERROR(CheckExecutable(graph));
  PW_ASSIGN(const CostTable costs, ModelCosts(graph, cluster, {}));
  PW_RETURN_IF_ERROR(
      CheckPlacementLegal(BuildSimGraph(graph, cluster, costs), graph, cluster, placement));
  PW_ASSIGN(ExecutionRequest execute,
            MakeExecutionRequest(graph, cluster, costs, placement, request.policy,
                                 request.simulate_devices));
  execute.seed = request.seed;
  PW_ASSIGN(const TorchLibrary library, TorchLibrary::Open(TorchLibrary::Part::kRun));
  const ExecutionService* const service = library.api().executions();
  if (service == nullptr) {
    return MakeError(ErrorCode::kMissingRuntime, library.path() + " executes no plans");
  }
  PW_ASSIGN(const std::unique_ptr<Execution> execution, service->Start(std::move(execute)));
  ValuesOfExecution values(graph, *execution);
  StepMeasurementOptions options;
  options.steps = request.steps;
  options.graph = &graph;
  options.stop = request.stop;
  if (request.batch) {
    options.prepare = [&](int64_t step) { return request.batch(step, values); };
  }
  if (request.progress) {
    options.progress = [&](int64_t step, const Execution::Step& taken) {
      request.progress(step, Nanos(taken.time_ns), taken.loss);
    };
  }
  PW_ASSIGN(StepMeasurement measured,
            MeasureSteps(*execution, placement, cluster.device_count(), options));
  if (measured.failure) return std::move(*measured.failure);
  if (request.finish) PW_RETURN_IF_ERROR(request.finish(values));
  StepRun run;
  run.steps = measured.steps;
  run.dropped = measured.dropped;
  run.median = measured.median();
  run.p10 = Nanos(measured.Quantile(0.1));
  run.p90 = Nanos(measured.Quantile(0.9));
  run.losses = std::move(measured.losses);
  for (const DeviceId id : cluster.devices()) {
    run.devices.push_back(
        {cluster.device(id).name, measured.busy[id.index()], Bytes(measured.peaks[id.index()])});
  }
  run.schedule = std::move(measured.schedule);
  return run;
}

}  // namespace placewright
