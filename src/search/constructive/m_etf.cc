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
  using Item = std::pair<int64_t, int32_t>;  // (arrival, op)
  std::priority_queue<Item, std::vector<Item>, std::greater<>> coming;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> waiting;  // arrived
  int64_t available = 0;
  int32_t awaited = -1, awaited_op = -1;  // group that the device waits for, and its ready op
  int64_t awake_until = 0;
};

class EarliestTaskFirst {
 public:
  EarliestTaskFirst(const PlacerInput& input, const Favourites& favourites)
      : favourites_(favourites),
        graph_(input.graph),
        domain_(input.candidates),
        groups_(input.groups),
        state_(input.problem, input.graph, input.candidates,
               {input.attempt, LeaderBytes(input.groups), input.transfer_factor}),
        queues_(graph_.devices),
        missing_(graph_.ops, 0),
        pairs_(graph_.ops, 0),
        placed_(graph_.ops, 0),
        decided_(input.groups.size(), 0) {}

  std::vector<int32_t> Run() {
    int32_t scheduled = 0;
    for (int32_t op = 0; op < graph_.ops; ++op) {
      if (!Schedules(op)) continue;
      ++scheduled;
      for (int32_t follower : graph_.Followers(op)) ++missing_[follower];
    }
    for (int32_t op = 0; op < graph_.ops; ++op) {
      if (Schedules(op) && missing_[op] == 0) Push(op);
    }
    for (int32_t placed = 0; placed < scheduled; ++placed) PlaceNext();
    std::vector<int32_t> device_of = state_.Finish();
    PlaceFollowers(groups_, domain_.preferred, device_of);
    return device_of;
  }

 private:
  struct Choice {
    int64_t start = 0, end = 0;
    int32_t op = -1, device = -1;
    bool operator<(const Choice& other) const {
      return std::tie(start, op, end, device) <
             std::tie(other.start, other.op, other.end, other.device);
    }
  };

  bool Schedules(int32_t op) const {
    return groups_[graph_.group_of[op]].leader == graph_.group_of[op];
  }

  void Push(int32_t op) {
    for (int32_t device : state_.Candidates(op)) {
      DeviceQueue& queue = queues_[device];
      queue.coming.emplace(state_.Arrival(op, device), op);
      ++pairs_[op];
      if (queue.awaited == graph_.group_of[op] && queue.awaited_op < 0) queue.awaited_op = op;
    }
  }

  bool Stale(int32_t op, int32_t device) const {
    if (placed_[op]) return true;
    const auto candidates = state_.Candidates(op);
    return std::find(candidates.begin(), candidates.end(), device) == candidates.end();
  }

  // The best pair of the device that is not for its favourite child alone; false: none is left.
  bool SettleAwake(int32_t device, Choice& choice) {
    const bool any = Settle(device, choice);
    DeviceQueue& queue = queues_[device];
    if (queue.awaited < 0) return any;
    if (any && graph_.group_of[choice.op] != queue.awaited && !Urgent(choice.op, choice.start)) {
      choice.start = std::max(choice.start, queue.awake_until);
      choice.end = SaturatingAdd(choice.start, state_.Duration(choice.op, device));
    }
    if (queue.awaited_op < 0 || Stale(queue.awaited_op, device)) return any;
    Choice child{std::max(queue.available, state_.Arrival(queue.awaited_op, device)), 0,
                 queue.awaited_op, device};
    child.end = SaturatingAdd(child.start, state_.Duration(child.op, device));
    if (!any || child < choice) choice = child;
    return true;
  }

  bool Urgent(int32_t op, int64_t now) const {
    for (int32_t device : state_.Candidates(op)) {
      if (state_.Arrival(op, device) > now) return false;
    }
    return true;
  }

  // Brings the best pair of the device to the front of its queues; false: none is left.
  bool Settle(int32_t device, Choice& choice) {
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
    if (choice.op == queue.awaited_op) queue.awaited = queue.awaited_op = -1;
    const bool waiting = !queue.waiting.empty();
    if ((waiting ? queue.waiting.top() : queue.coming.top().second) != choice.op) return false;
    waiting ? queue.waiting.pop() : queue.coming.pop();
    --pairs_[choice.op];
    return true;
  }

  void PlaceNext() {
    while (true) {
      Choice best;
      for (int32_t device = 0; device < graph_.devices; ++device) {
        Choice choice;
        if (SettleAwake(device, choice) && (best.op < 0 || choice < best)) best = choice;
      }
      if (best.op < 0) break;
      const bool popped = Pop(best);
      const bool forced = state_.Candidates(best.op).size() == 1;
      if (forced || state_.Room(best.op, best.device) >= 0) return Commit(best);
      if (!popped) continue;  // its pair is met again, now without a device that waits
      if (pairs_[best.op] == 0) return PlaceWhereMostIsFree(best.op);
      dropped_.push_back(best.op);
    }
    // Ops whose group was decided after their pair for that device had been dropped for memory.
    while (placed_[dropped_.back()]) dropped_.pop_back();
    PlaceWhereMostIsFree(dropped_.back());
  }

  void PlaceWhereMostIsFree(int32_t op) {
    int32_t best = -1;
    for (int32_t device : state_.Candidates(op)) {
      if (best < 0 || state_.Room(op, device) > state_.Room(op, best)) best = device;
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
    for (int32_t follower : graph_.Followers(choice.op)) {
      if (--missing_[follower] == 0 && Schedules(follower)) Push(follower);
    }
  }

  // The device begins or ends to wait for a favourite child.
  void Await(const Choice& choice) {
    if (favourites_.child.empty()) return;
    const int32_t group = graph_.group_of[choice.op];
    for (DeviceQueue& queue : queues_) {
      if (queue.awaited == group) queue.awaited = queue.awaited_op = -1;
    }
    const int32_t child = favourites_.child[group];
    DeviceQueue& queue = queues_[choice.device];
    queue.awaited = queue.awaited_op = -1;
    if (child < 0 || decided_[child]) return;
    queue.awaited = child;
    queue.awake_until = SaturatingAdd(choice.end, favourites_.wait[group]);
  }

  const Favourites& favourites_;
  const OpGraph& graph_;
  const CandidateDevices& domain_;
  const std::vector<GroupInfo>& groups_;
  ListState state_;
  std::vector<DeviceQueue> queues_;
  std::vector<int32_t> missing_;  // [op] dependencies not placed yet
  std::vector<int32_t> pairs_;    // [op] devices whose queues hold it
  std::vector<char> placed_;      // [op]
  std::vector<char> decided_;     // [group]
  std::vector<int32_t> dropped_;  // ops that lost a pair for memory, possibly placed since
};

}  // namespace

std::vector<int32_t> PlaceMEtf(const PlacerInput& input) {
  return PlaceEarliestTaskFirst(input, {});
}

std::vector<int32_t> PlaceEarliestTaskFirst(const PlacerInput& input,
                                            const Favourites& favourites) {
  return EarliestTaskFirst(input, favourites).Run();
}

}  // namespace placewright
