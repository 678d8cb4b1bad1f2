// What changes while a simulation runs (internal to the module). Between two instants it is enough
// to continue the run.
#ifndef PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_
#define PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/event_tree.h"
#include "sim/engine/ready_queue.h"

namespace placewright {

struct OpState {
  int32_t need = 0;  // requirements not yet met
  uint16_t device = 0;
};

struct UnitState {             // meaningful once the unit is resident at its home
  int32_t first_transfer = 0;  // its transfers follow each other; meaningful if there are any
  uint16_t home = 0;
};

struct Transfer {
  int32_t unit = 0;
  int32_t readers = 0;  // on `to`, not yet ended
  uint16_t from = 0, to = 0;
  bool started = false;
};

struct DeviceMemory {
  __int128 now = 0, peak = 0;  // sums of up to 2^60 each may exceed 64 bits
  int64_t peak_time = 0;
  int64_t busy = 0;
};

struct LinkItem {  // rule 5: unit ids are in the order of (producer, storage, offset, length)
  int32_t unit = 0, to = 0, transfer = 0;
  friend bool operator<(const LinkItem& a, const LinkItem& b) {
    return a.unit != b.unit ? a.unit < b.unit : a.to < b.to;
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

// Copying leaves out what has left the queues.
struct RunState {
  RunState(int32_t devices, int32_t links)
      : memory(devices),
        running_op(devices, -1),
        running_transfer(links, -1),
        link_busy(links, 0),
        device_queue(devices),
        path_queue(devices),
        link_queue(links),
        op_ends(devices),
        transfer_ends(links) {}

  int64_t now = 0;
  int32_t ended = 0;  // ops
  std::vector<OpState> ops;
  std::vector<int32_t> left;  // by storage: what still keeps it at home
  std::vector<UnitState> units;
  std::vector<Transfer> transfers;
  std::vector<DeviceMemory> memory;
  std::vector<int32_t> running_op, running_transfer;  // by device; by first link of the route
  std::vector<int32_t> link_busy;
  std::vector<ReadyQueue<int32_t>> device_queue;
  std::vector<std::vector<PathItem>> path_queue;  // heaps
  std::vector<ReadyQueue<LinkItem>> link_queue;
  EventTree op_ends, transfer_ends;

  // About what a copy takes when nearly everything is resident and has crossed.
  size_t Bytes() const {
    return ops.size() * sizeof(OpState) + left.size() * sizeof(int32_t) +
           units.size() * (sizeof(UnitState) + sizeof(Transfer)) + 4096;
  }
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_RUN_STATE_H_
