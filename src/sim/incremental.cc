#include "sim/incremental.h"

#include <vector>

namespace placewright {

struct IncrementalSimulator::State {
  State(const StepProgram& program, Order sim_order)
      : order(sim_order), simulator(program), incumbent_simulator(program) {}

  Order order;
  Simulator simulator, incumbent_simulator;
  Placement incumbent, tried;
  const SimResult* incumbent_result = nullptr;
};

IncrementalSimulator::IncrementalSimulator(const StepProgram& program, Order order, size_t)
    : state_(std::make_unique<State>(program, order)) {}
IncrementalSimulator::~IncrementalSimulator() = default;
IncrementalSimulator::IncrementalSimulator(IncrementalSimulator&&) noexcept = default;

const SimResult& IncrementalSimulator::SetIncumbent(const Placement& placement) {
  state_->incumbent = placement;
  state_->tried = placement;
  SimOptions options;
  options.order = state_->order;
  state_->incumbent_result = &state_->incumbent_simulator.Run(placement, options);
  return *state_->incumbent_result;
}

const Placement& IncrementalSimulator::incumbent() const { return state_->incumbent; }
const SimResult& IncrementalSimulator::incumbent_result() const {
  return *state_->incumbent_result;
}

const SimResult& IncrementalSimulator::Try(std::span<const OpMove> moves, Nanos abandon_above) {
  state_->tried = state_->incumbent;
  for (const OpMove& move : moves) state_->tried[move.op] = move.device;
  SimOptions options;
  options.order = state_->order;
  options.abandon_above = abandon_above;
  return state_->simulator.Run(state_->tried, options);
}

void IncrementalSimulator::Accept() { SetIncumbent(Placement(state_->tried)); }

}  // namespace placewright
