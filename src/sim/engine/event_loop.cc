// The event loop: rules 1 to 7 and 10 to 12 of docs/simulator.md.
//
// One completion at a time: RunDevice and RunLink end an op or a transfer and start at once what
// that frees. Only instants with several completions are played in the two phases of rule 6
// (CompleteAll, StartAll). An op that waits is a count of unmet needs (OpState::need), a storage or
// copy a count of uses (Holding::left); who fulfils a need or ends a use counts it down, so that
// nothing is ever searched for.
//
// kService: how devices choose. kRecord: times are kept. kBound: there is a limit. Being template
// arguments they cost nothing in the runs of local search, which have only the last. One long file: the
// compiler inlines all of it into the loop.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/prefetch.h"
#include "sim/engine/engine.h"

namespace placewright {

namespace {

int64_t Later(int64_t now, int64_t duration) { return std::min(now + duration, kMaxQuantity); }

}  // namespace

EngineOutcome Engine::ChooseLoop(const Placement* fresh) {
  if (options_.policy == SchedulingPolicy::kProgram) {
    return general_ ? ChooseBound<Service::kProgramTogether>(fresh)
                    : ChooseBound<Service::kProgram>(fresh);
  }
  if (general_ && !HasSequences() && options_.policy == SchedulingPolicy::kFifo) {
    return ChooseBound<Service::kFifoTogether>(fresh);
  }
  if (general_) return ChooseBound<Service::kGeneral>(fresh);
  if (options_.policy == SchedulingPolicy::kCriticalPath) return ChooseBound<Service::kPath>(fresh);
  return ChooseBound<Service::kFifo>(fresh);
}

template <Service kService>
EngineOutcome Engine::ChooseBound(const Placement* fresh) {
  const bool bound = options_.abandon_above < kMaxQuantity;
  if (options_.record)
    return bound ? Loop<kService, true, true>(fresh) : Loop<kService, true, false>(fresh);
  return bound ? Loop<kService, false, true>(fresh) : Loop<kService, false, false>(fresh);
}

// Given sequences come before the policy.
inline PathItem Engine::KeyOf(ExecOpId op, DeviceId device) const {
  if (has_sequence_[device]) return {-int64_t{turn_[op]}, op};
  if (options_.policy == SchedulingPolicy::kFifo) return {-run_.now, op};
  return {path_[op], op};
}

template <Service kService, bool kRecord>
inline void Engine::MakeReady(ExecOpId op) {
  const DeviceId device = run_.ops[op].device;
  if constexpr (kRecord) op_ready_[op] = run_.now;
  if constexpr (HasCollectives(kService)) {
    const CollectiveId collective = p_.CollectiveOf(op);
    if (collective.valid()) return MakeMemberReady<kService, kRecord>(collective);
  }
  if constexpr (IsProgram(kService)) {  // what is not next is looked at when its turn comes
    if (following_[run_.last_op[device]] != op) return;
  } else if constexpr (!IsFifo(kService)) {
    const bool by_path = kService == Service::kPath;
    run_.path_queue[device].push_back(by_path ? PathItem{path_[op], op} : KeyOf(op, device));
    std::push_heap(run_.path_queue[device].begin(), run_.path_queue[device].end(),
                   std::greater<>());
  } else {
    run_.device_queue[device].Push(run_.now, op);
  }
  // A busy device looks at its queue when its op ends; the one that is being handled does next.
  if (device != handled_ && !run_.running_op[device].valid()) touched_devices_.Add(device);
}

template <Service kService, bool kRecord>
inline void Engine::Satisfy(ExecOpId op) {
  if (--run_.ops[op].need == 0) MakeReady<kService, kRecord>(op);
}

// Rule 4, exactly. Nearly every product fits in 64 bits, where division is several times faster.
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

inline void Engine::Allocate(DeviceId device, __int128 bytes) {
  DeviceOccupancy& memory = run_.memory[device];
  memory.now += bytes;
  if (memory.now <= memory.peak) return;
  // Within one phase of starts occupancy only grows, so its last maximum is the one of rule 12.
  memory.peak = memory.now;
  memory.peak_time = run_.now;
  if (device == options_.stop_device && memory.peak == options_.stop_bytes) stopped_ = true;
}

// `bound` bounds the step time from below. Above the limit it becomes the result of the run.
bool Engine::Exceeds(int64_t bound) {
  if (bound <= options_.abandon_above) return false;
  run_.now = bound;
  return true;
}

// The transfer holds its links from now on. Returns its end; the caller adds the event.
template <bool kRecord, bool kBound>
inline int64_t Engine::BeginTransfer(TransferId id, LinkId link) {
  const Transfer& transfer = run_.transfers[id];
  const int64_t done = Later(run_.now, transfer.duration);
  Prefetch(packed_.ops.data() + transfer.reader.value());  // it may begin when this ends
  Prefetch(packed_.times.data() + packed_.time_row[transfer.to()] + transfer.reader.value());
  Allocate(transfer.to(), run_.holdings[CopyBy(id)].bytes);
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
HoldingId Engine::AddTransfer(SliceId slice, ExecOpId reader, DeviceId from, DeviceId to,
                              bool at_once) {
  const TransferId id(run_.transfer_count++);
  if (id.index() == run_.transfers.size()) {
    run_.MakeRoomForTransfers(packed_.storages, run_.transfer_count);
  }
  const PackedSlice& row = packed_.slices[slice.index()];
  const PackedRoute& route = packed_.routes[p_.RouteBetween(from, to)];
  const ExecOpId overwriter = row.overwritten() ? packed_.overwriter[slice] : ExecOpId();
  // Member by member: an aggregate of ids would be put together on the stack first.
  const int64_t duration = TransferDuration(route, row.length);
  Transfer& transfer = run_.transfers[id];
  transfer.duration = duration;
  transfer.slice = slice;
  transfer.storage = row.storage();
  transfer.reader = reader;
  transfer.overwriter = overwriter;
  transfer.packed_from = static_cast<uint16_t>(from.value());
  transfer.packed_to = static_cast<uint16_t>(to.value());
  const HoldingId copy = CopyBy(id);
  run_.holdings[copy] = {RoundUpToGranule(Bytes(row.length)).count, 1};
  if constexpr (kRecord) times_.push_back({run_.now, -1, -1});
  // A link of its own that is free has no queue: what waited would have started. And the slices
  // of one op come in the order of rule 5, so that the first to ask is the first to go.
  if (at_once && route.private_link.valid() && !run_.link_busy[route.private_link]) {
    run_.link_busy[route.private_link] = 1;
    const int64_t done = BeginTransfer<kRecord, kBound>(id, route.private_link);
    run_.events.Push(done, SlotOf(route.private_link));
    return copy;
  }
  PW_CHECK(route.link < route.end);
  for (int32_t i = route.link; i < route.end; ++i) {
    run_.link_queue[p_.route_links.items[i]].Push(run_.now, {slice, to, id});
  }
  // A busy link of its own serves its queue when its transfer ends; any other is looked at in the
  // starts of this instant. The first link of a route stands for all, since the transfer can start
  // only if it heads the queues of all.
  if (!at_once || !route.private_link.valid()) touched_links_.Add(p_.route_links.items[route.link]);
  return copy;
}

// The slice has become resident at its home: its writer has ended. Here the placement is found out:
// a reader beside it has one need less, the first reader on another device makes the transfer there
// and the next ones share it (copies_, by device, is valid while its `slice` is this one). Every
// reader's edge notes the holding that it will give back.
template <Service kService, bool kRecord, bool kBound>
inline void Engine::Publish(SliceId slice, DeviceId device, bool at_once) {
  const PackedSlice& row = packed_.slices[slice.index()];
  const PackedReader* reader = packed_.readers.data() + row.reader;
  const PackedReader* const end = packed_.readers.data() + packed_.slices[slice.index() + 1].reader;
  const HoldingId at_home = AtHome(row.storage());
  OpState* const ops = run_.ops.raw().data();
  HoldingId* const held = run_.held.data();
  ReadyQueue<ExecOpId>& queue = run_.device_queue[device];
  // Readers beside it are ready or not like a tossed coin: PushIf writes each and counts those that
  // are, without a branch.
  if constexpr (kService == Service::kFifo) queue.Open(run_.now, end - reader);
  int32_t uses = 0;
  for (; reader != end; ++reader) {
    OpState& op = ops[reader->op.index()];
    if (op.device == device) {
      ++uses;
      held[reader->edge] = at_home;
      --op.need;
      if constexpr ((kService != Service::kFifo && kService != Service::kProgram) || kRecord) {
        if (op.need == 0) MakeReady<kService, kRecord>(reader->op);
      } else if constexpr (kService == Service::kFifo) {
        queue.PushIf(op.need == 0, reader->op);
      }
      continue;
    }
    CopyOf& copy = copies_[op.device];
    if (copy.slice != slice) {
      ++uses;
      copy.slice = slice;
      copy.holding = AddTransfer<kRecord, kBound>(slice, reader->op, device, op.device, at_once);
    } else {
      ++run_.holdings[copy.holding].left;
    }
    held[reader->edge] = copy.holding;
  }
  // Of a storage with one slice the count begins here, of others with the versions to come.
  Holding& home = run_.holdings[at_home];
  home.left = (row.alone() ? 0 : home.left) + uses;
  // The next writer in place waits for every use at home but its own reading.
  if (row.overwritten()) {
    run_.ops[packed_.overwriter[slice]].need += uses - packed_.overwriter_reads[slice];
  }
}

// Rule 3. Initial content is not waited for at home, but its readers elsewhere do wait.
template <Service kService, bool kRecord, bool kBound>
void Engine::PublishInitial(const Placement& placement) {
  for (SliceId slice : packed_.initial_slices) {
    const StorageId storage = packed_.slices[slice.index()].storage();
    const DeviceId home = HomeOf(storage, placement);
    int32_t uses = 0;
    for (int32_t i = packed_.slices[slice.index()].reader;
         i < packed_.slices[slice.index() + 1].reader; ++i) {
      const PackedReader reader = packed_.readers[i];
      OpState& op = run_.ops[reader.op];
      if (op.device == home) {
        ++uses;
        run_.held[reader.edge] = AtHome(storage);
        continue;
      }
      ++op.need;  // counted only where it has to cross: at home the content is there from 0
      CopyOf& copy = copies_[op.device];
      if (copy.slice != slice) {
        ++uses;
        copy.slice = slice;
        copy.holding = AddTransfer<kRecord, kBound>(slice, reader.op, home, op.device, false);
      } else {
        ++run_.holdings[copy.holding].left;
      }
      run_.held[reader.edge] = copy.holding;
    }
    const ExecOpId overwriter = packed_.overwriter[slice];
    if (overwriter.valid()) run_.ops[overwriter].need += uses - packed_.overwriter_reads[slice];
  }
  for (ExecOpId op : packed_.first_ready) {
    if (run_.ops[op].need == 0) MakeReady<kService, kRecord>(op);
  }
}

template <Service kService, bool kRecord, bool kBound>
inline void Engine::CompleteOp(ExecOpId op, DeviceId device, bool at_once) {
  const PackedOp& row = packed_.ops[op.index()];
  const PackedOp& next = packed_.ops[op.index() + 1];
  ++run_.ended;
  if (row.special()) return CompleteSpecialOp<kService, kRecord, kBound>(op, device);
  __int128 freed = 0;
  for (int32_t edge = row.edge; edge < next.edge; ++edge) {  // rule 11
    freed += run_.holdings[run_.held[edge]].Release();
  }
  // Frees before any start, since a transfer that begins at once allocates (rule 12).
  run_.memory[device].now -= freed;
  for (int32_t slice = row.slice; slice < next.slice; ++slice) {
    Publish<kService, kRecord, kBound>(SliceId(slice), device, at_once);
  }
}

// With in-place writers that wait for it, several versions, or explicit order.
template <Service kService, bool kRecord, bool kBound>
void Engine::CompleteSpecialOp(ExecOpId op, DeviceId device) {
  __int128& memory = run_.memory[device].now;
  const PackedOp& row = packed_.ops[op.index()];
  const PackedOp& next = packed_.ops[op.index() + 1];
  for (int32_t edge = row.edge; edge < next.edge; ++edge) {
    const HoldingId held = run_.held[edge];
    memory -= run_.holdings[held].Release();
    const ExecOpId overwriter = packed_.overwriter[packed_.edge_slice[edge]];
    // Who reads a copy keeps no writer at home waiting.
    const bool beside_home = held.value() < packed_.storages;
    if (beside_home && overwriter.valid() && overwriter != op) {
      Satisfy<kService, kRecord>(overwriter);
    }
  }
  // Not at once: what the tokens free comes before what transfers allocate (rule 12), but after the
  // uses that publishing adds.
  for (int32_t slice = row.slice; slice < next.slice; ++slice) {
    Publish<kService, kRecord, kBound>(SliceId(slice), device, false);
  }
  // A storage of several versions lives until the last of them is made: each maker holds a use.
  for (StorageId storage : packed_.tokens[op]) {
    memory -= run_.holdings[AtHome(storage)].Release();
  }
  for (ExecOpId waits : packed_.ends[op]) Satisfy<kService, kRecord>(waits);
}

// The slice is resident on `device`, which is not its home.
template <Service kService, bool kRecord>
inline void Engine::SatisfyReaders(SliceId slice, DeviceId device) {
  for (int32_t i = packed_.slices[slice.index()].reader,
               end = packed_.slices[slice.index() + 1].reader;
       i < end; ++i) {
    const ExecOpId reader = packed_.readers[i].op;
    if (run_.ops[reader].device == device) Satisfy<kService, kRecord>(reader);
  }
}

// A transfer that has ended keeps its slice at home no longer.
template <Service kService, bool kRecord>
inline void Engine::LeaveHome(const Transfer& transfer) {
  run_.memory[transfer.from()].now -= run_.holdings[AtHome(transfer.storage)].Release();
  if (transfer.overwriter.valid()) Satisfy<kService, kRecord>(transfer.overwriter);
}

template <Service kService, bool kRecord>
inline void Engine::CompleteTransfer(TransferId id) {
  const Transfer& transfer = run_.transfers[id];
  LeaveHome<kService, kRecord>(transfer);
  // Most copies have one reader, which the transfer knows; others are looked for.
  if (run_.holdings[CopyBy(id)].left == 1) {
    Satisfy<kService, kRecord>(transfer.reader);
  } else {
    SatisfyReaders<kService, kRecord>(transfer.slice, transfer.to());
  }
}

inline void Engine::FreeLinks(const PackedRoute& route) {
  for (int32_t i = route.link; i < route.end; ++i) {
    run_.link_busy[p_.route_links.items[i]] = 0;
    touched_links_.Add(p_.route_links.items[i]);
  }
}

// Rule 15: one more member is ready. With the last of them the collective is, but for its turn.
template <Service kService, bool kRecord>
void Engine::MakeMemberReady(CollectiveId id) {
  if (--run_.missing[id] > 0) return;
  if constexpr (IsProgram(kService)) {
    if (!HasTurn(id)) return;
  }
  MakeCollectiveReady<kRecord>(id);
}

// Rule 17: all before it on its communicator are over.
inline bool Engine::HasTurn(CollectiveId id) const {
  const size_t communicator = static_cast<size_t>(program_.CommunicatorOf(id));
  const size_t over = static_cast<size_t>(collectives_over_[communicator]);
  return program_.communicators()[communicator][over] == id;
}

// One is over. The next one may have been waiting for nothing else.
template <bool kRecord>
void Engine::PassTurnOn(CollectiveId id) {
  const size_t communicator = static_cast<size_t>(program_.CommunicatorOf(id));
  const std::vector<CollectiveId>& all = program_.communicators()[communicator];
  const size_t over = static_cast<size_t>(++collectives_over_[communicator]);
  if (over < all.size() && run_.missing[all[over]] == 0) MakeCollectiveReady<kRecord>(all[over]);
}

// It waits where transfers do; its key is that of a transfer of its first member before all of them.
template <bool kRecord>
void Engine::MakeCollectiveReady(CollectiveId id) {
  if constexpr (kRecord) collective_times_[id].ready = run_.now;
  const std::span<const LinkId> links = p_.collective_links[id];
  const std::span<const ExecOpId> members = p_.collective_members[id];
  const ExecOpId first = *std::min_element(members.begin(), members.end());
  if (p_.collectives_share) {
    const Waiting waiting{run_.now, first, id};
    waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), waiting), waiting);
    waiting_changed_ = true;
    return;
  }
  if (links.empty()) return free_collectives_.push_back(id);
  const LinkItem item = {SliceId(packed_.ops[first.index()].slice),
                         DeviceId(first.value() - p_.ops), WaitingAs(id)};
  for (LinkId link : links) run_.link_queue[link].Push(run_.now, item);
  touched_links_.Add(links.front());
}

