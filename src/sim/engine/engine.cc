// What the engine does before the first event and between runs. The loop itself is event_loop.cc.
#include "sim/engine/engine.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace placewright {

Engine::Engine(const SimGraph& sim_graph) : Engine(sim_graph, PackedStep(sim_graph)) {}

Engine::Engine(const SimGraph& sim_graph, PackedStep packed)
    : p_(sim_graph),
      packed_(std::move(packed)),
      run_(sim_graph.devices, sim_graph.links,
           static_cast<int32_t>(sim_graph.collective_time.size())),
      touched_devices_(sim_graph.devices),
      touched_links_(sim_graph.links),
      copies_(sim_graph.devices),
      last_input_(sim_graph.devices) {
  MakeRoom();
}

void Engine::Reload(PackedStep& packed) {
  std::swap(packed_, packed);
  run_.missing.assign(p_.collective_time.size(), 0);
  path_.raw().clear();
  MakeRoom();
}

void Engine::MakeRoom() {
  run_.ops.resize(p_.ops);
  if (run_.held.size() < packed_.edge_slice.size()) run_.held.resize(packed_.edge_slice.size());
  run_.holdings.resize(packed_.storages + run_.transfers.size());
  for (StorageId s : IdRange<StorageId>(static_cast<size_t>(packed_.storages))) {
    run_.holdings[AtHome(s)].bytes = packed_.storage_bytes[s];
  }
}

EngineOutcome Engine::Run(const Placement& placement, const EngineOptions& options,
                          Checkpoints* checkpoints) {
  options_ = options;
  Prepare(placement);
  return Continue(&placement, checkpoints);
}

EngineOutcome Engine::Resume(const Snapshot& state, const StatePatch& patch,
                             const Placement& placement, const EngineOptions& options,
                             Checkpoints* checkpoints) {
  options_ = options;
  Reset();
  MoveOps(patch);
  state.Restore(packed_, &run_);
  for (const auto& [op, device] : patch.devices) run_.ops[op].device = device;
  for (DeviceId d : IdRange<DeviceId>(patch.resident.size())) {
    run_.memory[d].now += patch.resident[d];
    run_.memory[d].peak += patch.resident[d];
  }
  if (options_.abandon_above < kMaxQuantity) SumWork();
  if (options_.policy == SchedulingPolicy::kCriticalPath) ComputePaths(placement, &path_);
  if (options_.policy == SchedulingPolicy::kProgram) LinkOps(state.live().op);
  if (options_.record) ForgetLater();
  return Continue(nullptr, checkpoints);
}

// Leaves of the records what they would be had the last recorded run stopped now.
void Engine::ForgetLater() {
  times_.resize(run_.transfer_count);
  for (TransferTimes& times : times_) {
    if (times.start > run_.now) times.start = times.end = -1;
  }
  for (ExecOpId op : p_.exec_ops()) {
    if (op_ready_[op] > run_.now) op_ready_[op] = -1;
    if (op_start_[op] > run_.now) op_start_[op] = op_end_[op] = -1;
  }
}

// Brings what is counted by device from the last run's placement to the patched one.
void Engine::MoveOps(const StatePatch& patch) {
  bool largest_left = false;
  for (const auto& [op, device] : patch.devices) {
    const DeviceId from = std::exchange(run_.ops[op].device, device);
    if (from == device) continue;
    --op_count_[from];
    ++op_count_[device];
    if (has_work_ && !p_.CollectiveOf(op).valid()) {
      all_work_[from] -= packed_.Time(op, from);
      all_work_[device] += packed_.Time(op, device);
    }
    largest_left |= p_.workspace[op] > 0 && p_.workspace[op] == workspace_[from];
    workspace_[device] = std::max(workspace_[device], p_.workspace[op]);
  }
  if (largest_left) CountWorkspaces();
}

