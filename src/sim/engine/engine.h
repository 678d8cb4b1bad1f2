// The event loop behind Simulator (internal to the module): dense arrays, no allocation once they
// have grown. docs/simulator.md gives the rules, by whose numbers the code refers to them.
//
// Everything that depends on the placement is found out when it is needed: when a version becomes
// resident at its home, its readers are walked once; readers beside it may lose a requirement, the
// others are gathered into one transfer per device.
#ifndef PLACEWRIGHT_SIM_ENGINE_ENGINE_H_
#define PLACEWRIGHT_SIM_ENGINE_ENGINE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/placement.h"
#include "plan/schedule.h"
#include "sim/engine/run_state.h"
#include "sim/engine/step_program.h"

namespace placewright {

struct EngineOptions {
  Order order = Order::kFifo;
  bool record = false;                   // keep start and end of every op and transfer
  int64_t abandon_above = kMaxQuantity;  // kMaxQuantity: never
  // Stop at the first allocation that brings this device to this occupancy (ItemisePeak).
  int32_t stop_device = -1;
  __int128 stop_bytes = 0;
};

enum class EngineOutcome : uint8_t { kDone, kAbandoned, kStopped };

// States that a run leaves behind, ascending in time, one every so many ended ops.
struct Checkpoints {
  std::vector<RunState> states;
  size_t count = 0;  // how many of `states` are in use
  size_t most = 0;
};

// What differs between one placement's state and another's before the difference has any effect.
struct StatePatch {
  std::vector<std::pair<int32_t, int32_t>> devices;  // exec op, its device
  std::vector<std::pair<int32_t, int32_t>> homes;    // unit of initial content, its home
  std::vector<__int128> resident;  // by device: bytes more that lie there for the whole step
  void Apply(RunState* state) const;
};

class Engine {
 public:
  struct TransferTimes {
    int64_t ready, start, end;
  };

  explicit Engine(const StepProgram& program);

  // `checkpoints`: where states go, after those already there.
  EngineOutcome Run(const Placement& placement, const EngineOptions& options,
                    Checkpoints* checkpoints = nullptr);

  // Continues from `state`, which a run under another placement left, once `patch` has been applied
  // to a copy of it. Its `devices` also name every op that the engine's last run placed elsewhere.
  // Records of the prefix must be those of the run that left the state.
  EngineOutcome Resume(const RunState& state, const StatePatch& patch, const Placement& placement,
                       const EngineOptions& options, Checkpoints* checkpoints = nullptr);

  // Of the last run.
  int64_t now() const { return run_.now; }  // step time; abandoned: a lower bound above the limit
  const std::vector<DeviceMemory>& memory() const { return run_.memory; }
  const std::vector<int32_t>& op_counts() const { return op_count_; }   // by device
  const std::vector<int64_t>& workspace() const { return workspace_; }  // by device, the largest
  int32_t DeviceOf(int32_t op) const { return run_.ops[op].device; }
  bool IsRunning(int32_t op) const { return run_.running_op[run_.ops[op].device] == op; }
  int32_t HomeOf(int32_t storage, const Placement& placement) const;  // -1: none
  size_t StateBytes() const { return run_.Bytes(); }
  const std::vector<Transfer>& transfers() const { return run_.transfers; }
  // After kStopped: local readers, transfers and future writers that keep a transient storage.
  int32_t uses_left(int32_t storage) const { return run_.left[storage]; }

  // With `record`; -1 while an op or transfer has not begun.
  const std::vector<int64_t>& op_ready() const { return op_ready_; }
  const std::vector<int64_t>& op_start() const { return op_start_; }
  const std::vector<int64_t>& op_end() const { return op_end_; }
  const std::vector<TransferTimes>& transfer_times() const { return times_; }

  // Paths by rule 2. Only in-place writers make them depend on the placement.
  void ComputePaths(const Placement& placement, std::vector<int64_t>* paths) const;

 private:
  // Row starts of the op; the next op's are the ends.
  struct OpInfo {
    int32_t release = 0, unit = 0, token = 0, end = 0;
    int64_t birth_bytes = 0;  // storages that it allocates at home
  };
  struct UnitInfo {
    int32_t reader = 0;  // row start; the next unit's is the end
    int32_t storage = 0;
    int32_t overwriter = -1;  // op that makes the next version
    int32_t overwriter_reads = 0;
  };

  void BuildStaticRows();
  void BuildBaseNeeds();
  void Reset();
  void Prepare(const Placement& placement);
  void PlaceOps(const Placement& placement);
  void CountOps();
  void PlacePersistent(const Placement& placement);
  void PlaceInputs();
  void PublishInitial(const Placement& placement);
  EngineOutcome Continue(Checkpoints* checkpoints);
  EngineOutcome ChooseLoop();
  void SaveState();

  template <bool kPriority, bool kRecord, bool kBound>
  EngineOutcome Loop();
  template <bool kPriority, bool kRecord, bool kBound>
  bool StartAll();
  template <bool kPriority>
  void CompleteOp(int32_t op);
  template <bool kPriority>
  void CompleteTransfer(int32_t id);
  template <bool kPriority>
  void Satisfy(int32_t op);
  template <bool kPriority>
  void MakeReady(int32_t op);
  template <bool kPriority>
  void Release(int32_t unit, int32_t op, int32_t device);
  template <bool kPriority>
  void Publish(int32_t unit, int32_t device);
  int32_t AddTransfers(int32_t unit, int32_t device);
  template <bool kRecord, bool kBound>
  bool TryStartTransfer(int32_t link);
  template <bool kPriority, bool kRecord, bool kBound>
  bool StartOp(int32_t device);
  bool Exceeds(int64_t bound);
  void Allocate(int32_t device, int64_t bytes);
  void TouchDevice(int32_t device);
  void TouchLink(int32_t link);
  int64_t TransferDuration(const Transfer& transfer) const;
  Transfer& FindCopy(int32_t unit, int32_t device);

  const StepProgram& p_;
  EngineOptions options_;

  // Fixed by the program.
  std::vector<OpInfo> op_info_;
  std::vector<UnitInfo> unit_info_;
  std::vector<int32_t> base_need_;    // produced units read, explicit waits, versions overwritten
  std::vector<int32_t> base_left_;    // by storage: 1 per version to come, huge if never freed
  std::vector<int32_t> first_ready_;  // ops without any base need
  std::vector<int32_t> release_;      // rows by op: units read, less those of inputs
  std::vector<int32_t> ends_;         // rows by op: ops that lose a requirement when it ends
  std::vector<int32_t> token_;        // rows by op: storages of which it made a version
  std::vector<int32_t> persistent_;   // storages
  std::vector<int32_t> input_units_, initial_units_;  // ascending
  bool any_workspace_ = false;

  // Fixed by the placement.
  std::vector<int64_t> duration_;   // by op
  std::vector<int64_t> work_;       // by device: all its ops' time, for the bound
  std::vector<int64_t> workspace_;  // by device
  std::vector<int32_t> op_count_;   // by device
  std::vector<int64_t> path_;

  // Of one run.
  RunState run_;
  bool stopped_ = false;
  std::vector<TransferTimes> times_;
  std::vector<int64_t> op_ready_, op_start_, op_end_;
  Checkpoints* checkpoints_ = nullptr;
  int32_t save_at_ = 0;  // ops ended before the next state is saved
  std::vector<int32_t> touched_devices_, touched_links_;
  std::vector<int32_t> device_touched_, link_touched_;  // flags; not bytes, which alias everything
  std::vector<int32_t> remote_count_, remote_devices_;  // scratch of AddTransfers
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_ENGINE_H_
