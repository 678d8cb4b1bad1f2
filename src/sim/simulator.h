// The event simulator: when every op and transfer of one step runs, and what memory it needs.
// Its meaning is docs/simulator.md, to the nanosecond and the byte.
#ifndef PLACEWRIGHT_SIM_SIMULATOR_H_
#define PLACEWRIGHT_SIM_SIMULATOR_H_

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/sequence.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

struct PackedStep;

struct SimOptions {
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  bool schedule = false;  // record start and end of every op and transfer
  bool feedback = false;  // busy and idle shares of devices and links
  // Stop as soon as the step time must exceed this; the result is then `abandoned`.
  Nanos abandon_above = Nanos(kMaxQuantity);
  const Sequences* sequences = nullptr;  // of the placement; rule 16
};

struct DeviceResult {
  Bytes tensor_peak;  // rules 8-12
  Bytes workspace;    // largest over the ops placed here
  Bytes runtime_context;
  Bytes peak;                   // the three together
  Bytes over;                   // peak - capacity if positive, else 0
  Nanos peak_time;              // first instant at which tensor_peak is reached; 0: before the step
  Nanos busy;                   // time spent computing
  Nanos idle_before_transfers;  // feedback: idle while an op here waits only for transfers
  int32_t ops = 0;              // exec ops
};

struct LinkResult {
  Nanos busy, collecting;  // all, and by collectives
  Bytes moved;
  int32_t transfers = 0, collectives = 0;
};

struct SimResult {
  bool feasible = false;  // every device within its capacity
  bool abandoned = false;
  Nanos step_time;
  std::vector<DeviceResult> devices;
  std::vector<LinkResult> links;  // feedback only
  std::optional<Schedule> schedule;
  // The given sequences make ops wait for one another (SequenceDeadlock); else none. All else is
  // then of no meaning.
  OpId stuck;
  Bytes TotalOver() const;
};

// Reusable: holds the arrays of one SimGraph; one Simulator per thread. No allocation in Run after
// the first call (schedule and feedback excepted).
class Simulator {
 public:
  // `sim_graph` must outlive the simulator.
  explicit Simulator(const SimGraph& sim_graph);
  // For steps that are packed apart. Of the SimGraph their runs need the cluster, `op_of` (each op itself),
  // `min_time`, `workspace`, collectives, `home_op`, `fixed_home` and `storage_bytes` of what is there before the step,
  // and, with a limit or by critical path, `topological_order`, `min_path` and `waits_in_place`. They have no schedule,
  // and feedback without what devices wait for. Nothing runs before the first Reload.
  static Simulator OfPackedSteps(const SimGraph& sim_graph);
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  // Another step for the same cluster is in the SimGraph and in `packed`, which is swapped with the one before.
  void Reload(PackedStep& packed);

  // `placement` covers every op of the graph and every op is supported where it lies, colocation
  // holds, and every pair of devices that must communicate is connected: see CheckPlacementLegal.
  const SimResult& Run(const Placement& placement, const SimOptions& options = {});

  // When every op that is no view began and ended in the last run, which was with schedule or feedback.
  IdVector<ExecOpId, OpSpan> Spans() const;

 private:
  struct State;
  explicit Simulator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_SIMULATOR_H_