EngineOutcome Engine::Continue(const Placement* fresh, Checkpoints* checkpoints) {
  checkpoints_ = checkpoints;
  save_at_ = std::numeric_limits<int32_t>::max();
  if (checkpoints != nullptr && checkpoints->count < checkpoints->max) {
    save_at_ = run_.ended + p_.ops / static_cast<int32_t>(checkpoints->max + 1) + 1;
  }
  const EngineOutcome outcome = ChooseLoop(fresh);
  // What began before the state from which the run goes on was not held to the limit.
  const bool late = outcome == EngineOutcome::kDone && run_.now > options_.abandon_above;
  return late ? EngineOutcome::kAbandoned : outcome;
}

void Engine::SaveState() {
  Checkpoints& to = *checkpoints_;
  const LiveFrom before = to.count == 0 ? LiveFrom() : to.states[to.count - 1].live();
  if (to.count == to.states.size()) to.states.emplace_back();
  to.states[to.count].Save(run_, packed_, FindLive(before));
  ++to.count;
  save_at_ = run_.ended + p_.ops / static_cast<int32_t>(to.max + 1) + 1;
  if (to.count == to.max) save_at_ = std::numeric_limits<int32_t>::max();
}

// The run is recorded and between two instants.
LiveFrom Engine::FindLive(LiveFrom live) const {
  const auto ended = [this](ExecOpId op) { return op_end_[op] >= 0 && op_end_[op] <= run_.now; };
  while (live.op.value() < p_.ops && ended(live.op)) live.op = ExecOpId(live.op.value() + 1);
  for (; live.storage.value() < packed_.storages;
       live.storage = StorageId(live.storage.value() + 1)) {
    if (p_.storage_class[live.storage] != StorageClass::kTransient) continue;
    const ExecOpId maker = p_.version_writer[p_.VersionOf(live.storage, 0)];
    if (!ended(maker) || UsesLeft(live.storage) > 0) break;
  }
  for (; live.transfer.value() < run_.transfer_count;
       live.transfer = TransferId(live.transfer.value() + 1)) {
    const int64_t end = times_[live.transfer].end;
    if (end < 0 || end > run_.now || CopyUsesLeft(live.transfer) > 0) break;
  }
  return live;
}

// Whatever an earlier run may have left in the middle.
void Engine::Reset() {
  stopped_ = abandoned_ = false;
  handled_ = DeviceId();
  touched_devices_.Clear();
  touched_links_.Clear();
  free_collectives_.clear();
  waiting_.clear();
  waiting_changed_ = false;
  std::fill(copies_.begin(), copies_.end(), CopyOf());
}

void Engine::Prepare(const Placement& placement) {
  Reset();
  ClearState();
  if (options_.record) {
    times_.resize(0);
    op_ready_.assign(p_.ops, -1);
    op_start_.assign(p_.ops, -1);
    op_end_.assign(p_.ops, -1);
  }
  PlaceOps(placement);
  if (options_.policy == SchedulingPolicy::kCriticalPath) ComputePaths(placement, &path_);
  PlacePersistent(placement);
  PlaceInputs();
  PrepareGeneral();
  if (general_ && p_.collectives_share) PrepareShares();
  if (options_.policy != SchedulingPolicy::kProgram) return;
  for (DeviceId device : p_.device_ids()) run_.last_op[device] = FirstOf(device);
  program_.Find(p_, packed_, run_.ops);
  collectives_over_.assign(program_.communicators().size(), 0);
  LinkOps(ExecOpId(0));
  if (HasSequences()) LinkSequences();
}

// What follows what on each device, of the ops from `from` on; those before it are over.
void Engine::LinkOps(ExecOpId from) {
  following_.resize(static_cast<size_t>(p_.ops + p_.devices));
  next_on_.assign(p_.devices, ExecOpId());
  const auto link = [this](ExecOpId op) {
    ExecOpId& next = next_on_[run_.ops[op].device];
    following_[op] = next;
    next = op;
  };
  if (program_.by_id()) {
    for (int32_t i = p_.ops; i > from.value(); --i) link(ExecOpId(i - 1));
  } else {
    for (size_t i = program_.order().size(); i > 0; --i) link(program_.order()[i - 1]);
  }
  for (DeviceId device : p_.device_ids()) {
    const ExecOpId last = run_.last_op[device];
    if (last < from || last == FirstOf(device)) following_[last] = next_on_[device];
  }
}

