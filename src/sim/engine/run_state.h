// What changes while a simulation runs (internal to the module). Between two instants it is enough
// to continue the run.
#ifndef PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_
#define PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/cluster.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/ready_queue.h"
#include "sim/engine/sim_ids.h"

namespace placewright {

using TransferId = Id<struct TransferTag>;  // in the order in which they are added
using HoldingId = Id<struct HoldingTag>;    // storages first, then the copies of transfers

struct OpState {
  int32_t need = 0;  // requirements not yet met
  DeviceId device;
};

// Memory that lies on a device until it has no more uses. Of a storage at home: the readers beside
// it and the transfers of the slices resident so far, and the versions to come. Of a copy: readers.
struct Holding {
  int64_t bytes = 0;  // that its end frees; 0 for what stays for the whole step
  uint32_t left = 0;

  // One use less; what that frees, without a branch: which use is the last is as good as random.
  int64_t Release() {
    left -= 1;
    return bytes & -static_cast<int64_t>(left == 0);
  }
};

struct Transfer {
  int64_t duration = 0;
  SliceId slice;
  StorageId storage;
  ExecOpId reader;  // the first op on `to` that reads it
  ExecOpId overwriter;
  uint16_t packed_from = 0, packed_to = 0;

  DeviceId from() const { return DeviceId(int32_t{packed_from}); }
  DeviceId to() const { return DeviceId(int32_t{packed_to}); }
};
static_assert(kMaxDevices <= 1 << 16);

struct DeviceOccupancy {
  __int128 now = 0, peak = 0;  // sums of up to 2^60 each may exceed 64 bits
  int64_t peak_time = 0;
  int64_t busy = 0;
};

struct LinkItem {  // rule 5: slice ids are in the order of (producer, storage, offset, length)
  SliceId slice;
  DeviceId to;
  TransferId transfer;
  friend bool operator<(const LinkItem& a, const LinkItem& b) {
    return a.slice != b.slice ? a.slice < b.slice : a.to < b.to;
  }
  friend bool operator>(const LinkItem& a, const LinkItem& b) { return b < a; }
};

struct PathItem {  // rule 2, critical-path order
  int64_t path = 0;
  ExecOpId op;
  friend bool operator>(const PathItem& a, const PathItem& b) {  // served later
    return a.path != b.path ? a.path < b.path : a.op > b.op;
  }
};

// The part that does not grow with the graph, but for what waits.
struct RunCore {
  RunCore() = default;
  RunCore(int32_t devices, int32_t links, int32_t collectives)
      : memory(devices),
        running_op(devices),
        running_transfer(links),
        link_busy(links, 0),
        device_queue(devices),
        path_queue(devices),
        link_queue(links),
        missing(collectives, 0),
        next_turn(devices, 0),
        last_op(devices) {}

  int64_t now = 0;
  int32_t ended = 0;  // ops
  int32_t transfer_count = 0;
  IdVector<DeviceId, DeviceOccupancy> memory;
  IdVector<DeviceId, ExecOpId> running_op;
  IdVector<LinkId, TransferId> running_transfer;  // by first link of the route
  IdVector<LinkId, int32_t> link_busy;
  IdVector<DeviceId, ReadyQueue<ExecOpId>> device_queue;
  IdVector<DeviceId, std::vector<PathItem>> path_queue;  // heaps
  IdVector<LinkId, ReadyQueue<LinkItem>> link_queue;
  EventQueue events;  // slots: devices, then links, then collectives

  // Of each collective the members that are not yet ready, or one of these.
  static constexpr int32_t kRuns = -1, kOver = -2;
  IdVector<CollectiveId, int32_t> missing;
  IdVector<DeviceId, int32_t> next_turn;  // in the device's sequence
  // Rule 17: the op that has begun last on each device; before any the number of ops + that of the device.
  IdVector<DeviceId, ExecOpId> last_op;
};

struct RunState : RunCore {
  using RunCore::RunCore;

  IdVector<ExecOpId, OpState> ops;
  // Of every storage, then of the copy that each transfer makes. Meaningful once resident.
  IdVector<HoldingId, Holding> holdings;
  std::vector<HoldingId> held;  // by edge: what its reader uses; meaningful once resident
  IdVector<TransferId, Transfer> transfers;  // the first transfer_count

  void MakeRoomForTransfers(int32_t storages, int32_t count) {
    if (static_cast<size_t>(count) <= transfers.size()) return;
    transfers.resize(2 * static_cast<size_t>(count) + 64);
    holdings.resize(storages + transfers.size());
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_
