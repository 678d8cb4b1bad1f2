#include "sim/engine/engine.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/check.h"

namespace placewright {

namespace {

int64_t Later(int64_t now, int64_t duration) { return std::min(now + duration, kMaxQuantity); }

}  // namespace

EngineOutcome Engine::Run(const Placement& placement, const EngineOptions& options,
                          Checkpoints* checkpoints) {
  options_ = options;
  Prepare(placement);
  return Continue(checkpoints);
}

void StatePatch::Apply(RunState* state) const {
  for (const auto& [op, device] : devices) state->ops[op].device = static_cast<uint16_t>(device);
  for (const auto& [unit, home] : homes) state->units[unit].home = static_cast<uint16_t>(home);
  for (size_t d = 0; d < resident.size(); ++d) {
    state->memory[d].now += resident[d];
    state->memory[d].peak += resident[d];
  }
}

EngineOutcome Engine::Resume(const RunState& state, const StatePatch& patch,
                             const Placement& placement, const EngineOptions& options,
                             Checkpoints* checkpoints) {
  options_ = options;
  Reset();
  run_ = state;
  patch.Apply(&run_);
  for (const auto& [op, device] : patch.devices) {
    duration_[op] = p_.time[int64_t{op} * p_.devices + device];
  }
  CountOps();
  if (options_.order == Order::kCriticalPath) ComputePaths(placement, &path_);
  if (options_.record) times_.resize(run_.transfers.size());
  return Continue(checkpoints);
}

EngineOutcome Engine::Continue(Checkpoints* checkpoints) {
  checkpoints_ = checkpoints;
  save_at_ = std::numeric_limits<int32_t>::max();
  if (checkpoints != nullptr && checkpoints->count < checkpoints->most) {
    save_at_ = run_.ended + p_.ops / static_cast<int32_t>(checkpoints->most + 1) + 1;
  }
  const EngineOutcome outcome = ChooseLoop();
  // What began before the state from which the run goes on was not held to the limit.
  const bool late = outcome == EngineOutcome::kDone && run_.now > options_.abandon_above;
  return late ? EngineOutcome::kAbandoned : outcome;
}

EngineOutcome Engine::ChooseLoop() {
  const bool bound = options_.abandon_above < kMaxQuantity;
  if (options_.order == Order::kCriticalPath) {
    if (options_.record) return bound ? Loop<true, true, true>() : Loop<true, true, false>();
    return bound ? Loop<true, false, true>() : Loop<true, false, false>();
  }
  if (options_.record) return bound ? Loop<false, true, true>() : Loop<false, true, false>();
  return bound ? Loop<false, false, true>() : Loop<false, false, false>();
}

void Engine::SaveState() {
  Checkpoints& to = *checkpoints_;
  if (to.count == to.states.size()) {
    to.states.push_back(run_);
  } else {
    to.states[to.count] = run_;
  }
  ++to.count;
  save_at_ = run_.ended + p_.ops / static_cast<int32_t>(to.most + 1) + 1;
  if (to.count == to.most) save_at_ = std::numeric_limits<int32_t>::max();
}

// Whatever an earlier run may have left in the middle.
void Engine::Reset() {
  stopped_ = false;
  for (int32_t device : touched_devices_) device_touched_[device] = 0;
  for (int32_t link : touched_links_) link_touched_[link] = 0;
  touched_devices_.clear();
  touched_links_.clear();
}

void Engine::Prepare(const Placement& placement) {
  Reset();
  run_.now = 0;
  run_.ended = 0;
  run_.left = base_left_;
  run_.memory.assign(p_.devices, DeviceMemory());
  run_.running_op.assign(p_.devices, -1);
  run_.running_transfer.assign(p_.links, -1);
  run_.link_busy.assign(p_.links, 0);
  run_.transfers.clear();
  if (options_.record) times_.clear();
  run_.op_ends.Clear();
  run_.transfer_ends.Clear();
  for (auto& queue : run_.device_queue) queue.Clear();
  for (auto& queue : run_.path_queue) queue.clear();
  for (auto& queue : run_.link_queue) queue.Clear();
  if (options_.record) {
    std::fill(op_ready_.begin(), op_ready_.end(), -1);
    std::fill(op_start_.begin(), op_start_.end(), -1);
    std::fill(op_end_.begin(), op_end_.end(), -1);
  }
  PlaceOps(placement);
  if (options_.order == Order::kCriticalPath) ComputePaths(placement, &path_);
  PlacePersistent(placement);
  PlaceInputs();
  PublishInitial(placement);
}

void Engine::PublishInitial(const Placement& placement) {
  for (int32_t unit : initial_units_) {
    const int32_t home = HomeOf(p_.unit_storage[unit], placement);
    run_.units[unit].home = static_cast<uint16_t>(home);
    int32_t local = 0;
    for (int32_t i = p_.unit_readers_offset[unit]; i < p_.unit_readers_offset[unit + 1]; ++i) {
      const int32_t reader = p_.unit_readers[i];
      const int32_t device = run_.ops[reader].device;
      if (device == home) {
        ++local;
        continue;
      }
      ++run_.ops[reader].need;
      if (remote_count_[device]++ == 0) remote_devices_.push_back(device);
    }
    const int32_t waits = local + AddTransfers(unit, home);
    const UnitInfo& info = unit_info_[unit];
    if (info.overwriter >= 0) run_.ops[info.overwriter].need += waits - info.overwriter_reads;
  }
  for (int32_t op : first_ready_) {
    if (run_.ops[op].need > 0) continue;
    if (options_.order == Order::kCriticalPath) {
      MakeReady<true>(op);
    } else {
      MakeReady<false>(op);
    }
  }
}

inline void Engine::TouchDevice(int32_t device) {
  if (device_touched_[device]) return;
  device_touched_[device] = 1;
  touched_devices_.push_back(device);
}

inline void Engine::TouchLink(int32_t link) {
  if (link_touched_[link]) return;
  link_touched_[link] = 1;
  touched_links_.push_back(link);
}

template <bool kPriority>
inline void Engine::MakeReady(int32_t op) {
  const int32_t device = run_.ops[op].device;
  if (options_.record) op_ready_[op] = run_.now;
  if constexpr (kPriority) {
    run_.path_queue[device].push_back({path_[op], op});
    std::push_heap(run_.path_queue[device].begin(), run_.path_queue[device].end(),
                   std::greater<>());
  } else {
    run_.device_queue[device].Push(run_.now, op);
  }
  if (run_.running_op[device] < 0) TouchDevice(device);
}

template <bool kPriority>
inline void Engine::Satisfy(int32_t op) {
  if (--run_.ops[op].need == 0) MakeReady<kPriority>(op);
}

inline Transfer& Engine::FindCopy(int32_t unit, int32_t device) {
  Transfer* transfer = &run_.transfers[run_.units[unit].first_transfer];
  while (transfer->to != device) ++transfer;
  return *transfer;
}

// `op` has ended on `device` and no longer needs the unit (rule 11).
template <bool kPriority>
inline void Engine::Release(int32_t unit, int32_t op, int32_t device) {
  if (run_.units[unit].home != device) {
    if (--FindCopy(unit, device).readers == 0) run_.memory[device].now -= p_.unit_bytes[unit];
    return;
  }
  const UnitInfo& info = unit_info_[unit];
  if (--run_.left[info.storage] == 0) run_.memory[device].now -= p_.storage_bytes[info.storage];
  if (info.overwriter >= 0 && info.overwriter != op) Satisfy<kPriority>(info.overwriter);
}

// One transfer per device of remote_devices_, which it empties; returns how many.
int32_t Engine::AddTransfers(int32_t unit, int32_t device) {
  if (remote_devices_.empty()) return 0;
  run_.units[unit].first_transfer = static_cast<int32_t>(run_.transfers.size());
  for (int32_t to : remote_devices_) {
    const int32_t id = static_cast<int32_t>(run_.transfers.size());
    run_.transfers.push_back(
        {unit, remote_count_[to], static_cast<uint16_t>(device), static_cast<uint16_t>(to), false});
    remote_count_[to] = 0;
    if (options_.record) times_.push_back({run_.now, -1, -1});
    const int32_t route = device * p_.devices + to;
    const int32_t first = p_.route_offset[route], end = p_.route_offset[route + 1];
    PW_CHECK(first < end);
    for (int32_t i = first; i < end; ++i) {
      run_.link_queue[p_.route_links[i]].Push(run_.now, {unit, to, id});
    }
    TouchLink(p_.route_links[first]);
  }
  const int32_t count = static_cast<int32_t>(remote_devices_.size());
  remote_devices_.clear();
  return count;
}

// The unit has become resident at its home: its writer has ended.
template <bool kPriority>
inline void Engine::Publish(int32_t unit, int32_t device) {
  run_.units[unit].home = static_cast<uint16_t>(device);
  int32_t uses = 0;
  const UnitInfo& info = unit_info_[unit];
  for (int32_t i = info.reader, end = unit_info_[unit + 1].reader; i < end; ++i) {
    const int32_t reader = p_.unit_readers[i];
    const int32_t at = run_.ops[reader].device;
    if (at == device) {
      ++uses;
      Satisfy<kPriority>(reader);
    } else if (remote_count_[at]++ == 0) {
      remote_devices_.push_back(at);
    }
  }
  if (!remote_devices_.empty()) uses += AddTransfers(unit, device);
  run_.left[info.storage] += uses;
  if (info.overwriter >= 0) run_.ops[info.overwriter].need += uses - info.overwriter_reads;
}

template <bool kPriority>
inline void Engine::CompleteOp(int32_t op) {
  const int32_t device = run_.ops[op].device;
  ++run_.ended;
  for (int32_t i = op_info_[op].release, end = op_info_[op + 1].release; i < end; ++i) {
    Release<kPriority>(release_[i], op, device);
  }
  for (int32_t unit = op_info_[op].unit, end = op_info_[op + 1].unit; unit < end; ++unit) {
    Publish<kPriority>(unit, device);
  }
  for (int32_t i = op_info_[op].token, end = op_info_[op + 1].token; i < end; ++i) {
    if (--run_.left[token_[i]] == 0) run_.memory[device].now -= p_.storage_bytes[token_[i]];
  }
  for (int32_t i = op_info_[op].end, end = op_info_[op + 1].end; i < end; ++i) {
    Satisfy<kPriority>(ends_[i]);
  }
}

template <bool kPriority>
inline void Engine::CompleteTransfer(int32_t id) {
  const int32_t unit = run_.transfers[id].unit;
  const int32_t from = run_.transfers[id].from, to = run_.transfers[id].to;
  const UnitInfo& info = unit_info_[unit];
  if (--run_.left[info.storage] == 0) run_.memory[from].now -= p_.storage_bytes[info.storage];
  if (info.overwriter >= 0) Satisfy<kPriority>(info.overwriter);
  for (int32_t i = info.reader, end = unit_info_[unit + 1].reader; i < end; ++i) {
    if (run_.ops[p_.unit_readers[i]].device == to) Satisfy<kPriority>(p_.unit_readers[i]);
  }
  const int32_t route = from * p_.devices + to;
  for (int32_t i = p_.route_offset[route]; i < p_.route_offset[route + 1]; ++i) {
    run_.link_busy[p_.route_links[i]] = 0;
    TouchLink(p_.route_links[i]);
  }
}

inline void Engine::Allocate(int32_t device, int64_t bytes) {
  DeviceMemory& memory = run_.memory[device];
  memory.now += bytes;
  if (memory.now <= memory.peak) return;
  // Within one phase of starts occupancy only grows, so its last maximum is the one of rule 12.
  memory.peak = memory.now;
  memory.peak_time = run_.now;
  if (device == options_.stop_device && memory.peak == options_.stop_bytes) stopped_ = true;
}

bool Engine::Exceeds(int64_t bound) {
  if (bound <= options_.abandon_above) return false;
  run_.now = bound;
  return true;
}

inline int64_t Engine::TransferDuration(const Transfer& transfer) const {
  const int32_t route = transfer.from * p_.devices + transfer.to;
  const int64_t length = p_.unit_length[transfer.unit], rate = p_.route_bandwidth[route];
  constexpr int64_t kNarrow = int64_t{1} << 32;  // 2^32 * 1e9 + 2 * 2^60 fits in 63 bits
  if (length < kNarrow && rate <= kMaxQuantity) {
    const uint64_t product = static_cast<uint64_t>(length) * 1'000'000'000u;
    const uint64_t divisor = static_cast<uint64_t>(rate);
    return p_.route_latency[route] + static_cast<int64_t>((product + divisor - 1) / divisor);
  }
  return p_.route_latency[route] + TransferTime(Bytes(length), BytesPerSecond(rate)).count;
}

// Rule 5: starts the transfer that heads the link's queue if it may; true: abandon the run.
template <bool kRecord, bool kBound>
inline bool Engine::TryStartTransfer(int32_t link) {
  if (run_.link_busy[link] || run_.link_queue[link].empty()) return false;
  const int32_t id = run_.link_queue[link].front().transfer;
  Transfer& transfer = run_.transfers[id];
  const int32_t route = transfer.from * p_.devices + transfer.to;
  const int32_t first = p_.route_offset[route], end = p_.route_offset[route + 1];
  for (int32_t i = first; i < end; ++i) {
    const int32_t other = p_.route_links[i];
    if (run_.link_busy[other] || run_.link_queue[other].front().transfer != id) return false;
  }
  for (int32_t i = first; i < end; ++i) {
    run_.link_queue[p_.route_links[i]].Pop();
    run_.link_busy[p_.route_links[i]] = 1;
  }
  const int64_t done = Later(run_.now, std::min(TransferDuration(transfer), kMaxQuantity));
  transfer.started = true;
  Allocate(transfer.to, p_.unit_bytes[transfer.unit]);
  run_.running_transfer[p_.route_links[first]] = id;
  run_.transfer_ends.Set(p_.route_links[first], done);
  if constexpr (kRecord) {
    times_[id].start = run_.now;
    times_[id].end = done;
  }
  return kBound && Exceeds(done);
}

// Serves the next ready op of an idle device; true: abandon the run.
template <bool kPriority, bool kRecord, bool kBound>
inline bool Engine::StartOp(int32_t device) {
  if (run_.running_op[device] >= 0) return false;
  int32_t op = -1;
  if constexpr (kPriority) {
    auto& queue = run_.path_queue[device];
    if (queue.empty()) return false;
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    op = queue.back().op;
    queue.pop_back();
  } else {
    auto& queue = run_.device_queue[device];
    if (queue.empty()) return false;
    op = queue.front();
    queue.Pop();
  }
  const int64_t end = Later(run_.now, duration_[op]);
  run_.running_op[device] = op;
  run_.op_ends.Set(device, end);
  DeviceMemory& memory = run_.memory[device];
  if constexpr (kBound) {
    const int64_t rest = p_.least_path[op] - p_.least_time[op];
    if (Exceeds(std::max(Later(end, rest), Later(run_.now, work_[device] - memory.busy))))
      return true;
  }
  memory.busy += end - run_.now;
  Allocate(device, op_info_[op].birth_bytes);
  if constexpr (kRecord) {
    op_start_[op] = run_.now;
    op_end_[op] = end;
  }
  return false;
}

template <bool kPriority, bool kRecord, bool kBound>
inline bool Engine::StartAll() {
  for (int32_t device : touched_devices_) {
    device_touched_[device] = 0;
    if (StartOp<kPriority, kRecord, kBound>(device)) return true;
  }
  touched_devices_.clear();
  for (int32_t link : touched_links_) {
    link_touched_[link] = 0;
    if (TryStartTransfer<kRecord, kBound>(link)) return true;
  }
  touched_links_.clear();
  return false;
}

// Rule 6: at one instant every completion, then every start, again and again; what starts with zero
// duration completes in the next turn.
template <bool kPriority, bool kRecord, bool kBound>
EngineOutcome Engine::Loop() {
  for (;;) {
    if (StartAll<kPriority, kRecord, kBound>()) return EngineOutcome::kAbandoned;
    if (stopped_) return EngineOutcome::kStopped;
    const int64_t next = std::min(run_.op_ends.least(), run_.transfer_ends.least());
    if (next == EventTree::kNever) break;
    if (run_.ended >= save_at_ && next > run_.now) SaveState();
    run_.now = next;
    while (run_.op_ends.least() == next) {
      const int32_t device = run_.op_ends.slot();
      const int32_t op = run_.running_op[device];
      run_.op_ends.Set(device, EventTree::kNever);
      run_.running_op[device] = -1;
      TouchDevice(device);
      CompleteOp<kPriority>(op);
    }
    while (run_.transfer_ends.least() == next) {
      const int32_t link = run_.transfer_ends.slot();
      run_.transfer_ends.Set(link, EventTree::kNever);
      CompleteTransfer<kPriority>(run_.running_transfer[link]);
    }
  }
  PW_CHECK_EQ(run_.ended, p_.ops);
  return EngineOutcome::kDone;
}

}  // namespace placewright
