// What the engine does before the first event and between runs. The loop itself is event_loop.cc.
#include "sim/engine/engine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace placewright {

Engine::Engine(const SimGraph& sim_graph)
    : p_(sim_graph),
      packed_(sim_graph),
      run_(sim_graph.devices, sim_graph.links),
      touched_devices_(sim_graph.devices),
      touched_links_(sim_graph.links),
      copies_(sim_graph.devices),
      last_input_(sim_graph.devices) {
  run_.ops.resize(p_.ops);
  run_.held.resize(packed_.edge_slice.size());
  run_.holdings.resize(packed_.storages);
  for (int32_t s = 0; s < packed_.storages; ++s) {
    run_.holdings[s].bytes = packed_.storage_bytes[s];
  }
  op_ready_.assign(p_.ops, -1);
  op_start_.assign(p_.ops, -1);
  op_end_.assign(p_.ops, -1);
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
  for (size_t d = 0; d < patch.resident.size(); ++d) {
    run_.memory[d].now += patch.resident[d];
    run_.memory[d].peak += patch.resident[d];
  }
  if (options_.abandon_above < kMaxQuantity) SumWork();
  if (options_.policy == SchedulingPolicy::kCriticalPath) ComputePaths(placement, &path_);
  if (options_.record) ForgetLater();
  return Continue(nullptr, checkpoints);
}

// Leaves of the records what they would be had the last recorded run stopped now.
void Engine::ForgetLater() {
  times_.resize(run_.transfer_count);
  for (TransferTimes& times : times_) {
    if (times.start > run_.now) times.start = times.end = -1;
  }
  for (int32_t op = 0; op < p_.ops; ++op) {
    if (op_ready_[op] > run_.now) op_ready_[op] = -1;
    if (op_start_[op] > run_.now) op_start_[op] = op_end_[op] = -1;
  }
}

