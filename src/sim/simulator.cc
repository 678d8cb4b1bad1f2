#include "sim/simulator.h"

#include <algorithm>

#include "sim/engine.h"
#include "sim/timeline.h"

namespace placewright {

namespace {

int64_t Saturated(__int128 bytes) {
  return static_cast<int64_t>(std::min<__int128>(bytes, kMaxQuantity));
}

}  // namespace

Bytes SimResult::TotalOver() const {
  int64_t total = 0;
  for (const DeviceResult& device : devices) total = SaturatingAdd(total, device.over.count);
  return Bytes(total);
}

struct Simulator::State {
  explicit State(const StepProgram& step_program) : program(step_program), engine(step_program) {}

  void FillDevices() {
    result.devices.assign(program.devices, DeviceResult());
    for (int32_t d = 0; d < program.devices; ++d) {
      const Engine::Memory& memory = engine.memory()[d];
      DeviceResult& device = result.devices[d];
      device.tensor_peak = Bytes(Saturated(memory.peak));
      device.peak_time = Nanos(memory.peak_time);
      device.busy = Nanos(memory.busy);
      device.ops = memory.ops;
      device.workspace = Bytes(memory.workspace);
      device.runtime_context = Bytes(program.runtime_context[d]);
    }
    result.feasible = true;
    for (int32_t d = 0; d < program.devices; ++d) {
      DeviceResult& device = result.devices[d];
      device.peak =
          Bytes(SaturatingAdd(SaturatingAdd(device.tensor_peak.count, device.workspace.count),
                              device.runtime_context.count));
      device.over = Bytes(std::max<int64_t>(0, device.peak.count - program.capacity[d]));
      result.feasible &= device.over.count == 0;
    }
  }

  const StepProgram& program;
  Engine engine;
  SimResult result;
};

Simulator::Simulator(const StepProgram& program) : state_(std::make_unique<State>(program)) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;

const SimResult& Simulator::Run(const Placement& placement, const SimOptions& options) {
  EngineOptions engine_options;
  engine_options.order = options.order;
  engine_options.record = options.schedule || options.feedback;
  engine_options.abandon_above = options.abandon_above.count;
  SimResult& result = state_->result;
  const EngineOutcome outcome = state_->engine.Run(placement, engine_options);
  result.abandoned = outcome == EngineOutcome::kAbandoned;
  result.step_time = Nanos(state_->engine.now());
  state_->FillDevices();
  result.links.clear();
  result.schedule.reset();
  if (result.abandoned) {
    result.feasible = false;
    return result;
  }
  if (options.schedule) result.schedule = MakeSchedule(state_->program, state_->engine);
  if (options.feedback) AddFeedback(state_->program, state_->engine, &result);
  return result;
}

}  // namespace placewright
