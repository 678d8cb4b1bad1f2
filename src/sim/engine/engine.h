// The event loop behind Simulator (internal to the module): dense arrays, no allocation once they
// have grown. docs/simulator.md gives the rules, by whose numbers the code refers to them.
//
// Everything that depends on the placement is found out when it is needed: when a version becomes
// resident at its home, its readers are walked once; readers beside it may lose a requirement, the
// others are gathered into one transfer per device.
//
// Nearly always one completion is alone in its instant. Then nothing has to be sorted or collected:
// what it makes ready starts at once. Several completions of one instant go the general way.
#ifndef PLACEWRIGHT_SIM_ENGINE_ENGINE_H_
#define PLACEWRIGHT_SIM_ENGINE_ENGINE_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plan/placement.h"
#include "plan/schedule.h"
#include "plan/sequence.h"
#include "sim/engine/packed_step.h"
#include "sim/engine/program_order.h"
#include "sim/engine/run_state.h"
#include "sim/engine/sim_graph.h"
#include "sim/engine/snapshot.h"
#include "sim/engine/touch_list.h"

namespace placewright {

// How a device chooses among its ready ops: by ready time, by path, or by a key that each op gets
// when it is ready, which costs more and is for given sequences; or it waits for the next op of the
// program. Those that know collectives come last.
enum class Service : uint8_t { kFifo, kPath, kProgram, kFifoTogether, kGeneral, kProgramTogether };
constexpr bool IsFifo(Service service) {
  return service == Service::kFifo || service == Service::kFifoTogether;
}
constexpr bool IsProgram(Service service) {
  return service == Service::kProgram || service == Service::kProgramTogether;
}
constexpr bool HasCollectives(Service service) {
  return service == Service::kFifoTogether || service == Service::kGeneral ||
         service == Service::kProgramTogether;
}

struct EngineOptions {
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  bool record = false;                   // keep start and end of every op and transfer
  int64_t abandon_above = kMaxQuantity;  // kMaxQuantity: never
  // With `record`, stop at the first allocation that brings this device to this occupancy
  // (ItemisePeak).
  DeviceId stop_device;
  __int128 stop_bytes = 0;
  const Sequences* sequences = nullptr;  // rule 16; of the placement that is run
};

// kStuck: the given sequences make ops wait for one another, or with the order of the program.
enum class EngineOutcome : uint8_t { kDone, kAbandoned, kStopped, kStuck };

// States that a recorded run leaves behind, ascending in time, one every so many ended ops.
struct Checkpoints {
  std::vector<Snapshot> states;
  size_t count = 0;  // how many of `states` are in use
  size_t max = 0;
};

class Engine {
 public:
  struct TransferTimes {
    int64_t ready, start, end;
  };

  explicit Engine(const SimGraph& sim_graph);
  // The step is `packed`; what runs need of the SimGraph is said at Simulator::OfPackedSteps.
  Engine(const SimGraph& sim_graph, PackedStep packed);
  void Reload(PackedStep& packed);

  // `checkpoints`: where states go, after those already there.
  EngineOutcome Run(const Placement& placement, const EngineOptions& options,
                    Checkpoints* checkpoints = nullptr);

  // Continues from `state`, which a run under another placement left, with `patch` applied. Its
  // `devices` name every op that the state or the engine's last run has elsewhere. Records of the
  // prefix must be those of the run that left the state; transfers that were over are not reported.
  EngineOutcome Resume(const Snapshot& state, const StatePatch& patch, const Placement& placement,
                       const EngineOptions& options, Checkpoints* checkpoints = nullptr);

  // Of the last run.
  int64_t now() const { return run_.now; }  // step time; abandoned: a lower bound above the limit
  const IdVector<DeviceId, DeviceOccupancy>& memory() const { return run_.memory; }
  const IdVector<DeviceId, int32_t>& op_counts() const { return op_count_; }
  const IdVector<DeviceId, int64_t>& workspace() const { return workspace_; }  // the largest
  DeviceId DeviceOf(ExecOpId op) const { return run_.ops[op].device; }
  bool IsRunning(ExecOpId op) const {
    const CollectiveId collective = p_.CollectiveOf(op);
    if (collective.valid()) return run_.missing[collective] == RunCore::kRuns;
    return run_.running_op[run_.ops[op].device] == op;
  }
  // After kStuck: the op that the error of rule 16 names.
  ExecOpId StuckOp() const;
  DeviceId HomeOf(StorageId storage, const Placement& placement) const;  // or none
  size_t StateBytes() const { return Snapshot::Bytes(packed_); }
  std::span<const Transfer> transfers() const {
    return {run_.transfers.raw().data(), static_cast<size_t>(run_.transfer_count)};
  }
  // After kStopped: local readers, transfers and future writers that keep a transient storage, once
  // its first maker has ended; readers on the destination that keep a transfer's copy.
  int32_t UsesLeft(StorageId storage) const { return run_.holdings[AtHome(storage)].left; }
  int32_t CopyUsesLeft(TransferId transfer) const { return run_.holdings[CopyBy(transfer)].left; }

