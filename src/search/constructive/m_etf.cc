#include "search/constructive/m_etf.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "search/constructive/list_state.h"

namespace placewright {
namespace {

// The ready pairs of one device.
struct DeviceQueue {
  using Item = std::pair<int64_t, ExecOpId>;  // (arrival, op)
  std::priority_queue<Item, std::vector<Item>, std::greater<>> coming;
  std::priority_queue<ExecOpId, std::vector<ExecOpId>, std::greater<>> waiting;  // arrived
  int64_t available = 0;
  ColocationGroupId awaited;  // that the device waits for
  ExecOpId awaited_op;        // its ready op
  int64_t awake_until = 0;
};

class EarliestTaskFirst {
 public:
  EarliestTaskFirst(const PlacerInput& input, const Favourites& favourites)
      : favourites_(favourites),
        graph_(input.graph),
        candidates_(input.candidates),
        groups_(input.groups),
        state_(input.problem, input.graph, input.candidates,
               {input.attempt, LeaderBytes(input.groups), input.transfer_factor}),
        queues_(graph_.devices),
        missing_(graph_.ops, 0),
        pairs_(graph_.ops, 0),
        placed_(graph_.ops, 0),
        decided_(input.groups.size(), 0) {}

  GroupPlacement Run() {
    int32_t scheduled = 0;
    for (ExecOpId op : graph_.exec_ops()) {
      if (!Schedules(op)) continue;
      ++scheduled;
      for (ExecOpId follower : graph_.Successors(op)) ++missing_[follower];
    }
    for (ExecOpId op : graph_.exec_ops()) {
      if (Schedules(op) && missing_[op] == 0) Push(op);
    }
    for (int32_t placed = 0; placed < scheduled; ++placed) PlaceNext();
    GroupPlacement device_of = state_.Finish();
    PlaceFollowers(groups_, candidates_.preferred, device_of);
    return device_of;
  }

 private:
  struct Choice {
    int64_t start = 0, end = 0;
    ExecOpId op;
    DeviceId device;
    bool operator<(const Choice& other) const {
      return std::tie(start, op, end, device) <
             std::tie(other.start, other.op, other.end, other.device);
    }
  };

  bool Schedules(ExecOpId op) const {
    return groups_[graph_.group_of[op]].leader == graph_.group_of[op];
  }

  void Push(ExecOpId op) {
    for (DeviceId device : state_.Candidates(op)) {
      DeviceQueue& queue = queues_[device];
      queue.coming.emplace(state_.Arrival(op, device), op);
      ++pairs_[op];
      if (queue.awaited == graph_.group_of[op] && !queue.awaited_op.valid()) queue.awaited_op = op;
    }
  }

  bool Stale(ExecOpId op, DeviceId device) const {
    if (placed_[op]) return true;
    const auto candidates = state_.Candidates(op);
    return std::find(candidates.begin(), candidates.end(), device) == candidates.end();
  }

  // The best pair of the device that is not for its favourite child alone; false: none is left.
  bool SettleAwake(DeviceId device, Choice& choice) {
    const bool any = Settle(device, choice);
    DeviceQueue& queue = queues_[device];
    if (!queue.awaited.valid()) return any;
    if (any && graph_.group_of[choice.op] != queue.awaited && !Urgent(choice.op, choice.start)) {
      choice.start = std::max(choice.start, queue.awake_until);
      choice.end = SaturatingAdd(choice.start, state_.Duration(choice.op, device));
    }
    if (!queue.awaited_op.valid() || Stale(queue.awaited_op, device)) return any;
    Choice child{std::max(queue.available, state_.Arrival(queue.awaited_op, device)), 0,
                 queue.awaited_op, device};
    child.end = SaturatingAdd(child.start, state_.Duration(child.op, device));
    if (!any || child < choice) choice = child;
    return true;
  }

  bool Urgent(ExecOpId op, int64_t now) const {
    for (DeviceId device : state_.Candidates(op)) {
      if (state_.Arrival(op, device) > now) return false;
    }
    return true;
  }

  // Brings the best pair of the device to the front of its queues; false: none is left.
  bool Settle(DeviceId device, Choice& choice) {
    DeviceQueue& queue = queues_[device];
    while (!queue.coming.empty() && queue.coming.top().first <= queue.available) {
      queue.waiting.push(queue.coming.top().second);
      queue.coming.pop();
    }
    while (!queue.waiting.empty()) {
      if (!Stale(queue.waiting.top(), device)) {
        choice = {queue.available, 0, queue.waiting.top(), device};
        choice.end = SaturatingAdd(choice.start, state_.Duration(choice.op, device));
        return true;
      }
      queue.waiting.pop();
    }
    while (!queue.coming.empty()) {
      const auto [arrival, op] = queue.coming.top();
      if (!Stale(op, device)) {
        choice = {arrival, 0, op, device};
        choice.end = SaturatingAdd(choice.start, state_.Duration(op, device));
        return true;
      }
      queue.coming.pop();
    }
    return false;
  }