// Rule 16 comes before rule 17.
void Engine::LinkSequences() {
  for (DeviceId device : p_.device_ids()) {
    const std::optional<std::vector<OpId>>& sequence = (*options_.sequences)[device];
    if (!sequence) continue;
    ExecOpId last = FirstOf(device);
    for (const OpId op : *sequence) {
      following_[last] = p_.exec_of[op];
      last = p_.exec_of[op];
    }
    following_[last] = ExecOpId();
  }
}

void Engine::PrepareGeneral() {
  const bool sequences = HasSequences();
  general_ = sequences || !p_.collective_time.empty();
  if (!general_) return;
  for (CollectiveId id : IdRange<CollectiveId>(p_.collective_time.size())) {
    run_.missing[id] = static_cast<int32_t>(p_.collective_members[id].size());
  }
  collective_times_.assign(p_.collective_time.size(), {-1, -1, -1});
  has_sequence_.assign(p_.devices, 0);
  run_.next_turn.assign(p_.devices, 0);
  if (!sequences) return;
  turn_.assign(p_.ops, 0);
  for (DeviceId device : p_.device_ids()) {
    const std::optional<std::vector<OpId>>& sequence = (*options_.sequences)[device];
    has_sequence_[device] = sequence.has_value();
    if (!sequence) continue;
    for (size_t i = 0; i < sequence->size(); ++i) {
      turn_[p_.exec_of[(*sequence)[i]]] = static_cast<int32_t>(i);
    }
  }
}

// Rule 18: one communicator for each set of devices. In the program's order turns keep them apart.
void Engine::PrepareShares() {
  const size_t collectives = p_.collective_time.size();
  shares_.assign(collectives, Share());
  sharing_.clear();
  sharing_on_.assign(p_.links, 0);
  beside_.assign(p_.devices, 0);
  communicator_of_.resize(collectives);
  communicator_busy_.assign(collectives, 0);
  std::map<std::vector<DeviceId>, int32_t> numbers;
  for (CollectiveId id : IdRange<CollectiveId>(collectives)) {
    communicator_of_[id] = id.value();
    if (options_.policy == SchedulingPolicy::kProgram) continue;
    communicator_of_[id] =
        numbers.emplace(CommunicatorKey(p_, packed_, run_.ops, id), id.value()).first->second;
  }
}

ExecOpId Engine::StuckOp() const {
  for (DeviceId device : p_.device_ids()) {
    if (!has_sequence_[device]) continue;
    if (options_.policy == SchedulingPolicy::kProgram) {
      const ExecOpId following = following_[run_.last_op[device]];
      if (following.valid()) return following;
      continue;
    }
    const std::vector<OpId>& sequence = *(*options_.sequences)[device];
    const size_t next = static_cast<size_t>(run_.next_turn[device]);
    if (next < sequence.size()) return p_.exec_of[sequence[next]];
  }
  return ExecOpId();
}

void Engine::ClearState() {
  run_.now = 0;
  run_.ended = 0;
  for (size_t i = 0; i < packed_.shared_storages.size(); ++i) {
    run_.holdings[AtHome(packed_.shared_storages[i])].left = packed_.shared_left[i];
  }
  run_.transfer_count = 0;
  run_.memory.assign(p_.devices, DeviceOccupancy());
  run_.running_op.assign(p_.devices, ExecOpId());
  run_.running_transfer.assign(p_.links, TransferId());
  run_.link_busy.assign(p_.links, 0);
  run_.events.Clear();
  for (auto& queue : run_.device_queue) queue.Clear();
  for (auto& queue : run_.path_queue) queue.clear();
  for (auto& queue : run_.link_queue) queue.Clear();
}

