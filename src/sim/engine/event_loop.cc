// The event loop: rules 1 to 7 and 10 to 12 of docs/simulator.md.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "sim/engine/engine.h"

namespace placewright {

namespace {

int64_t Later(int64_t now, int64_t duration) { return std::min(now + duration, kMaxQuantity); }

// A hint and nothing more.
inline void Prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
  __builtin_prefetch(address);
#endif
}

}  // namespace

EngineOutcome Engine::ChooseLoop(const Placement* fresh) {
  const bool bound = options_.abandon_above < kMaxQuantity;
  if (options_.policy == SchedulingPolicy::kCriticalPath) {
    if (options_.record)
      return bound ? Loop<true, true, true>(fresh) : Loop<true, true, false>(fresh);
    return bound ? Loop<true, false, true>(fresh) : Loop<true, false, false>(fresh);
  }
  if (options_.record)
    return bound ? Loop<false, true, true>(fresh) : Loop<false, true, false>(fresh);
  return bound ? Loop<false, false, true>(fresh) : Loop<false, false, false>(fresh);
}

template <bool kPriority, bool kRecord>
inline void Engine::MakeReady(int32_t op) {
  const int32_t device = run_.ops[op].device;
  if constexpr (kRecord) op_ready_[op] = run_.now;
  if constexpr (kPriority) {
    run_.path_queue[device].push_back({path_[op], op});
    std::push_heap(run_.path_queue[device].begin(), run_.path_queue[device].end(),
                   std::greater<>());
  } else {
    run_.device_queue[device].Push(run_.now, op);
  }
  if (device != handled_ && run_.running_op[device] < 0) touched_devices_.Add(device);
}

template <bool kPriority, bool kRecord>
inline void Engine::Satisfy(int32_t op) {
  if (--run_.ops[op].need == 0) MakeReady<kPriority, kRecord>(op);
}

inline int64_t Engine::TransferDuration(const PackedRoute& route, int64_t length) const {
  constexpr int64_t kNarrow = int64_t{1} << 32;  // 2^32 * 1e9 + 2 * 2^60 fits in 63 bits
  if (length < kNarrow && route.bandwidth <= kMaxQuantity) {
    const uint64_t product = static_cast<uint64_t>(length) * 1'000'000'000u;
    const uint64_t divisor = static_cast<uint64_t>(route.bandwidth);
    return std::min(route.latency + static_cast<int64_t>((product + divisor - 1) / divisor),
                    kMaxQuantity);
  }
  const Nanos time = TransferTime(Bytes(length), BytesPerSecond(route.bandwidth));
  return std::min(route.latency + time.count, kMaxQuantity);
}

