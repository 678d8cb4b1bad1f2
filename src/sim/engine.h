// The event loop behind Simulator (internal to the module): dense arrays, no allocation once they
// have grown. docs/simulator.md gives the rules, by whose numbers the code refers to them.
//
// Everything that depends on the placement is found out when it is needed: when a version becomes
// resident at its home, its readers are walked once; readers beside it may lose a requirement, the
// others are gathered into one transfer per device.
#ifndef PLACEWRIGHT_SIM_ENGINE_H_
#define PLACEWRIGHT_SIM_ENGINE_H_

#include <cstdint>
#include <vector>

#include "plan/placement.h"
#include "plan/schedule.h"
#include "sim/event_tree.h"
#include "sim/ready_queue.h"
#include "sim/step_program.h"

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

class Engine {
 public:
  struct Transfer {
    int32_t unit;
    int32_t readers;  // on `to`, not yet ended
    uint16_t from, to;
    bool started;
  };
  struct TransferTimes {
    int64_t ready, start, end;
  };
  struct Memory {
    __int128 now = 0, peak = 0;  // sums of up to 2^60 each may exceed 64 bits
    int64_t peak_time = 0;
    int64_t busy = 0;
    int64_t workspace = 0;  // largest over its ops
    int32_t ops = 0;
  };

  explicit Engine(const StepProgram& program);

  EngineOutcome Run(const Placement& placement, const EngineOptions& options);

  // Of the last run.
  int64_t now() const { return now_; }  // step time; a lower bound above the limit if abandoned
  const std::vector<Memory>& memory() const { return memory_; }
  int32_t DeviceOf(int32_t op) const { return op_state_[op].device; }
  bool IsRunning(int32_t op) const { return running_op_[op_state_[op].device] == op; }
  int32_t HomeOf(int32_t storage, const Placement& placement) const;  // -1: none
  const std::vector<Transfer>& transfers() const { return transfers_; }
  // With `record`; -1 while an op or transfer has not begun.
  const std::vector<int64_t>& op_start() const { return op_start_; }
  const std::vector<int64_t>& op_end() const { return op_end_; }
  const std::vector<TransferTimes>& transfer_times() const { return times_; }
  // After kStopped: local readers, transfers and future writers that keep a transient storage.
  int32_t uses_left(int32_t storage) const { return left_[storage]; }
  // Paths by rule 2 for the placement of the last run in critical-path order.
  const std::vector<int64_t>& paths() const { return path_; }

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
  struct OpState {
    int32_t need;  // requirements not yet met
    uint16_t device;
  };
  struct UnitState {  // meaningful once the unit is resident
    int32_t first_transfer;
    uint16_t home;
  };
  struct LinkItem {  // rule 5: unit ids are in the order of (producer, storage, offset, length)
    int32_t unit, to, transfer;
    friend bool operator<(const LinkItem& a, const LinkItem& b) {
      return a.unit != b.unit ? a.unit < b.unit : a.to < b.to;
    }
    friend bool operator>(const LinkItem& a, const LinkItem& b) { return b < a; }
  };
  struct Prioritised {
    int64_t path;
    int32_t op;
    friend bool operator>(const Prioritised& a, const Prioritised& b) {  // served later
      return a.path != b.path ? a.path < b.path : a.op > b.op;
    }
  };

  void BuildStaticRows();
  void BuildBaseNeeds();
  void Prepare(const Placement& placement);
  void PlaceOps(const Placement& placement);
  void PlacePersistent(const Placement& placement);
  void PlaceInputs();
  void PublishInitial(const Placement& placement);
  void ComputePaths();

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

  // Of one run.
  int64_t now_ = 0;
  int32_t ended_ = 0;
  bool stopped_ = false;
  std::vector<OpState> op_state_;
  std::vector<int64_t> duration_;  // by op, on its device
  std::vector<int32_t> left_;      // by storage: what still keeps it at home
  std::vector<UnitState> unit_state_;
  std::vector<Transfer> transfers_;
  std::vector<TransferTimes> times_;
  std::vector<int64_t> op_start_, op_end_, path_;
  std::vector<Memory> memory_;
  std::vector<int64_t> work_;  // by device: all its ops' time, for the bound
  std::vector<int32_t> running_op_, running_transfer_;  // by device; by first link of the route
  std::vector<int32_t> link_busy_;
  std::vector<ReadyQueue<int32_t>> device_queue_;
  std::vector<std::vector<Prioritised>> priority_queue_;
  std::vector<ReadyQueue<LinkItem>> link_queue_;
  EventTree op_ends_, transfer_ends_;
  std::vector<int32_t> touched_devices_, touched_links_;
  std::vector<int32_t> device_touched_, link_touched_;  // flags; not bytes, which alias everything
  std::vector<int32_t> remote_count_, remote_devices_;  // scratch of AddTransfers
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_H_