template <bool kRecord, bool kBound>
void Engine::TryStartCollective(CollectiveId id) {
  const std::span<const LinkId> links = p_.collective_links[id];
  for (LinkId link : links) {
    if (run_.link_busy[link] || run_.link_queue[link].front().transfer != WaitingAs(id)) return;
  }
  for (LinkId link : links) {
    run_.link_queue[link].Pop();
    run_.link_busy[link] = 1;
  }
  BeginCollective<kRecord, kBound>(id);
}

template <bool kRecord, bool kBound>
void Engine::BeginCollective(CollectiveId id) {
  const int64_t end = Later(run_.now, p_.collective_time[id]);
  run_.missing[id] = RunCore::kRuns;
  if constexpr (kRecord) {
    collective_times_[id].start = run_.now;
    collective_times_[id].end = end;
  }
  for (ExecOpId op : p_.collective_members[id]) {
    const PackedOp& row = packed_.ops[op.index()];
    Allocate(run_.ops[op].device,
             row.birth >= 0 ? __int128{row.birth_bytes()} : packed_.WideBirth(op));
    if constexpr (kRecord) {
      op_start_[op] = run_.now;
      op_end_[op] = end;
    }
    if constexpr (kBound) {
      abandoned_ = abandoned_ || Exceeds(Later(end, p_.min_path[op] - p_.collective_time[id]));
    }
  }
  if (p_.collectives_share) return JoinLinks(id);
  run_.events.Push(end, SlotOf(id));
}

