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
  std::vector<StepMeasurement> passes;  // without those of which no step counts
  std::vector<std::vector<DeviceState>>
      states;  // of each step that counts; empty where not looked for
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

// One pass of one placement.
Status Execute(const ValidationSetting& setting, const SuitePlacement& one,
               const ValidationRun& run, MachineLog* machine, Taken& taken) {
  PW_ASSIGN(ExecutionRequest request,
            MakeExecutionRequest(setting.graph, setting.cluster, setting.costs, one.placement,
                                 setting.policy, false));
  PW_ASSIGN(const std::unique_ptr<Execution> execution, run.service.Start(std::move(request)));
  std::vector<size_t> looks;  // of each step that counts the one before it
  StepMeasurementOptions options;
  options.steps = run.steps;
  options.graph = &setting.graph;
  options.stop = StopToken(&run.interrupted);
  if (machine != nullptr) {
    options.interlude = [&] { return machine->Look(); };
    options.warm = [&] { machine->Warm(); };
  }
  options.progress = [&](int64_t step, const Execution::Step& executed) {
    run.console.Progress(fmt::format("{}, {}: step {} of {}, {}", setting.graph.name(), one.plan,
                                     step + 1, run.steps, FormatNanos(Nanos(executed.time_ns))));
    if (step >= options.warm_up && machine != nullptr) looks.push_back(machine->looks().size() - 1);
  };
  PW_ASSIGN(StepMeasurement measured,
            MeasureSteps(*execution, one.placement, setting.cluster.device_count(), options));
  if (measured.failure) return *measured.failure;
  if (measured.steps <= options.warm_up) return Ok();  // interrupted: none that counts
  if (machine != nullptr) {
    PW_RETURN_IF_ERROR(machine->LookBehind());
    const auto& seen = machine->looks();
    for (const size_t look : looks) {
      taken.states.push_back(Between(seen[look], seen[std::min(look + 1, seen.size() - 1)]));
    }
  }
  taken.passes.push_back(std::move(measured));
  return Ok();
}

// What all passes have come to, beside what is predicted.
Result<ValidatedPair> Compare(const ValidationSetting& setting, const SuitePlacement& one,
                              const Taken& taken) {
  StepMeasurement together;
  for (const StepMeasurement& pass : taken.passes) {
    together.times_ns.insert(together.times_ns.end(), pass.times_ns.begin(), pass.times_ns.end());
  }
  std::sort(together.times_ns.begin(), together.times_ns.end());
  Prediction now;
  Nanos as_profiled;
  if (setting.measured == nullptr) {
    now = Predict(setting.graph, setting.cluster, setting.costs, one.placement, setting.policy);
    as_profiled = now.result.step_time;
  } else {
    PW_ASSIGN(const Prediction mixed, setting.measured->Predict(one.placement, setting.policy));
    as_profiled = mixed.result.step_time;
    PW_ASSIGN(now, setting.measured->PredictMedian(one.placement, setting.policy, taken.states));
  }
  ValidatedPair pair = PairOf(setting, one, now, Nearest(taken.passes, together.median()));
  pair.as_profiled = setting.as_planned.value_or(as_profiled);
  pair.measured = together.median();
  pair.low = Nanos(together.Quantile(0.1));
  pair.high = Nanos(together.Quantile(0.9));
  return pair;
}

}  // namespace

Status Validate(const ValidationSetting& setting, const std::vector<SuitePlacement>& placements,
                const ValidationRun& run, std::vector<ValidatedPair>& pairs,
                std::vector<Error>& errors) {
  std::unique_ptr<MachineReference> reference;
  std::optional<MachineLog> machine;
  if (setting.measured != nullptr) {
    PW_ASSIGN(const std::vector<ExecutionDevice> devices,
              ExecutionDevicesOf(setting.cluster, false));
    PW_ASSIGN(reference, run.profiling.StartReference(
                             devices, std::vector<bool>(devices.size(), true), devices.size() > 1));
    machine.emplace(*reference, devices.size());
  }
  std::vector<Taken> all(placements.size());
  const auto note = [&](const SuitePlacement& one, Error error) {
    error.message = fmt::format("{}: {}", one.plan, error.message);
    errors.push_back(std::move(error));
  };
  for (int64_t pass = 0; pass < run.passes; ++pass) {
    for (size_t i = 0; i < placements.size() && !run.interrupted; ++i) {
      Status executed = Execute(setting, placements[i], run, machine ? &*machine : nullptr, all[i]);
      if (!executed.ok()) note(placements[i], std::move(executed.error()));
    }
  }
  for (size_t i = 0; i < placements.size(); ++i) {
    if (all[i].passes.empty()) continue;
    Result<ValidatedPair> pair = Compare(setting, placements[i], all[i]);
    if (pair.ok()) {
      pairs.push_back(pair.Take());
    } else {
      note(placements[i], std::move(pair.error()));
    }
  }
  return Ok();
}

}  // namespace placewright