  int64_t LengthOf(SliceId slice) const { return packed_.slices[slice.index()].length; }

  // With `record`; -1 while an op or transfer has not begun.
  const IdVector<ExecOpId, int64_t>& op_ready() const { return op_ready_; }
  const IdVector<ExecOpId, int64_t>& op_start() const { return op_start_; }
  const IdVector<ExecOpId, int64_t>& op_end() const { return op_end_; }
  const IdVector<TransferId, TransferTimes>& transfer_times() const { return times_; }
  const IdVector<CollectiveId, TransferTimes>& collective_times() const {
    return collective_times_;
  }

  // Paths by rule 2. Only in-place writers make them depend on the placement.
  void ComputePaths(const Placement& placement, IdVector<ExecOpId, int64_t>* paths) const;

 private:
  // The copy of a slice that is being made on one device.
  struct CopyOf {
    SliceId slice;
    HoldingId holding;
  };

  // engine.cc: before and after the loop.
  void Prepare(const Placement& placement);
  void MakeRoom();
  void Reset();
  void ClearState();
  void PlaceOps(const Placement& placement);
  void MoveOps(const StatePatch& patch);
  void CountOps();
  void CountWorkspaces();
  void SumWork();
  void PlacePersistent(const Placement& placement);
  void PlaceInputs();
  void PrepareGeneral();
  bool HasSequences() const {
    return options_.sequences != nullptr && !options_.sequences->empty();
  }
  void LinkOps(ExecOpId from);
  void LinkSequences();
  ExecOpId FirstOf(DeviceId device) const { return ExecOpId(p_.ops + device.value()); }
  EngineOutcome Continue(const Placement* fresh, Checkpoints* checkpoints);
  EngineOutcome ChooseLoop(const Placement* fresh);
  template <Service kService>
  EngineOutcome ChooseBound(const Placement* fresh);
  void ForgetLater();
  void SaveState();
  LiveFrom FindLive(LiveFrom from) const;

  // event_loop.cc. `at_once`: nothing else completes at this instant, so transfers over links that
  // are free may start without waiting for StartAll. `fresh`: the placement of a run that begins.
  template <Service kService, bool kRecord, bool kBound>
  EngineOutcome Loop(const Placement* fresh);
  template <Service kService, bool kRecord, bool kBound>
  void PublishInitial(const Placement& placement);
  template <Service kService, bool kRecord, bool kBound>
  void RunDevice(DeviceId device);
  template <Service kService, bool kRecord, bool kBound>
  void RunLink(LinkId link);
  template <Service kService, bool kRecord, bool kBound>
  void CompleteAll(int64_t now);
  template <Service kService, bool kRecord, bool kBound>
  void StartAll();
  template <Service kService, bool kRecord, bool kBound>
  void CompleteOp(ExecOpId op, DeviceId device, bool at_once);
  template <Service kService, bool kRecord, bool kBound>
  void CompleteSpecialOp(ExecOpId op, DeviceId device);
  template <Service kService, bool kRecord>
  void CompleteTransfer(TransferId id);
  template <Service kService, bool kRecord>
  void SatisfyReaders(SliceId slice, DeviceId device);
  template <Service kService, bool kRecord>
  void LeaveHome(const Transfer& transfer);
  void FreeLinks(const PackedRoute& route);
  static EventSlot SlotOf(DeviceId device) { return EventSlot(device.value()); }
  EventSlot SlotOf(LinkId link) const { return EventSlot(p_.devices + link.value()); }
  EventSlot SlotOf(CollectiveId collective) const {
    return EventSlot(p_.devices + p_.links + collective.value());
  }
  bool IsDevice(EventSlot slot) const { return slot.value() < p_.devices; }
  bool IsCollective(EventSlot slot) const { return slot.value() >= p_.devices + p_.links; }
  static DeviceId DeviceAt(EventSlot slot) { return DeviceId(slot.value()); }
  LinkId LinkAt(EventSlot slot) const { return LinkId(slot.value() - p_.devices); }
  CollectiveId CollectiveAt(EventSlot slot) const {
    return CollectiveId(slot.value() - p_.devices - p_.links);
  }
  static HoldingId AtHome(StorageId storage) { return HoldingId(storage.value()); }
  HoldingId CopyBy(TransferId transfer) const {
    return HoldingId(packed_.storages + transfer.value());
  }
  template <Service kService, bool kRecord>
  void Satisfy(ExecOpId op);
  template <Service kService, bool kRecord>
  void MakeReady(ExecOpId op);
  template <Service kService, bool kRecord, bool kBound>
  void Publish(SliceId slice, DeviceId device, bool at_once);
  template <bool kRecord, bool kBound>
  HoldingId AddTransfer(SliceId slice, ExecOpId reader, DeviceId from, DeviceId to, bool at_once);
  template <Service kService, bool kRecord, bool kBound>
  void TryStartNext(LinkId link);
  template <bool kRecord, bool kBound>
  void TryStartTransfer(TransferId id);
  // What waits in the queues of links is a transfer, or a collective as a number below none.
  static TransferId WaitingAs(CollectiveId id) { return TransferId(-2 - id.value()); }
  static CollectiveId CollectiveOf(TransferId waiting) {
    return CollectiveId(-2 - waiting.value());
  }
  template <Service kService, bool kRecord>
  void MakeMemberReady(CollectiveId id);
  template <bool kRecord>
  void MakeCollectiveReady(CollectiveId id);
  bool HasTurn(CollectiveId id) const;
  template <bool kRecord>
  void PassTurnOn(CollectiveId id);
  template <bool kRecord, bool kBound>
  void TryStartCollective(CollectiveId id);
  template <bool kRecord, bool kBound>
  void BeginCollective(CollectiveId id);
  template <bool kRecord, bool kBound>
  void StartWaiting();
  void JoinLinks(CollectiveId id);
  void LeaveLinks(CollectiveId id);
  void Reckon(CollectiveId id);
  bool IsStale(CollectiveId id, int64_t time) const {
    return p_.collectives_share && (run_.missing[id] != RunCore::kRuns || shares_[id].end != time);
  }
  void DropStale();
  void PrepareShares();
  template <Service kService, bool kRecord, bool kBound>
  void CompleteCollective(CollectiveId id);
  template <Service kService>
  bool MayStartSomething() const {
    return !touched_devices_.empty() || !touched_links_.empty() ||
           (HasCollectives(kService) && (!free_collectives_.empty() || waiting_changed_));
  }
  PathItem KeyOf(ExecOpId op, DeviceId device) const;
  template <bool kRecord, bool kBound>
  int64_t BeginTransfer(TransferId id, LinkId link);
  template <Service kService, bool kRecord, bool kBound>
  int64_t ServeReaders(const Transfer& transfer, HoldingId copy, bool idle);
  template <Service kService, bool kRecord, bool kBound>
  int64_t BeginNext(DeviceId device);
  template <Service kService, bool kRecord, bool kBound>
  int64_t BeginOp(ExecOpId op, DeviceId device);
  bool Exceeds(int64_t bound);
  void Allocate(DeviceId device, __int128 bytes);
  int64_t TransferDuration(const PackedRoute& route, int64_t length) const;