// Rule 18: those whose communicator does nothing, in the order of their keys.
template <bool kRecord, bool kBound>
void Engine::StartWaiting() {
  if (!waiting_changed_) return;
  waiting_changed_ = false;
  size_t left = 0;
  for (const Waiting& waiting : waiting_) {
    char& busy = communicator_busy_[static_cast<size_t>(communicator_of_[waiting.id])];
    if (busy) {
      waiting_[left++] = waiting;
      continue;
    }
    busy = 1;
    BeginCollective<kRecord, kBound>(waiting.id);
  }
  waiting_.resize(left);
}

void Engine::JoinLinks(CollectiveId id) {
  shares_[id] = {__int128{p_.collective_time[id]} * kShareUnits, run_.now, -1, 0};
  sharing_.push_back(id);
  for (const LinkId link : p_.collective_links[id]) ++sharing_on_[link];
  if (!IsCopy(p_, packed_, id)) {
    for (const ExecOpId op : p_.collective_members[id]) ++beside_[run_.ops[op].device];
  }
  for (const CollectiveId other : sharing_) Reckon(other);
}

void Engine::LeaveLinks(CollectiveId id) {
  std::erase(sharing_, id);
  for (const LinkId link : p_.collective_links[id]) --sharing_on_[link];
  if (!IsCopy(p_, packed_, id)) {
    for (const ExecOpId op : p_.collective_members[id]) --beside_[run_.ops[op].device];
  }
  communicator_busy_[static_cast<size_t>(communicator_of_[id])] = 0;
  waiting_changed_ = true;
  for (const CollectiveId other : sharing_) Reckon(other);
}

