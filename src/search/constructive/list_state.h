// The state shared by list-scheduling planners (m-etf, heft): ops are placed one by one in an order
// that respects dependencies; a colocation group is decided by its first op that is placed.
//
// Times are contention-free: an input arrives at end of its producer + latency + bytes/bandwidth,
// once per device. Parameters that are not placed yet are placed with their first reader, as far
// as that device may hold them.
//
// Memory, by default: per device the persistent bytes of the groups decided so far, plus what ops
// in placing order keep alive: an output until its last reader is placed, a copy likewise. With
// `fixed_bytes`: those bytes per decided group and nothing else. A share of the capacity is left
// free for what the estimate does not see.
#ifndef PLACEWRIGHT_SEARCH_CONSTRUCTIVE_LIST_STATE_H_
#define PLACEWRIGHT_SEARCH_CONSTRUCTIVE_LIST_STATE_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "search/problem/candidate_devices.h"
#include "search/problem/op_graph.h"
#include "search/problem/problem.h"

namespace placewright {

struct ListOptions {
  int headroom = 0;                                  // eighths of the capacity
  IdVector<ColocationGroupId, int64_t> fixed_bytes;  // empty: count what is alive
  int64_t transfer_factor = 1;                       // multiplies every transfer's time
};

class ListState {
 public:
  // All references must outlive the state.
  ListState(const Problem& problem, const OpGraph& graph, const CandidateDevices& candidates,
            ListOptions options);

  // Devices that op may still take: one if its group is decided.
  std::span<const DeviceId> Candidates(ExecOpId op) const;
  int64_t Duration(ExecOpId op, DeviceId device) const {
    return problem_.sim_graph.Time(op, device);
  }
  // When all inputs of op are on the device; all its producers must have been placed.
  int64_t Arrival(ExecOpId op, DeviceId device) const;
  // Bytes that stay free on the device if op is placed there; negative: it does not fit.
  int64_t Room(ExecOpId op, DeviceId device) const;
  void Place(ExecOpId op, DeviceId device, int64_t start);

  int64_t end(ExecOpId op) const { return end_[op]; }
  // Device of every group; those that nothing has decided go where the largest amount is free.
  GroupPlacement Finish();

 private:
  int64_t Transfer(DeviceId from, DeviceId to, int64_t length) const;
  int64_t Needed(ExecOpId op, DeviceId device) const;
  void Decide(ColocationGroupId group, DeviceId device);
  void DecideHome(ColocationGroupId group, DeviceId reader_device);
  DeviceId HomeOf(const OpInput& input, DeviceId reader_device) const;
  size_t CopySlot(SliceId crossing, DeviceId device) const {
    return crossing.index() * static_cast<size_t>(graph_.devices) + device.index();
  }
  // Whether an input's home is a group that nothing has decided yet.
  bool LeavesHomeOpen(const OpInput& input) const {
    return !input.producer.valid() && input.home_group.valid() &&
           !group_device_[input.home_group].valid();
  }
  // Where what an input reads lies before it crosses; none: no op places it.
  DeviceId SourceOf(const OpInput& input, DeviceId reader_device) const {
    return input.producer.valid() ? group_device_[graph_.group_of[input.producer]]
                                  : HomeOf(input, reader_device);
  }
  void Release(SliceId crossing);
  void Allocate(ExecOpId op, DeviceId device);
  void Free(DeviceId device, int64_t bytes) {
    used_[device] = std::max<int64_t>(0, used_[device] - bytes);  // sums may have saturated
  }
  int64_t GroupBytes(ColocationGroupId group) const {
    return options_.fixed_bytes.empty() ? problem_.groups[group].persistent.count
                                        : options_.fixed_bytes[group];
  }

  const Problem& problem_;
  const OpGraph& graph_;
  const CandidateDevices& candidates_;
  const ListOptions options_;
  IdVector<DeviceId, int64_t> limit_, used_, workspace_;
  GroupPlacement group_device_;      // none: undecided
  IdVector<ExecOpId, int64_t> end_;  // -1: not placed
  IdVector<SliceId, int32_t> readers_left_;
  std::vector<int64_t> arrival_;               // [CopySlot], -1: none yet
  std::vector<char> resident_;                 // [CopySlot]: a copy counted
  IdVector<StorageId, int64_t> storage_held_;  // bytes counted at home
  IdVector<StorageId, DeviceId> storage_device_;
  IdVector<StorageId, int32_t> storage_readers_left_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_LIST_STATE_H_