// Brings what is counted by device from the last run's placement to the patched one.
void Engine::MoveOps(const StatePatch& patch) {
  bool largest_left = false;
  for (const auto& [op, device] : patch.devices) {
    const int32_t from = std::exchange(run_.ops[op].device, device);
    if (from == device) continue;
    --op_count_[from];
    ++op_count_[device];
    if (has_work_) {
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
  const auto ended = [this](int32_t op) { return op_end_[op] >= 0 && op_end_[op] <= run_.now; };
  while (live.op < p_.ops && ended(live.op)) ++live.op;
  for (; live.storage < packed_.storages; ++live.storage) {
    if (p_.storage_class[live.storage] != StorageClass::kTransient) continue;
    const int32_t maker = p_.version_writer[p_.storage_versions.offsets[live.storage]];
    if (!ended(maker) || run_.holdings[live.storage].left > 0) break;
  }
  for (; live.transfer < run_.transfer_count; ++live.transfer) {
    const int64_t end = times_[live.transfer].end;
    if (end < 0 || end > run_.now || CopyUsesLeft(live.transfer) > 0) break;
  }
  return live;
}

// Whatever an earlier run may have left in the middle.
void Engine::Reset() {
  stopped_ = abandoned_ = false;
  handled_ = -1;
  touched_devices_.Clear();
  touched_links_.Clear();
  std::fill(copies_.begin(), copies_.end(), CopyOf());
}

void Engine::Prepare(const Placement& placement) {
  Reset();
  ClearState();
  if (options_.record) {
    times_.clear();
    std::fill(op_ready_.begin(), op_ready_.end(), -1);
    std::fill(op_start_.begin(), op_start_.end(), -1);
    std::fill(op_end_.begin(), op_end_.end(), -1);
  }
  PlaceOps(placement);
  if (options_.policy == SchedulingPolicy::kCriticalPath) ComputePaths(placement, &path_);
  PlacePersistent(placement);
  PlaceInputs();
}

void Engine::ClearState() {
  run_.now = 0;
  run_.ended = 0;
  for (size_t i = 0; i < packed_.shared_storages.size(); ++i) {
    run_.holdings[packed_.shared_storages[i]].left = packed_.shared_left[i];
  }
  run_.transfer_count = 0;
  run_.memory.assign(p_.devices, DeviceMemory());
  run_.running_op.assign(p_.devices, -1);
  run_.running_transfer.assign(p_.links, -1);
  run_.link_busy.assign(p_.links, 0);
  run_.events.Clear();
  for (auto& queue : run_.device_queue) queue.Clear();
  for (auto& queue : run_.path_queue) queue.clear();
  for (auto& queue : run_.link_queue) queue.Clear();
}

int32_t Engine::HomeOf(int32_t storage, const Placement& placement) const {
  if (p_.fixed_home[storage] >= 0) return p_.fixed_home[storage];
  const int32_t op = p_.home_op[storage];
  return op < 0 ? -1 : placement[OpId(op)].value();
}

void Engine::PlaceOps(const Placement& placement) {
  const bool views = p_.ops != static_cast<int32_t>(placement.size());
  for (int32_t op = 0; op < p_.ops; ++op) {
    run_.ops[op] = {packed_.base_need[op], placement[views ? p_.op_of[op] : OpId(op)].value()};
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
  for (int32_t op = 0; op < p_.ops; ++op) {
    int64_t& workspace = workspace_[run_.ops[op].device];
    workspace = std::max(workspace, p_.workspace[op]);
  }
}

void Engine::SumWork() {
  if (!has_work_) {
    all_work_.assign(p_.devices, 0);
    for (int32_t op = 0; op < p_.ops; ++op) {
      const int32_t device = run_.ops[op].device;
      all_work_[device] += packed_.Time(op, device);
    }
    has_work_ = true;
  }
  work_.resize(p_.devices);
  for (int32_t d = 0; d < p_.devices; ++d) {
    work_[d] = static_cast<int64_t>(std::min<__int128>(all_work_[d], kMaxQuantity));
  }
}

void Engine::PlacePersistent(const Placement& placement) {
  for (int32_t storage : packed_.persistent) {
    const int32_t home = HomeOf(storage, placement);
    if (home >= 0) run_.memory[home].now += p_.storage_bytes[storage];
  }
}

// Rule 9: an input lies on every device that reads it, once.
void Engine::PlaceInputs() {
  std::fill(last_input_.begin(), last_input_.end(), -1);
  for (int32_t slice : packed_.input_slices) {
    const int32_t storage = p_.slice_storage[slice];
    for (int32_t i = p_.slice_readers_offset[slice]; i < p_.slice_readers_offset[slice + 1]; ++i) {
      const int32_t device = run_.ops[p_.slice_readers[i]].device;
      if (last_input_[device] == storage) continue;
      last_input_[device] = storage;
      run_.memory[device].now += p_.storage_bytes[storage];
    }
  }
  for (DeviceMemory& memory : run_.memory) memory.peak = memory.now;
}

// Rule 2. In-place writers wait for the readers beside them, so their paths count there.
void Engine::ComputePaths(const Placement& placement, std::vector<int64_t>* paths) const {
  if (!p_.waits_in_place) {
    if (paths->empty()) *paths = p_.min_path;
    return;
  }
  paths->assign(p_.ops, 0);
  std::vector<int64_t>& path = *paths;
  for (size_t i = p_.topological_order.size(); i-- > 0;) {
    const int32_t op = p_.topological_order[i];
    int64_t longest = 0;
    for (int32_t r = p_.slice_readers_offset[p_.op_first_slice[op]],
                 end = p_.slice_readers_offset[p_.op_first_slice[op + 1]];
         r < end; ++r) {
      longest = std::max(longest, path[p_.slice_readers[r]]);
    }
    for (int32_t e = packed_.end_offset[op]; e < packed_.end_offset[op + 1]; ++e) {
      longest = std::max(longest, path[packed_.ends[e]]);
    }
    for (int32_t e = packed_.ops[op].edge; e < packed_.ops[op + 1].edge; ++e) {
      const int32_t writer = packed_.overwriter[packed_.edge_slice[e]];
      if (writer < 0 || writer == op || placement[p_.op_of[writer]] != placement[p_.op_of[op]])
        continue;
      longest = std::max(longest, path[writer]);
    }
    path[op] = SaturatingAdd(p_.min_time[op], longest);
  }
}

}  // namespace placewright