// Rule 18: from now on it has a k-th, k being how many there are on its fullest link. An event that it has had for
// another end is stale.
void Engine::Reckon(CollectiveId id) {
  int32_t among = 1;
  for (const LinkId link : p_.collective_links[id]) among = std::max(among, sharing_on_[link]);
  Share& share = shares_[id];
  if (share.among == among) return;
  if (share.among > 0) {
    const __int128 done = __int128{run_.now - share.since} * (kShareUnits / share.among);
    share.left = std::max<__int128>(0, share.left - done);
  }
  const __int128 speed = kShareUnits / among;
  const __int128 needs = (share.left + speed - 1) / speed;
  share.since = run_.now;
  share.among = among;
  share.end = Later(run_.now, static_cast<int64_t>(std::min<__int128>(needs, kMaxQuantity)));
  run_.events.Push(share.end, SlotOf(id));
}

void Engine::DropStale() {
  while (run_.events.min() != EventQueue::kNever && IsCollective(run_.events.slot()) &&
         IsStale(CollectiveAt(run_.events.slot()), run_.events.min())) {
    run_.events.Pop();
  }
}

template <Service kService, bool kRecord, bool kBound>
void Engine::CompleteCollective(CollectiveId id) {
  run_.missing[id] = RunCore::kOver;
  if constexpr (IsProgram(kService)) PassTurnOn<kRecord>(id);
  if (p_.collectives_share) {
    LeaveLinks(id);
    if constexpr (kRecord) {
      collective_times_[id].end = run_.now;
      for (const ExecOpId op : p_.collective_members[id]) op_end_[op] = run_.now;
    }
  } else {
    for (LinkId link : p_.collective_links[id]) {
      run_.link_busy[link] = 0;
      touched_links_.Add(link);
    }
  }
  for (ExecOpId op : p_.collective_members[id]) {
    CompleteOp<kService, kRecord, kBound>(op, run_.ops[op].device, false);
  }
}