  // Takes the chosen pair out of its device's queues. A favourite child need not be at the front:
  // its pair stays then, to be found stale, or again if the child did not fit.
  bool Pop(const Choice& choice) {
    DeviceQueue& queue = queues_[choice.device];
    if (choice.op == queue.awaited_op) StopAwaiting(queue);
    const bool waiting = !queue.waiting.empty();
    if ((waiting ? queue.waiting.top() : queue.coming.top().second) != choice.op) return false;
    waiting ? queue.waiting.pop() : queue.coming.pop();
    --pairs_[choice.op];
    return true;
  }

  void PlaceNext() {
    while (true) {
      Choice best;
      for (DeviceId device : graph_.device_ids()) {
        Choice choice;
        if (SettleAwake(device, choice) && (!best.op.valid() || choice < best)) best = choice;
      }
      if (!best.op.valid()) break;
      const bool popped = Pop(best);
      const bool forced = state_.Candidates(best.op).size() == 1;
      if (forced || state_.Room(best.op, best.device) >= 0) return Commit(best);
      if (!popped) continue;  // its pair is met again, now without a device that waits
      if (pairs_[best.op] == 0) return PlaceOnEmptiest(best.op);
      dropped_.push_back(best.op);
    }
    // Ops whose group was decided after their pair for that device had been dropped for memory.
    while (placed_[dropped_.back()]) dropped_.pop_back();
    PlaceOnEmptiest(dropped_.back());
  }

  void PlaceOnEmptiest(ExecOpId op) {
    DeviceId best;
    for (DeviceId device : state_.Candidates(op)) {
      if (!best.valid() || state_.Room(op, device) > state_.Room(op, best)) best = device;
    }
    const int64_t start = std::max(queues_[best].available, state_.Arrival(op, best));
    Commit({start, SaturatingAdd(start, state_.Duration(op, best)), op, best});
  }

  void Commit(const Choice& choice) {
    state_.Place(choice.op, choice.device, choice.start);
    queues_[choice.device].available = choice.end;
    placed_[choice.op] = 1;
    decided_[graph_.group_of[choice.op]] = 1;
    Await(choice);
    for (ExecOpId follower : graph_.Successors(choice.op)) {
      if (--missing_[follower] == 0 && Schedules(follower)) Push(follower);
    }
  }

  static void StopAwaiting(DeviceQueue& queue) {
    queue.awaited = ColocationGroupId();
    queue.awaited_op = ExecOpId();
  }

  // The device begins or ends to wait for a favourite child.
  void Await(const Choice& choice) {
    if (favourites_.child.empty()) return;
    const ColocationGroupId group = graph_.group_of[choice.op];
    for (DeviceQueue& queue : queues_) {
      if (queue.awaited == group) StopAwaiting(queue);
    }
    const ColocationGroupId child = favourites_.child[group];
    DeviceQueue& queue = queues_[choice.device];
    StopAwaiting(queue);
    if (!child.valid() || decided_[child]) return;
    queue.awaited = child;
    queue.awake_until = SaturatingAdd(choice.end, favourites_.wait[group]);
  }

  const Favourites& favourites_;
  const OpGraph& graph_;
  const CandidateDevices& candidates_;
  const GroupInfos& groups_;
  ListState state_;
  IdVector<DeviceId, DeviceQueue> queues_;
  IdVector<ExecOpId, int32_t> missing_;  // dependencies not placed yet
  IdVector<ExecOpId, int32_t> pairs_;    // devices whose queues hold it
  IdVector<ExecOpId, char> placed_;
  IdVector<ColocationGroupId, char> decided_;
  std::vector<ExecOpId> dropped_;  // ops that lost a pair for memory, possibly placed since
};

}  // namespace

GroupPlacement PlaceMEtf(const PlacerInput& input) { return PlaceEarliestTaskFirst(input, {}); }

GroupPlacement PlaceEarliestTaskFirst(const PlacerInput& input, const Favourites& favourites) {
  return EarliestTaskFirst(input, favourites).Run();
}

}  // namespace placewright
