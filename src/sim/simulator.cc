#include "sim/simulator.h"

#include <algorithm>
#include <utility>

#include "sim/engine/engine.h"
#include "sim/timeline.h"

namespace placewright {

Bytes SimResult::TotalOver() const {
  int64_t total = 0;
  for (const DeviceResult& device : devices) total = SaturatingAdd(total, device.over.count);
  return Bytes(total);
}

struct Simulator::State {
  explicit State(const SimGraph& graph) : sim_graph(graph), engine(graph) {}
  State(const SimGraph& graph, PackedStep packed)
      : sim_graph(graph), engine(graph, std::move(packed)), packed_apart(true) {}

  const SimGraph& sim_graph;
  Engine engine;
  SimResult result;
  const bool packed_apart = false;
};

Simulator::Simulator(const SimGraph& sim_graph) : state_(std::make_unique<State>(sim_graph)) {}
Simulator::Simulator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Simulator Simulator::OfPackedSteps(const SimGraph& sim_graph) {
  return Simulator(std::make_unique<State>(sim_graph, PackedStep()));
}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;

void Simulator::Reload(PackedStep& packed) { state_->engine.Reload(packed); }

const SimResult& Simulator::Run(const Placement& placement, const SimOptions& options) {
  EngineOptions engine_options;
  engine_options.policy = options.policy;
  engine_options.record = options.schedule || options.feedback;
  engine_options.abandon_above = options.abandon_above.count;
  engine_options.sequences = options.sequences;
  SimResult& result = state_->result;
  const EngineOutcome outcome = state_->engine.Run(placement, engine_options);
  FillResult(state_->sim_graph, state_->engine, outcome, &result);
  if (result.abandoned || result.stuck.valid()) return result;
  if (options.schedule) result.schedule = MakeSchedule(state_->sim_graph, state_->engine);
  if (options.feedback) AddLinkUse(state_->sim_graph, state_->engine, &result);
  if (options.feedback && !state_->packed_apart)
    AddIdleTimes(state_->sim_graph, state_->engine, &result);
  return result;
}

IdVector<ExecOpId, OpSpan> Simulator::Spans() const {
  const Engine& engine = state_->engine;
  IdVector<ExecOpId, OpSpan> spans;
  spans.reserve(engine.op_start().size());
  for (const ExecOpId op : IdRange<ExecOpId>(engine.op_start().size())) {
    spans.push_back({Nanos(engine.op_start()[op]), Nanos(engine.op_end()[op])});
  }
  return spans;
}

}  // namespace placewright