// Rule 5: starts what heads the link's queue if it may.
template <Service kService, bool kRecord, bool kBound>
inline void Engine::TryStartNext(LinkId link) {
  if (run_.link_busy[link] || run_.link_queue[link].empty()) return;
  const TransferId id = run_.link_queue[link].front().transfer;
  if constexpr (HasCollectives(kService)) {
    if (!id.valid()) return TryStartCollective<kRecord, kBound>(CollectiveOf(id));
  }
  TryStartTransfer<kRecord, kBound>(id);
}

template <bool kRecord, bool kBound>
inline void Engine::TryStartTransfer(TransferId id) {
  const Transfer& transfer = run_.transfers[id];
  const PackedRoute& route = packed_.routes[p_.RouteBetween(transfer.from(), transfer.to())];
  // What keeps it waiting is a busy link, or a transfer before it that will keep one busy; its end
  // touches the link again.
  for (int32_t i = route.link; i < route.end; ++i) {
    const LinkId other = p_.route_links.items[i];
    if (run_.link_busy[other] || run_.link_queue[other].front().transfer != id) return;
  }
  for (int32_t i = route.link; i < route.end; ++i) {
    run_.link_queue[p_.route_links.items[i]].Pop();
    run_.link_busy[p_.route_links.items[i]] = 1;
  }
  const LinkId first = p_.route_links.items[route.link];
  run_.events.Push(BeginTransfer<kRecord, kBound>(id, first), SlotOf(first));
}

