// What changes while a simulation runs (internal to the module). Between two instants it is enough
// to continue the run.
#ifndef PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_
#define PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/event_queue.h"
#include "sim/engine/ready_queue.h"

namespace placewright {

struct OpState {
  int32_t need = 0;  // requirements not yet met
  int32_t device = 0;
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
  int32_t slice = 0, storage = 0;
  int32_t reader = 0;  // the first op on `to` that reads it
  int32_t overwriter = -1;
  uint16_t from = 0, to = 0;
};

struct DeviceMemory {
  __int128 now = 0, peak = 0;  // sums of up to 2^60 each may exceed 64 bits
  int64_t peak_time = 0;
  int64_t busy = 0;
};

struct LinkItem {  // rule 5: slice ids are in the order of (producer, storage, offset, length)
  int32_t slice = 0, to = 0, transfer = 0;
  friend bool operator<(const LinkItem& a, const LinkItem& b) {
    return a.slice != b.slice ? a.slice < b.slice : a.to < b.to;
  }
  friend bool operator>(const LinkItem& a, const LinkItem& b) { return b < a; }
};

struct PathItem {  // rule 2, critical-path order
  int64_t path = 0;
  int32_t op = 0;
  friend bool operator>(const PathItem& a, const PathItem& b) {  // served later
    return a.path != b.path ? a.path < b.path : a.op > b.op;
  }
};

// The part that does not grow with the graph, but for what waits.
struct RunCore {
  RunCore() = default;
  RunCore(int32_t devices, int32_t links)
      : memory(devices),
        running_op(devices, -1),
        running_transfer(links, -1),
        link_busy(links, 0),
        device_queue(devices),
        path_queue(devices),
        link_queue(links) {}

  int64_t now = 0;
  int32_t ended = 0;  // ops
  int32_t transfer_count = 0;
  std::vector<DeviceMemory> memory;
  std::vector<int32_t> running_op, running_transfer;  // by device; by first link of the route
  std::vector<int32_t> link_busy;
  std::vector<ReadyQueue<int32_t>> device_queue;
  std::vector<std::vector<PathItem>> path_queue;  // heaps
  std::vector<ReadyQueue<LinkItem>> link_queue;
  EventQueue events;  // slots: devices, then links
};

struct RunState : RunCore {
  using RunCore::RunCore;

  std::vector<OpState> ops;
  // Of every storage, then of the copy that each transfer makes. Meaningful once resident.
  std::vector<Holding> holdings;
  std::vector<int32_t> held;  // by edge: which holding its reader uses; meaningful once resident
  std::vector<Transfer> transfers;  // the first transfer_count

  void MakeRoomForTransfers(int32_t storages, int32_t count) {
    if (static_cast<size_t>(count) <= transfers.size()) return;
    transfers.resize(2 * static_cast<size_t>(count) + 64);
    holdings.resize(storages + transfers.size());
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_