inline void Engine::Allocate(int32_t device, __int128 bytes) {
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

// The transfer holds its links from now on. Returns its end; the caller adds the event.
template <bool kRecord, bool kBound>
inline int64_t Engine::BeginTransfer(int32_t id, int32_t link) {
  const Transfer& transfer = run_.transfers[id];
  const int64_t done = Later(run_.now, transfer.duration);
  Prefetch(packed_.ops.data() + transfer.reader);  // it may begin when this ends
  Prefetch(packed_.times.data() + packed_.time_row[transfer.to] + transfer.reader);
  Allocate(transfer.to, run_.holdings[packed_.storages + id].bytes);
  run_.running_transfer[link] = id;
  if constexpr (kRecord) {
    times_[id].start = run_.now;
    times_[id].end = done;
  }
  if constexpr (kBound) abandoned_ = abandoned_ || Exceeds(done);
  return done;
}

// Rule 4: the slice crosses to `to`, where `reader` is the first that reads it. Returns the copy.
template <bool kRecord, bool kBound>
int32_t Engine::AddTransfer(int32_t slice, int32_t reader, int32_t from, int32_t to, bool at_once) {
  const int32_t id = run_.transfer_count++;
  if (static_cast<size_t>(id) == run_.transfers.size()) {
    run_.MakeRoomForTransfers(packed_.storages, run_.transfer_count);
  }
  const PackedSlice& row = packed_.slices[slice];
  const PackedRoute& route = packed_.routes[from * p_.devices + to];
  const int32_t overwriter = row.overwritten() ? packed_.overwriter[slice] : -1;
  run_.transfers[id] = {TransferDuration(route, row.length),
                        slice,
                        row.storage(),
                        reader,
                        overwriter,
                        static_cast<uint16_t>(from),
                        static_cast<uint16_t>(to)};
  const int32_t copy = packed_.storages + id;
  run_.holdings[copy] = {RoundUpToGranule(Bytes(row.length)).count, 1};
  if constexpr (kRecord) times_.push_back({run_.now, -1, -1});
  if (at_once && route.private_link >= 0 && !run_.link_busy[route.private_link]) {
    run_.link_busy[route.private_link] = 1;
    const int64_t done = BeginTransfer<kRecord, kBound>(id, route.private_link);
    run_.events.Push(done, EventSlot(route.private_link));
    return copy;
  }
  PW_CHECK(route.link < route.end);
  for (int32_t i = route.link; i < route.end; ++i) {
    run_.link_queue[p_.route_links[i]].Push(run_.now, {slice, to, id});
  }
  if (!at_once || route.private_link < 0) touched_links_.Add(p_.route_links[route.link]);
  return copy;
}

// The slice has become resident at its home: its writer has ended.
template <bool kPriority, bool kRecord, bool kBound>
inline void Engine::Publish(int32_t slice, int32_t device, bool at_once) {
  const PackedSlice& row = packed_.slices[slice];
  const PackedReader* reader = packed_.readers.data() + row.reader;
  const PackedReader* const end = packed_.readers.data() + packed_.slices[slice + 1].reader;
  const int32_t storage = row.storage();
  OpState* const ops = run_.ops.data();
  int32_t* const held = run_.held.data();
  ReadyQueue<int32_t>& queue = run_.device_queue[device];
  if constexpr (!kPriority) queue.Open(run_.now, end - reader);
  int32_t uses = 0;
  for (; reader != end; ++reader) {
    OpState& op = ops[reader->op];
    if (op.device == device) {
      ++uses;
      held[reader->edge] = storage;
      --op.need;
      if constexpr (kPriority || kRecord) {
        if (op.need == 0) MakeReady<kPriority, kRecord>(reader->op);
      } else {
        queue.PushIf(op.need == 0, reader->op);
      }
      continue;
    }
    CopyOf& copy = copies_[op.device];
    if (copy.slice != slice) {
      ++uses;
      copy = {slice, AddTransfer<kRecord, kBound>(slice, reader->op, device, op.device, at_once)};
    } else {
      ++run_.holdings[copy.holding].left;
    }
    held[reader->edge] = copy.holding;
  }
  Holding& home = run_.holdings[storage];
  home.left = (row.alone() ? 0 : home.left) + uses;
  if (row.overwritten()) {
    run_.ops[packed_.overwriter[slice]].need += uses - packed_.overwriter_reads[slice];
  }
}

// Rule 3. Nobody waits for initial content at home, but whoever reads it elsewhere does.
template <bool kPriority, bool kRecord, bool kBound>
void Engine::PublishInitial(const Placement& placement) {
  for (int32_t slice : packed_.initial_slices) {
    const int32_t storage = p_.slice_storage[slice], home = HomeOf(storage, placement);
    int32_t uses = 0;
    for (int32_t i = packed_.slices[slice].reader; i < packed_.slices[slice + 1].reader; ++i) {
      const PackedReader reader = packed_.readers[i];
      OpState& op = run_.ops[reader.op];
      if (op.device == home) {
        ++uses;
        run_.held[reader.edge] = storage;
        continue;
      }
      ++op.need;
      CopyOf& copy = copies_[op.device];
      if (copy.slice != slice) {
        ++uses;
        copy = {slice, AddTransfer<kRecord, kBound>(slice, reader.op, home, op.device, false)};
      } else {
        ++run_.holdings[copy.holding].left;
      }
      run_.held[reader.edge] = copy.holding;
    }
    const int32_t overwriter = packed_.overwriter[slice];
    if (overwriter >= 0) run_.ops[overwriter].need += uses - packed_.overwriter_reads[slice];
  }
  for (int32_t op : packed_.first_ready) {
    if (run_.ops[op].need == 0) MakeReady<kPriority, kRecord>(op);
  }
}

template <bool kPriority, bool kRecord, bool kBound>
inline void Engine::CompleteOp(int32_t op, int32_t device, bool at_once) {
  const PackedOp& row = packed_.ops[op];
  const PackedOp& next = packed_.ops[op + 1];
  ++run_.ended;
  if (row.special()) return CompleteSpecialOp<kPriority, kRecord, kBound>(op, device);
  __int128 freed = 0;
  for (int32_t edge = row.edge; edge < next.edge; ++edge) {  // rule 11
    freed += run_.holdings[run_.held[edge]].Release();
  }
  run_.memory[device].now -= freed;
  for (int32_t slice = row.slice; slice < next.slice; ++slice) {
    Publish<kPriority, kRecord, kBound>(slice, device, at_once);
  }
}

// With in-place writers that wait for it, several versions, or explicit order.
template <bool kPriority, bool kRecord, bool kBound>
void Engine::CompleteSpecialOp(int32_t op, int32_t device) {
  __int128& memory = run_.memory[device].now;
  for (int32_t edge = packed_.ops[op].edge; edge < packed_.ops[op + 1].edge; ++edge) {
    const int32_t held = run_.held[edge];
    memory -= run_.holdings[held].Release();
    const int32_t overwriter = packed_.overwriter[packed_.edge_slice[edge]];
    const bool beside_home = held < packed_.storages;
    if (beside_home && overwriter >= 0 && overwriter != op) Satisfy<kPriority, kRecord>(overwriter);
  }
  for (int32_t slice = packed_.ops[op].slice; slice < packed_.ops[op + 1].slice; ++slice) {
    Publish<kPriority, kRecord, kBound>(slice, device, false);
  }
  for (int32_t i = packed_.token_offset[op]; i < packed_.token_offset[op + 1]; ++i) {
    memory -= run_.holdings[packed_.tokens[i]].Release();
  }
  for (int32_t i = packed_.end_offset[op]; i < packed_.end_offset[op + 1]; ++i) {
    Satisfy<kPriority, kRecord>(packed_.ends[i]);
  }
}

// The slice is resident on `device`, which is not its home.
template <bool kPriority, bool kRecord>
inline void Engine::SatisfyReaders(int32_t slice, int32_t device) {
  for (int32_t i = packed_.slices[slice].reader, end = packed_.slices[slice + 1].reader; i < end;
       ++i) {
    const int32_t reader = packed_.readers[i].op;
    if (run_.ops[reader].device == device) Satisfy<kPriority, kRecord>(reader);
  }
}

// A transfer that has ended keeps its slice at home no longer.
template <bool kPriority, bool kRecord>
inline void Engine::LeaveHome(const Transfer& transfer) {
  run_.memory[transfer.from].now -= run_.holdings[transfer.storage].Release();
  if (transfer.overwriter >= 0) Satisfy<kPriority, kRecord>(transfer.overwriter);
}

template <bool kPriority, bool kRecord>
inline void Engine::CompleteTransfer(int32_t id) {
  const Transfer& transfer = run_.transfers[id];
  LeaveHome<kPriority, kRecord>(transfer);
  if (run_.holdings[packed_.storages + id].left == 1) {
    Satisfy<kPriority, kRecord>(transfer.reader);
  } else {
    SatisfyReaders<kPriority, kRecord>(transfer.slice, transfer.to);
  }
}

inline void Engine::FreeLinks(const PackedRoute& route) {
  for (int32_t i = route.link; i < route.end; ++i) {
    run_.link_busy[p_.route_links[i]] = 0;
    touched_links_.Add(p_.route_links[i]);
  }
}

// Rule 5: starts the transfer that heads the link's queue if it may.
template <bool kRecord, bool kBound>
inline void Engine::TryStartTransfer(int32_t link) {
  if (run_.link_busy[link] || run_.link_queue[link].empty()) return;
  const int32_t id = run_.link_queue[link].front().transfer;
  const Transfer& transfer = run_.transfers[id];
  const PackedRoute& route = packed_.routes[transfer.from * p_.devices + transfer.to];
  for (int32_t i = route.link; i < route.end; ++i) {
    const int32_t other = p_.route_links[i];
    if (run_.link_busy[other] || run_.link_queue[other].front().transfer != id) return;
  }
  for (int32_t i = route.link; i < route.end; ++i) {
    run_.link_queue[p_.route_links[i]].Pop();
    run_.link_busy[p_.route_links[i]] = 1;
  }
  const int32_t first = p_.route_links[route.link];
  run_.events.Push(BeginTransfer<kRecord, kBound>(id, first), EventSlot(first));
}

// `op` runs on its device, which is idle. Returns its end; the caller adds the event.
template <bool kRecord, bool kBound>
inline int64_t Engine::BeginOp(int32_t op, int32_t device) {
  const int64_t end = Later(run_.now, packed_.Time(op, device));
  run_.running_op[device] = op;
  DeviceMemory& memory = run_.memory[device];
  if constexpr (kBound) {
    const int64_t rest = p_.min_path[op] - p_.min_time[op];
    if (Exceeds(std::max(Later(end, rest), Later(run_.now, work_[device] - memory.busy)))) {
      abandoned_ = true;
      return end;
    }
  }
  memory.busy += end - run_.now;
  const PackedOp& row = packed_.ops[op];
  // By the time it ends, what its end needs is near.
  Prefetch(run_.held.data() + row.edge);
  Prefetch(packed_.readers.data() + packed_.slices[row.slice].reader);
  Allocate(device, row.birth >= 0 ? __int128{row.birth_bytes()} : packed_.WideBirth(op));
  if constexpr (kRecord) {
    op_start_[op] = run_.now;
    op_end_[op] = end;
  }
  return end;
}

// Serves the next ready op of an idle device. Returns its end, kNever if there is none.
template <bool kPriority, bool kRecord, bool kBound>
inline int64_t Engine::BeginNext(int32_t device) {
  if constexpr (kPriority) {
    auto& queue = run_.path_queue[device];
    if (queue.empty()) return EventQueue::kNever;
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const int32_t op = queue.back().op;
    queue.pop_back();
    return BeginOp<kRecord, kBound>(op, device);
  } else {
    auto& queue = run_.device_queue[device];
    if (queue.empty()) return EventQueue::kNever;
    return BeginOp<kRecord, kBound>(queue.Pop(), device);
  }
}

template <bool kPriority, bool kRecord, bool kBound>
inline void Engine::StartAll() {
  touched_devices_.Drain([this](int32_t device) {
    if (run_.running_op[device] >= 0 || (kBound && abandoned_)) return;
    const int64_t end = BeginNext<kPriority, kRecord, kBound>(device);
    if (end != EventQueue::kNever) run_.events.Push(end, device);
  });
  touched_links_.Drain([this](int32_t link) {
    if (kBound && abandoned_) return;
    TryStartTransfer<kRecord, kBound>(link);
  });
}

// The op of `device` ends, alone at this instant. Goes on as long as the next event is this
// device's, too; all the while its event stays on top.
template <bool kPriority, bool kRecord, bool kBound>
inline void Engine::RunDevice(int32_t device) {
  handled_ = device;
  for (;;) {
    const int32_t op = run_.running_op[device];
    run_.running_op[device] = -1;
    CompleteOp<kPriority, kRecord, kBound>(op, device, true);
    if (kBound && abandoned_) return;
    const int64_t end = BeginNext<kPriority, kRecord, kBound>(device);
    if (!touched_devices_.empty() || !touched_links_.empty()) {
      StartAll<kPriority, kRecord, kBound>();
    }
    if (kBound && abandoned_) return;
    if (end >= run_.events.second() || run_.ended >= save_at_ || (kRecord && stopped_)) {
      if (end == EventQueue::kNever) {
        run_.events.Pop();
      } else {
        run_.events.Postpone(end);
      }
      break;
    }
    run_.now = end;
  }
  handled_ = -1;
}

// The readers of a transfer's slice on `to`, which is idle if `idle`: the end of the op that begins
// there, kNever if none does.
template <bool kPriority, bool kRecord, bool kBound>
inline int64_t Engine::ServeReaders(const Transfer& transfer, int32_t copy, bool idle) {
  const int32_t to = transfer.to, reader = transfer.reader;
  const bool one_reader = run_.holdings[copy].left == 1;
  if (idle && one_reader && transfer.overwriter < 0) {  // nothing else can be ready there
    if (--run_.ops[reader].need > 0) return EventQueue::kNever;
    if constexpr (kRecord) op_ready_[reader] = run_.now;
    return BeginOp<kRecord, kBound>(reader, to);
  }
  if (one_reader) {
    Satisfy<kPriority, kRecord>(reader);
  } else {
    SatisfyReaders<kPriority, kRecord>(transfer.slice, to);
  }
  return idle ? BeginNext<kPriority, kRecord, kBound>(to) : EventQueue::kNever;
}

// The transfer that began on `link` ends, alone at this instant; its event is still on top.
template <bool kPriority, bool kRecord, bool kBound>
inline void Engine::RunLink(int32_t link) {
  const int32_t id = run_.running_transfer[link];
  const Transfer& transfer = run_.transfers[id];
  const int32_t to = transfer.to;
  const bool idle = run_.running_op[to] < 0;
  if (idle) handled_ = to;
  LeaveHome<kPriority, kRecord>(transfer);
  const int64_t end =
      ServeReaders<kPriority, kRecord, kBound>(transfer, packed_.storages + id, idle);
  handled_ = -1;
  if (kBound && abandoned_) return;
  const PackedRoute& route = packed_.routes[transfer.from * p_.devices + to];
  if (route.private_link >= 0 && !run_.link_queue[link].empty()) {
    const int32_t next = run_.link_queue[link].Pop().transfer;
    run_.events.Postpone(BeginTransfer<kRecord, kBound>(next, link));
    if (end != EventQueue::kNever) run_.events.Push(end, to);
  } else {
    if (end != EventQueue::kNever) {
      run_.events.Replace(end, to);
    } else {
      run_.events.Pop();
    }
    if (route.private_link >= 0) {
      run_.link_busy[link] = 0;
    } else {
      FreeLinks(route);
    }
  }
  if (kBound && abandoned_) return;
  if (!touched_devices_.empty() || !touched_links_.empty()) {
    StartAll<kPriority, kRecord, kBound>();
  }
}

// Rule 6: every completion of this instant.
template <bool kPriority, bool kRecord, bool kBound>
void Engine::CompleteAll(int64_t now) {
  while (run_.events.min() == now) {
    const int32_t slot = run_.events.slot();
    run_.events.Pop();
    if (slot < p_.devices) {
      const int32_t op = run_.running_op[slot];
      run_.running_op[slot] = -1;
      touched_devices_.Add(slot);
      CompleteOp<kPriority, kRecord, kBound>(op, slot, false);
      continue;
    }
    const int32_t id = run_.running_transfer[slot - p_.devices];
    CompleteTransfer<kPriority, kRecord>(id);
    const Transfer& transfer = run_.transfers[id];
    FreeLinks(packed_.routes[transfer.from * p_.devices + transfer.to]);
  }
}

// Rule 6: at one instant every completion, then every start, again and again; what starts with zero
// duration completes in the next turn.
template <bool kPriority, bool kRecord, bool kBound>
EngineOutcome Engine::Loop(const Placement* fresh) {
  if (fresh != nullptr) PublishInitial<kPriority, kRecord, kBound>(*fresh);
  StartAll<kPriority, kRecord, kBound>();
  for (;;) {
    if (kBound && abandoned_) return EngineOutcome::kAbandoned;
    if (kRecord && stopped_) return EngineOutcome::kStopped;
    const int64_t next = run_.events.min();
    if (next == EventQueue::kNever) break;
    if (run_.ended >= save_at_ && next > run_.now) SaveState();
    run_.now = next;
    if (run_.events.second() == next) {
      CompleteAll<kPriority, kRecord, kBound>(next);
      StartAll<kPriority, kRecord, kBound>();
    } else if (run_.events.slot() < p_.devices) {
      RunDevice<kPriority, kRecord, kBound>(run_.events.slot());
    } else {
      RunLink<kPriority, kRecord, kBound>(run_.events.slot() - p_.devices);
    }
  }
  PW_CHECK_EQ(run_.ended, p_.ops);
  return EngineOutcome::kDone;
}

}  // namespace placewright