// `op` runs on its device, which is idle. Returns its end; the caller adds the event.
template <Service kService, bool kRecord, bool kBound>
inline int64_t Engine::BeginOp(ExecOpId op, DeviceId device) {
  int64_t duration = packed_.Time(op, device);
  if constexpr (HasCollectives(kService)) {
    if (p_.collectives_share && beside_[device] > 0) {
      duration = p_.BesideCollective(duration, device);
    }
  }
  const int64_t end = Later(run_.now, duration);
  run_.running_op[device] = op;
  DeviceOccupancy& memory = run_.memory[device];
  // After this op comes at first the shortest way to the end of the step; and this device has all
  // its work before it that has not begun.
  if constexpr (kBound) {
    const int64_t rest = p_.min_path[op] - p_.min_time[op];
    if (Exceeds(std::max(Later(end, rest), Later(run_.now, work_[device] - memory.busy)))) {
      abandoned_ = true;
      return end;
    }
  }
  memory.busy += end - run_.now;
  const PackedOp& row = packed_.ops[op.index()];
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
template <Service kService, bool kRecord, bool kBound>
inline int64_t Engine::BeginNext(DeviceId device) {
  if constexpr (IsProgram(kService)) {
    const ExecOpId next = following_[run_.last_op[device]];
    if (!next.valid() || run_.ops[next].need > 0) return EventQueue::kNever;
    run_.last_op[device] = next;
    return BeginOp<kService, kRecord, kBound>(next, device);
  } else if constexpr (!IsFifo(kService)) {
    auto& queue = run_.path_queue[device];
    if (queue.empty()) return EventQueue::kNever;
    if constexpr (kService == Service::kGeneral) {  // rule 16: not before its turn
      if (has_sequence_[device]) {
        if (turn_[queue.front().op] != run_.next_turn[device]) return EventQueue::kNever;
        ++run_.next_turn[device];
      }
    }
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const ExecOpId op = queue.back().op;
    queue.pop_back();
    return BeginOp<kService, kRecord, kBound>(op, device);
  } else {
    auto& queue = run_.device_queue[device];
    if (queue.empty()) return EventQueue::kNever;
    return BeginOp<kService, kRecord, kBound>(queue.Pop(), device);
  }
}

template <Service kService, bool kRecord, bool kBound>
inline void Engine::StartAll() {
  // In any order: a start readies nothing in its own phase (rule 6), and two transfers that may
  // both start share no link, of which only one can be the first.
  touched_devices_.Drain([this](DeviceId device) {
    if (run_.running_op[device].valid() || (kBound && abandoned_)) return;
    const int64_t end = BeginNext<kService, kRecord, kBound>(device);
    if (end != EventQueue::kNever) run_.events.Push(end, SlotOf(device));
  });
  touched_links_.Drain([this](LinkId link) {
    if (kBound && abandoned_) return;
    TryStartNext<kService, kRecord, kBound>(link);
  });
  if constexpr (HasCollectives(kService)) {
    StartWaiting<kRecord, kBound>();
    for (CollectiveId id : free_collectives_) BeginCollective<kRecord, kBound>(id);
    free_collectives_.clear();
  }
}

// The op of `device` ends, alone at this instant. Goes on as long as the next event is this
// device's, too; all the while its event stays on top.
template <Service kService, bool kRecord, bool kBound>
inline void Engine::RunDevice(DeviceId device) {
  handled_ = device;
  for (;;) {
    const ExecOpId op = run_.running_op[device];
    run_.running_op[device] = ExecOpId();
    CompleteOp<kService, kRecord, kBound>(op, device, true);
    if (kBound && abandoned_) return;
    const int64_t end = BeginNext<kService, kRecord, kBound>(device);
    if (MayStartSomething<kService>()) StartAll<kService, kRecord, kBound>();
    if (kBound && abandoned_) return;
    // Strictly first among all events? Then its end is handled here, too. At a tie it goes back to
    // the queue, and the instant is played in phases; states are saved in Loop alone.
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
  handled_ = DeviceId();
}

// The readers of a transfer's slice on `to`, which is idle if `idle`: the end of the op that begins
// there, kNever if none does.
template <Service kService, bool kRecord, bool kBound>
inline int64_t Engine::ServeReaders(const Transfer& transfer, HoldingId copy, bool idle) {
  const DeviceId to = transfer.to();
  const ExecOpId reader = transfer.reader;
  const bool one_reader = run_.holdings[copy].left == 1;
  // Nothing else can be ready there; in the general case, and in the program's order, it may still not be the
  // reader's turn, and a member of a collective takes no turn at all.
  if (!HasCollectives(kService) && !IsProgram(kService) && idle && one_reader &&
      !transfer.overwriter.valid()) {
    if (--run_.ops[reader].need > 0) return EventQueue::kNever;
    if constexpr (kRecord) op_ready_[reader] = run_.now;
    return BeginOp<kService, kRecord, kBound>(reader, to);
  }
  if (one_reader) {
    Satisfy<kService, kRecord>(reader);
  } else {
    SatisfyReaders<kService, kRecord>(transfer.slice, to);
  }
  return idle ? BeginNext<kService, kRecord, kBound>(to) : EventQueue::kNever;
}

// The transfer that began on `link` ends, alone at this instant; its event is still on top.
template <Service kService, bool kRecord, bool kBound>
[[gnu::always_inline]] inline void Engine::RunLink(LinkId link) {
  const TransferId id = run_.running_transfer[link];
  const Transfer& transfer = run_.transfers[id];
  const DeviceId to = transfer.to();
  const bool idle = !run_.running_op[to].valid();
  // The destination gets its next op here, without being touched.
  if (idle) handled_ = to;
  LeaveHome<kService, kRecord>(transfer);
  const int64_t end = ServeReaders<kService, kRecord, kBound>(transfer, CopyBy(id), idle);
  handled_ = DeviceId();
  if (kBound && abandoned_) return;
  const PackedRoute& route = packed_.routes[p_.RouteBetween(transfer.from(), to)];
  // The next transfer of a link of its own follows at once, under the event on top; else the
  // destination's op, if one began, takes that event over.
  if (route.private_link.valid() && !run_.link_queue[link].empty()) {
    const TransferId next = run_.link_queue[link].Pop().transfer;
    run_.events.Postpone(BeginTransfer<kRecord, kBound>(next, link));
    if (end != EventQueue::kNever) run_.events.Push(end, SlotOf(to));
  } else {
    if (end != EventQueue::kNever) {
      run_.events.Replace(end, SlotOf(to));
    } else {
      run_.events.Pop();
    }
    if (route.private_link.valid()) {
      run_.link_busy[link] = 0;
    } else {
      FreeLinks(route);
    }
  }
  if (kBound && abandoned_) return;
  if (MayStartSomething<kService>()) StartAll<kService, kRecord, kBound>();
}

// Rule 6: every completion of this instant.
template <Service kService, bool kRecord, bool kBound>
void Engine::CompleteAll(int64_t now) {
  while (run_.events.min() == now) {
    const EventSlot slot = run_.events.slot();
    run_.events.Pop();
    if (IsDevice(slot)) {
      const DeviceId device = DeviceAt(slot);
      const ExecOpId op = run_.running_op[device];
      run_.running_op[device] = ExecOpId();
      touched_devices_.Add(device);
      CompleteOp<kService, kRecord, kBound>(op, device, false);
      continue;
    }
    if constexpr (HasCollectives(kService)) {
      if (IsCollective(slot)) {
        const CollectiveId id = CollectiveAt(slot);
        if (!IsStale(id, now)) CompleteCollective<kService, kRecord, kBound>(id);
        continue;
      }
    }
    const TransferId id = run_.running_transfer[LinkAt(slot)];
    CompleteTransfer<kService, kRecord>(id);
    const Transfer& transfer = run_.transfers[id];
    FreeLinks(packed_.routes[p_.RouteBetween(transfer.from(), transfer.to())]);
  }
}

// Rule 6: at one instant every completion, then every start, again and again; what starts with zero
// duration completes in the next turn.
template <Service kService, bool kRecord, bool kBound>
EngineOutcome Engine::Loop(const Placement* fresh) {
  if (fresh != nullptr) PublishInitial<kService, kRecord, kBound>(*fresh);
  StartAll<kService, kRecord, kBound>();
  for (;;) {
    if (kBound && abandoned_) return EngineOutcome::kAbandoned;
    if (kRecord && stopped_) return EngineOutcome::kStopped;
    if constexpr (HasCollectives(kService)) DropStale();
    const int64_t next = run_.events.min();
    if (next == EventQueue::kNever) break;
    // Between two instants only: a state in the middle of one would have starts outstanding.
    if (run_.ended >= save_at_ && next > run_.now) SaveState();
    run_.now = next;
    const bool collective = HasCollectives(kService) && IsCollective(run_.events.slot());
    if (run_.events.second() == next || collective) {
      CompleteAll<kService, kRecord, kBound>(next);
      StartAll<kService, kRecord, kBound>();
    } else if (IsDevice(run_.events.slot())) {
      RunDevice<kService, kRecord, kBound>(DeviceAt(run_.events.slot()));
    } else {
      RunLink<kService, kRecord, kBound>(LinkAt(run_.events.slot()));
    }
  }
  // A SimGraph has no cycle, so that no op waits for ever but for its turn; in the program's order without
  // sequences none does (program_order.h), if the file has an order (FirstOutOfProgram).
  constexpr bool kHasTurns = kService == Service::kGeneral || IsProgram(kService);
  if (kHasTurns && HasSequences() && run_.ended < p_.ops) return EngineOutcome::kStuck;
  PW_CHECK_EQ(run_.ended, p_.ops);
  return EngineOutcome::kDone;
}

}  // namespace placewright