  const SimGraph& p_;
  PackedStep packed_;
  EngineOptions options_;

  // Fixed by the placement.
  IdVector<DeviceId, __int128> all_work_;  // its ops' time; if has_work_
  IdVector<DeviceId, int64_t> work_;       // the same, saturated, for the bound
  bool has_work_ = false;
  IdVector<DeviceId, int64_t> workspace_;
  IdVector<DeviceId, int32_t> op_count_;
  IdVector<ExecOpId, int64_t> path_;
  bool general_ = false;              // collectives, or given sequences
  IdVector<ExecOpId, int32_t> turn_;  // position in its device's sequence
  IdVector<DeviceId, char> has_sequence_;
  // Rule 17: the op that its device runs behind each op, or none; then the first of each device.
  IdVector<ExecOpId, ExecOpId> following_;
  IdVector<DeviceId, ExecOpId> next_on_;  // scratch of LinkOps
  ProgramOrder program_;
  std::vector<int32_t> collectives_over_;  // by communicator

  // Of one run.
  RunState run_;
  bool stopped_ = false, abandoned_ = false;
  DeviceId handled_;  // whose next op starts without being touched
  IdVector<TransferId, TransferTimes> times_;
  IdVector<ExecOpId, int64_t> op_ready_, op_start_, op_end_;
  Checkpoints* checkpoints_ = nullptr;
  int32_t save_at_ = 0;  // ops ended before the next state is saved
  TouchList<DeviceId> touched_devices_;
  TouchList<LinkId> touched_links_;
  std::vector<CollectiveId> free_collectives_;  // ready, without links
  IdVector<CollectiveId, TransferTimes> collective_times_;
  // Rule 18. What a running collective still has to do: kShareUnits for a ns alone, among k a k-th of them.
  static constexpr int32_t kShareUnits = 720720;  // of 1 to 16
  struct Share {
    __int128 left = 0;  // at `since`
    int64_t since = 0, end = 0;
    int32_t among = 0;  // 0: it has just begun
  };
  struct Waiting {
    int64_t ready = 0;
    ExecOpId first;  // member
    CollectiveId id;
    friend bool operator<(const Waiting& a, const Waiting& b) {
      return a.ready != b.ready ? a.ready < b.ready : a.first < b.first;
    }
  };
  IdVector<CollectiveId, Share> shares_;
  std::vector<CollectiveId> sharing_;  // those that run
  std::vector<Waiting> waiting_;       // ready, in the order of their keys
  bool waiting_changed_ = false;
  IdVector<CollectiveId, int32_t> communicator_of_;
  std::vector<char> communicator_busy_;
  IdVector<LinkId, int32_t> sharing_on_;  // how many run over each link
  IdVector<DeviceId, int32_t> beside_;    // how many have a member on each device
  IdVector<DeviceId, CopyOf> copies_;
  IdVector<DeviceId, StorageId> last_input_;  // scratch of PlaceInputs
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_ENGINE_H_
