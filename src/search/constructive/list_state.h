// The state shared by list-scheduling planners (m-etf, heft): ops are placed one by one in an order
// that respects dependencies; a colocation group is decided by its first op that is placed.
//
// Times are contention-free: an input arrives at end of its producer + latency + bytes/bandwidth,
// once per device. Parameters that nobody has placed yet are placed with their first reader, as far
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
  int headroom = 0;                  // eighths of the capacity
  std::vector<int64_t> fixed_bytes;  // [group]; empty: count what is alive
  int64_t transfer_factor = 1;       // multiplies every transfer's time
};

class ListState {
 public:
  // All references must outlive the state.
  ListState(const Problem& problem, const OpGraph& graph, const CandidateDevices& candidates,
            ListOptions options);

  // Devices that op may still take: one if its group is decided.
  std::span<const int32_t> Candidates(int32_t op) const;
  int64_t Duration(int32_t op, int32_t device) const {
    return problem_.sim_graph.time[static_cast<size_t>(op) * graph_.devices + device];
  }
  // When all inputs of op are on the device; all its producers must have been placed.
  int64_t Arrival(int32_t op, int32_t device) const;
  // Bytes that stay free on the device if op is placed there; negative: it does not fit.
  int64_t Room(int32_t op, int32_t device) const;
  void Place(int32_t op, int32_t device, int64_t start);

  int64_t end(int32_t op) const { return end_[op]; }
  // Device of every group; those that nothing has decided go where most is free.
  std::vector<int32_t> Finish();

 private:
  int64_t Transfer(int32_t from, int32_t to, int64_t length) const;
  int64_t Needed(int32_t op, int32_t device) const;
  void Decide(int32_t group, int32_t device);
  void DecideHome(int32_t group, int32_t reader_device);
  int32_t HomeOf(const OpInput& input, int32_t reader_device) const;
  void Release(int32_t crossing);
  void Allocate(int32_t op, int32_t device);
  void Free(int32_t device, int64_t bytes) {
    used_[device] = std::max<int64_t>(0, used_[device] - bytes);  // sums may have saturated
  }
  int64_t GroupBytes(int32_t group) const {
    return options_.fixed_bytes.empty() ? problem_.groups[group].persistent.count
                                        : options_.fixed_bytes[group];
  }

  const Problem& problem_;
  const OpGraph& graph_;
  const CandidateDevices& candidates_;
  const ListOptions options_;
  std::vector<int64_t> limit_, used_, workspace_;  // [device]
  std::vector<int32_t> group_device_;              // -1: undecided
  std::vector<int64_t> end_;                       // [op], -1: not placed
  std::vector<int32_t> readers_left_;              // [crossing]
  std::vector<int64_t> arrival_;                   // [crossing * devices + device], -1: none yet
  std::vector<char> resident_;                     // [crossing * devices + device]: a copy counted
  std::vector<int64_t> storage_held_;              // [storage] bytes counted at home
  std::vector<int32_t> storage_device_;            // [storage]
  std::vector<int32_t> storage_readers_left_;      // [storage]
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_CONSTRUCTIVE_LIST_STATE_H_
