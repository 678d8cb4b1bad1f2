#include "runtime/profiler/profiling.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "graph/graph_builder.h"
#include "runtime/profiler/machine_reference.h"
#include "runtime/profiler/turns.h"
#include "runtime/service/execution.h"
#include "torch_api/machine_log.h"

namespace placewright {
namespace {

// `bytes` are made on one device and read on the other.
Result<Graph> TransferOf(int64_t bytes) {
  GraphBuilder builder("transfer", "aten");
  PW_ASSIGN(const TensorId x, builder.AddInput("input:x", TensorKind::kInput, DType::kF32,
                                               {bytes / SizeOf(DType::kF32)}));
  const auto add = [&](std::string name, std::string type, TensorId input,
                       std::vector<int64_t> shape) -> Result<TensorId> {
    OpSpec op;
    op.name = name;
    op.type = std::move(type);
    op.args = {Value(InputRef{0})};
    op.inputs = {input};
    op.outputs = {{std::move(name), DType::kF32, std::move(shape), OutputSpec::Alias::kFresh}};
    PW_ASSIGN(const std::vector<TensorId> made, builder.AddOp(std::move(op)));
    return made.front();
  };
  PW_ASSIGN(const TensorId made, add("made", "aten.neg.default", x, {bytes / SizeOf(DType::kF32)}));
  PW_ASSIGN(const TensorId read, add("read", "aten.sum.default", made, {}));
  builder.SetOutputs({read});
  return std::move(builder).Build();
}

}  // namespace

Result<std::vector<DeviceProfile>> ProfileStep(const Graph& graph,
                                               const std::vector<ExecutionDevice>& devices,
                                               const std::vector<bool>& alone, bool loaded,
                                               const ProfilingOptions& options) {
  PW_ASSIGN(const std::unique_ptr<Turns> turns,
            Turns::Start(graph, devices, alone, loaded, options.seed));
  PW_ASSIGN(const std::unique_ptr<MachineReference> reference,
            StartReference(devices, alone, loaded));
  MachineLog machine(*reference, devices.size());
  for (int64_t turn = 0; turn < kWarmUpTurns; ++turn) PW_RETURN_IF_ERROR(turns->Run(false));
  const Clock::time_point begin = Clock::now();
  double sum = 0;
  bool settled = false;
  for (int64_t steps = 1, checked = 0;; ++steps) {
    PW_ASSIGN(const bool looked, machine.Look());
    if (looked) {
      PW_RETURN_IF_ERROR(turns->Run(false));
      machine.Warm();
    }
    PW_RETURN_IF_ERROR(turns->Run(true));
    if (options.progress) {
      options.progress(fmt::format("step {} of at most {}", steps, options.max_steps));
    }
    if (steps < options.min_steps) {
      if (!options.stop.StopRequested()) continue;
      return MakeError(ErrorCode::kCancelled,
                       fmt::format("stopped after {} of the {} steps that a median needs", steps,
                                   options.min_steps));
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (steps >= options.max_steps || options.stop.StopRequested() ||
        (options.seconds && seconds >= *options.seconds)) {
      break;
    }
    if (steps < checked * 3 / 2 + 1) continue;
    double now = 0;
    for (size_t i = 0; i < devices.size(); ++i) {
      now += turns->alone(i).SumOfMedians() + turns->loaded(i).SumOfMedians();
    }
    const bool stable = checked > 0 && std::abs(now - sum) <= options.stable * now;
    // The state of a machine changes within seconds.
    if (stable && seconds >= options.min_seconds) {
      settled = true;
      break;
    }
    sum = now;
    checked = steps;
  }
  const std::vector<DeviceState> states = machine.Medians();
  std::vector<DeviceProfile> profiles;
  for (size_t i = 0; i < devices.size(); ++i) {
    profiles.emplace_back();
    if (alone[i]) {
      profiles.back().alone = turns->alone(i).Profile();
      profiles.back().alone->state = states[i].alone;
      profiles.back().alone->stable = settled;
    }
    if (loaded) {
      profiles.back().loaded = turns->loaded(i).Profile();
      profiles.back().loaded->state = states[i].loaded;
      profiles.back().loaded->stable = settled;
    }
  }
  return profiles;
}

Result<std::vector<TransferSample>> ProfileTransfers(const ExecutionDevice& from,
                                                     const ExecutionDevice& to, Bytes max,
                                                     const ProfilingOptions& options) {
  std::vector<TransferSample> times;
  for (int64_t bytes = 1024; bytes <= max.count; bytes *= 2) {
    if (options.stop.StopRequested()) break;
    if (options.progress) {
      options.progress(
          fmt::format("{} from {} to {}", FormatBytes(Bytes(bytes)), from.name, to.name));
    }
    PW_ASSIGN(const Graph graph, TransferOf(bytes));
    ExecutionRequest request;
    request.graph = &graph;
    request.placement = Placement(graph.op_count(), DeviceId(0));
    request.placement[OpId(1)] = DeviceId(1);
    request.devices = {from, to};
    PW_ASSIGN(const std::unique_ptr<Execution> execution, StartExecution(std::move(request)));
    // About as many bytes for every size, and at least min_steps times.
    const int64_t runs = std::clamp<int64_t>((int64_t{256} << 20) / bytes, options.min_steps, 50);
    std::vector<int64_t> taken;
    for (int64_t run = -kWarmUpTurns; run < runs; ++run) {
      PW_RETURN_IF_ERROR([&]() -> Status {
        PW_ASSIGN([[maybe_unused]] const Execution::Step step, execution->Run());
        return Ok();
      }());
      const Schedule schedule = execution->LastSchedule();
      const Nanos time = schedule.ops[OpId(1)].start - schedule.ops[OpId(0)].end;
      if (run >= 0) taken.push_back(std::max<int64_t>(0, time.count));
    }
    times.push_back({Bytes(bytes), Nanos(Quantile(taken, 0.5)), runs});
  }
  return times;
}

}  // namespace placewright
