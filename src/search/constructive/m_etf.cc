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
};

class EarliestTaskFirst {
 public:
  explicit EarliestTaskFirst(const PlacerInput& input)
      : graph_(input.graph),
        domain_(input.domain),
        units_(input.units),
        state_(input.problem, input.graph, input.domain,
               {input.attempt, LeaderBytes(input.units), input.transfer_factor}),
        queues_(graph_.devices),
        missing_(graph_.ops, 0),
        pairs_(graph_.ops, 0),
        placed_(graph_.ops, 0) {}

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
    PlaceFollowers(units_, domain_.preferred, device_of);
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
    return units_[graph_.unit_of[op]].leader == graph_.unit_of[op];
  }

  void Push(int32_t op) {
    for (int32_t device : state_.Candidates(op)) {
      queues_[device].coming.emplace(state_.Arrival(op, device), op);
      ++pairs_[op];
    }
  }

  bool Stale(int32_t op, int32_t device) const {
    if (placed_[op]) return true;
    const auto candidates = state_.Candidates(op);
    return std::find(candidates.begin(), candidates.end(), device) == candidates.end();
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

  void PopFront(int32_t device) {
    DeviceQueue& queue = queues_[device];
    queue.waiting.empty() ? queue.coming.pop() : queue.waiting.pop();
  }

  void PlaceNext() {
    while (true) {
      Choice best;
      for (int32_t device = 0; device < graph_.devices; ++device) {
        Choice choice;
        if (Settle(device, choice) && (best.op < 0 || choice < best)) best = choice;
      }
      if (best.op < 0) break;
      PopFront(best.device);
      --pairs_[best.op];
      const bool forced = state_.Candidates(best.op).size() == 1;
      if (forced || state_.Room(best.op, best.device) >= 0) return Commit(best);
      if (pairs_[best.op] == 0) return PlaceWhereMostIsFree(best.op);
      dropped_.push_back(best.op);
    }
    // Ops whose unit was decided after their pair for that device had been dropped for memory.
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
    for (int32_t follower : graph_.Followers(choice.op)) {
      if (--missing_[follower] == 0 && Schedules(follower)) Push(follower);
    }
  }

  const OpGraph& graph_;
  const Domain& domain_;
  const std::vector<UnitInfo>& units_;
  ListState state_;
  std::vector<DeviceQueue> queues_;
  std::vector<int32_t> missing_;  // [op] dependencies not placed yet
  std::vector<int32_t> pairs_;    // [op] devices whose queues hold it
  std::vector<char> placed_;
  std::vector<int32_t> dropped_;  // ops that lost a pair for memory, possibly placed since
};

}  // namespace

std::vector<int32_t> PlaceMEtf(const PlacerInput& input) { return EarliestTaskFirst(input).Run(); }

}  // namespace placewright
