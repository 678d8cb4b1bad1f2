#include "cli/request/validation_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cost/work.h"
#include "torch_api/execution_setup.h"
#include "torch_api/machine_log.h"
#include "torch_api/step_measurement.h"

namespace placewright {
namespace {

// What one placement has shown in all passes.
struct Taken {
  std::vector<StepMeasurement> passes;  // without those of which no step ended
  // Of each step that counts the look at the machine before it; if there is a next one, it is behind it.
  std::vector<size_t> looks;
};

// The pass whose median is nearest to `median`: its parts are shown.
const StepMeasurement& Nearest(const std::vector<StepMeasurement>& passes, Nanos median) {
  const auto away = [&](const StepMeasurement& pass) {
    return std::abs((pass.median() - median).count);
  };
  return *std::min_element(passes.begin(), passes.end(),
                           [&](const auto& a, const auto& b) { return away(a) < away(b); });
}

ValidatedPair PairOf(const ValidationSetting& setting, const SuitePlacement& one,
                     const Prediction& prediction, const StepMeasurement& shown) {
  ValidatedPair pair;
  pair.graph = setting.graph.name();
  pair.plan = one.plan;
  pair.predicted = prediction.result.step_time;
  pair.share_modelled = prediction.share_modelled;
  for (const DeviceId id : setting.cluster.devices()) {
    const DeviceResult& predicted = prediction.result.devices[id.index()];
    pair.workers += predicted.ops > 0 ? 1 : 0;
    pair.devices.push_back(
        {setting.cluster.device(id).name, prediction.peaks[id.index()] + predicted.runtime_context,
         Bytes(shown.peaks[id.index()]), predicted.busy,
         Nanos(static_cast<int64_t>(shown.busy[id.index()] *
                                    static_cast<double>(shown.median().count)))});
  }
  for (const OpId op : setting.graph.ops()) {
    if (setting.graph.op(op).is_view) continue;
    ValidatedPair::OfClass& of_class = pair.classes[WorkOf(setting.graph, op).op_class];
    const OpSpan& predicted = prediction.result.schedule->ops[op];
    const OpSpan& executed = shown.schedule.ops[op];
    of_class.predicted += predicted.end - predicted.start;
    of_class.measured += executed.end - executed.start;
  }
  return pair;
}

}  // namespace

Status Validate(const ValidationSetting& setting, const std::vector<SuitePlacement>& placements,
                const ValidationRun& run, std::vector<ValidatedPair>& pairs,
                std::vector<Error>& errors) {
  const Graph& graph = setting.graph;
  const Cluster& cluster = setting.cluster;
  std::unique_ptr<MachineReference> reference;
  std::optional<MachineLog> machine;
  std::vector<Taken> all(placements.size());
  if (setting.measured != nullptr) {
    PW_ASSIGN(const std::vector<ExecutionDevice> devices, ExecutionDevicesOf(cluster, false));
    PW_ASSIGN(reference, run.profiling.StartReference(
                             devices, std::vector<bool>(devices.size(), true), devices.size() > 1));
    machine.emplace(*reference, devices.size());
  }
  for (int64_t pass = 0; pass < run.passes; ++pass) {
    for (size_t i = 0; i < placements.size() && !run.interrupted; ++i) {
      Taken& taken = all[i];
      const auto fail = [&](Error error) {
        error.message = fmt::format("{}: {}", placements[i].plan, error.message);
        errors.push_back(std::move(error));
      };
      PW_ASSIGN(ExecutionRequest request,
                MakeExecutionRequest(graph, cluster, setting.costs, placements[i].placement,
                                     setting.policy, false));
      Result<std::unique_ptr<Execution>> execution = run.service.Start(std::move(request));
      if (!execution.ok()) {
        fail(std::move(execution.error()));
        continue;
      }
      StepMeasurementOptions options;
      options.steps = run.steps;
      options.stop = StopToken(&run.interrupted);
      if (machine) {
        options.interlude = [&] { return machine->Look(); };
        options.warm = [&] { machine->Warm(); };
      }
      options.progress = [&](int64_t step, const Execution::Step& executed) {
        run.console.Progress(fmt::format("{}, {}: step {} of {}, {}", graph.name(),
                                         placements[i].plan, step + 1, run.steps,
                                         FormatNanos(Nanos(executed.time_ns))));
        if (step >= options.warm_up && machine) {
          taken.looks.push_back(machine->looks().size() - 1);
        }
      };
      const size_t before = taken.looks.size();
      Result<StepMeasurement> measured = MeasureSteps(*execution.value(), placements[i].placement,
                                                      cluster.device_count(), options);
      if (!measured.ok()) {
        taken.looks.resize(before);
        fail(std::move(measured.error()));
        continue;
      }
      if (machine) PW_RETURN_IF_ERROR(machine->LookBehind());
      if (measured.value().steps > 0) taken.passes.push_back(measured.Take());
    }
  }
  for (size_t i = 0; i < placements.size(); ++i) {
    const Taken& taken = all[i];
    if (taken.passes.empty()) continue;
    StepMeasurement together;
    for (const StepMeasurement& pass : taken.passes) {
      together.times_ns.insert(together.times_ns.end(), pass.times_ns.begin(), pass.times_ns.end());
    }
    std::sort(together.times_ns.begin(), together.times_ns.end());
    const Placement& placement = placements[i].placement;
    const Prediction plain = Predict(graph, cluster, setting.costs, placement, setting.policy);
    Prediction now = plain;
    Nanos as_profiled = plain.result.step_time;
    if (setting.measured != nullptr) {
      PW_ASSIGN(const Prediction mixed, setting.measured->Predict(placement, setting.policy));
      as_profiled = mixed.result.step_time;
      now = mixed;
      if (!taken.looks.empty()) {
        const auto& looks = machine->looks();
        std::vector<std::vector<DeviceState>> states;
        std::vector<size_t> of_step;
        for (size_t step = 0; step < taken.looks.size(); ++step) {
          const size_t look = taken.looks[step];
          if (step == 0 || look != taken.looks[step - 1]) {
            states.push_back(Between(looks[look], looks[std::min(look + 1, looks.size() - 1)]));
          }
          of_step.push_back(states.size() - 1);
        }
        PW_ASSIGN(now, setting.measured->PredictMedian(placement, setting.policy, states,
                                                       std::move(of_step)));
      }
    }
    ValidatedPair pair =
        PairOf(setting, placements[i], now, Nearest(taken.passes, together.median()));
    pair.as_profiled = setting.as_planned.value_or(as_profiled);
    pair.measured = together.median();
    pair.low = Nanos(together.Quantile(0.1));
    pair.high = Nanos(together.Quantile(0.9));
    pairs.push_back(std::move(pair));
  }
  return Ok();
}

}  // namespace placewright
