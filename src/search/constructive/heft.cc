#include "search/constructive/heft.h"

#include <algorithm>
#include <numeric>

#include "search/constructive/list_state.h"
#include "search/constructive/mean_transfer.h"

namespace placewright {
namespace {

// The idle slots of one device, ascending; the last never ends.
class IdleSlots {
 public:
  static constexpr int kSlots = 64;

  int64_t EarliestStart(int64_t ready, int64_t duration) const {
    size_t i = FirstEndingAfter(ready);
    for (int tried = 0; tried < kSlots && i + 1 < slots_.size(); ++i, ++tried) {
      const int64_t start = std::max(ready, slots_[i].start);
      if (start + duration <= slots_[i].end) return start;
    }
    return std::max(ready, slots_.back().start);
  }

  void Take(int64_t start, int64_t duration) {
    // Beyond the largest time that any output can state nothing is kept apart; so the last slot,
    // which ends at four times that, is never used up.
    if (duration == 0 || start > kMaxQuantity) return;
    const size_t i = FirstEndingAfter(start);
    const Slot slot = slots_[i];
    const auto at = slots_.begin() + static_cast<std::ptrdiff_t>(i);
    const Slot before{slot.start, start}, after{start + duration, slot.end};
    if (before.start < before.end && after.start < after.end) {
      *at = after;
      slots_.insert(at, before);
    } else if (before.start < before.end) {
      *at = before;
    } else if (after.start < after.end) {
      *at = after;
    } else {
      slots_.erase(at);
    }
  }

 private:
  struct Slot {
    int64_t start, end;
  };
  size_t FirstEndingAfter(int64_t time) const {
    const auto it = std::upper_bound(slots_.begin(), slots_.end() - 1, time,
                                     [](int64_t t, const Slot& slot) { return t < slot.end; });
    return static_cast<size_t>(it - slots_.begin());
  }
  std::vector<Slot> slots_{{0, int64_t{1} << 62}};
};

}  // namespace

IdVector<ExecOpId, int64_t> UpwardRanks(const Problem& problem, const OpGraph& graph,
                                        const CandidateDevices& candidates) {
  const MeanTransfer transfer(*problem.cluster, candidates.accelerators);
  // Until an op's turn: the maximum over its successors.
  IdVector<ExecOpId, int64_t> rank(graph.ops, 0);
  for (auto it = graph.order.rbegin(); it != graph.order.rend(); ++it) {
    const ExecOpId op = *it;
    const std::vector<DeviceId>& devices = candidates.preferred[graph.group_of[op]];
    int64_t mean = 0;
    for (DeviceId device : devices) mean = SaturatingAdd(mean, problem.sim_graph.Time(op, device));
    rank[op] = SaturatingAdd(rank[op], mean / static_cast<int64_t>(devices.size()));
    for (const OpInput& input : graph.Inputs(op)) {
      if (!input.producer.valid()) continue;
      const bool together = graph.group_of[input.producer] == graph.group_of[op];
      const int64_t edge = together ? 0 : transfer.Time(input.length);
      rank[input.producer] = std::max(rank[input.producer], SaturatingAdd(rank[op], edge));
    }
    for (ExecOpId first : graph.Before(op)) rank[first] = std::max(rank[first], rank[op]);
  }
  return rank;
}

GroupPlacement PlaceHeft(const PlacerInput& input) {
  const OpGraph& graph = input.graph;
  const IdVector<ExecOpId, int64_t> rank = UpwardRanks(input.problem, graph, input.candidates);
  std::vector<ExecOpId> order = graph.order;  // topological, so equal ranks keep dependencies
  std::stable_sort(order.begin(), order.end(),
                   [&](ExecOpId a, ExecOpId b) { return rank[a] > rank[b]; });
  ListState state(input.problem, graph, input.candidates,
                  {input.attempt, {}, input.transfer_factor});
  IdVector<DeviceId, IdleSlots> idle(graph.devices);
  for (ExecOpId op : order) {
    DeviceId best, roomiest;
    int64_t best_start = 0, best_end = 0, max_room = 0;
    for (DeviceId device : state.Candidates(op)) {
      const int64_t room = state.Room(op, device);
      if (!roomiest.valid() || room > max_room) roomiest = device, max_room = room;
      if (room < 0) continue;
      const int64_t duration = state.Duration(op, device);
      const int64_t start = idle[device].EarliestStart(state.Arrival(op, device), duration);
      if (!best.valid() || start + duration < best_end) {
        best = device, best_start = start, best_end = start + duration;
      }
    }
    if (!best.valid()) {
      best = roomiest;
      best_start = idle[best].EarliestStart(state.Arrival(op, best), state.Duration(op, best));
    }
    idle[best].Take(best_start, state.Duration(op, best));
    state.Place(op, best, best_start);
  }
  return state.Finish();
}

}  // namespace placewright