DeviceId Engine::HomeOf(StorageId storage, const Placement& placement) const {
  if (p_.fixed_home[storage].valid()) return p_.fixed_home[storage];
  const OpId op = p_.home_op[storage];
  return op.valid() ? placement[op] : DeviceId();
}

void Engine::PlaceOps(const Placement& placement) {
  const bool views = p_.ops != static_cast<int32_t>(placement.size());
  for (ExecOpId op : p_.exec_ops()) {
    run_.ops[op] = {packed_.base_need[op], placement[views ? p_.op_of[op] : OpId(op.value())]};
  }
  CountOps();
}

void Engine::CountOps() {
  op_count_.assign(p_.devices, 0);
  for (const OpState& op : run_.ops) ++op_count_[op.device];
  CountWorkspaces();
  has_work_ = false;
  if (options_.abandon_above < kMaxQuantity) SumWork();
}

void Engine::CountWorkspaces() {
  workspace_.assign(p_.devices, 0);
  if (!packed_.any_workspace) return;
  for (ExecOpId op : p_.exec_ops()) {
    int64_t& workspace = workspace_[run_.ops[op].device];
    workspace = std::max(workspace, p_.workspace[op]);
  }
}

// Members of collectives take no time of their device.
void Engine::SumWork() {
  if (!has_work_) {
    all_work_.assign(p_.devices, 0);
    for (ExecOpId op : p_.exec_ops()) {
      if (p_.CollectiveOf(op).valid()) continue;
      const DeviceId device = run_.ops[op].device;
      all_work_[device] += packed_.Time(op, device);
    }
    has_work_ = true;
  }
  work_.resize(p_.devices);
  for (DeviceId d : p_.device_ids()) {
    work_[d] = static_cast<int64_t>(std::min<__int128>(all_work_[d], kMaxQuantity));
  }
}

void Engine::PlacePersistent(const Placement& placement) {
  for (StorageId storage : packed_.persistent) {
    const DeviceId home = HomeOf(storage, placement);
    if (home.valid()) run_.memory[home].now += p_.storage_bytes[storage];
  }
}

// Rule 9: an input lies on every device that reads it, once.
void Engine::PlaceInputs() {
  std::fill(last_input_.begin(), last_input_.end(), StorageId());
  for (SliceId slice : packed_.input_slices) {
    const StorageId storage = packed_.slices[slice.index()].storage();
    for (const PackedReader& reader : packed_.ReadersOf(slice)) {
      const DeviceId device = run_.ops[reader.op].device;
      if (last_input_[device] == storage) continue;
      last_input_[device] = storage;
      run_.memory[device].now += p_.storage_bytes[storage];
    }
  }
  for (DeviceOccupancy& memory : run_.memory) memory.peak = memory.now;
}

// Rule 2. In-place writers wait for the readers beside them, so their paths count there.
void Engine::ComputePaths(const Placement& placement, IdVector<ExecOpId, int64_t>* paths) const {
  if (!p_.waits_in_place) {
    if (paths->empty()) *paths = p_.min_path;
    return;
  }
  IdVector<ExecOpId, int64_t>& path = *paths;
  FillPaths(p_, paths, [&](ExecOpId op) {
    int64_t longest = 0;
    for (const PackedReader& reader : packed_.ReadersOf(op)) {
      longest = std::max(longest, path[reader.op]);
    }
    for (ExecOpId waits : packed_.ends[op]) longest = std::max(longest, path[waits]);
    const PackedOp* const row = &packed_.ops[op.index()];
    for (int32_t e = row[0].edge; e < row[1].edge; ++e) {
      const ExecOpId writer = packed_.overwriter[packed_.edge_slice[e]];
      if (!writer.valid() || writer == op || placement[p_.op_of[writer]] != placement[p_.op_of[op]])
        continue;
      longest = std::max(longest, path[writer]);
    }
    return longest;
  });
}

}  // namespace placewright
