// The next completions among what runs: at most one event per device or link.
//
// Few run at once even where there are many links, and then nothing beats a short sorted array: the
// earliest is at its end, and a new event moves those that come before it, with one mispredicted
// branch. What does not fit lies in a heap behind it. Events of equal time leave in no order that
// anything may depend on, but for one promise: an event at the front stays there when one of equal
// time is pushed.
// Complexity: O(kNear + log pending) a change, O(1) the earliest two.
#ifndef PLACEWRIGHT_SIM_ENGINE_EVENT_QUEUE_H_
#define PLACEWRIGHT_SIM_ENGINE_EVENT_QUEUE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace placewright {

using EventSlot = Id<struct EventSlotTag>;  // what has an event: devices first, then links

class EventQueue {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  EventQueue() { Clear(); }
  void Clear() {
    count_ = kFirst;
    times_[0] = times_[1] = far_min_ = kNever;
    far_.clear();
  }

  int64_t min() const { return times_[count_ - 1]; }     // kNever: none
  EventSlot slot() const { return slots_[count_ - 1]; }  // of the earliest
  int64_t second() const { return times_[count_ - 2]; }

  // time < kNever.
  void Push(int64_t time, EventSlot slot) {
    if (count_ == times_.size()) MoveFar();
    if (time >= far_min_) return PushFar(time, slot);
    Place(count_++, time, slot);
  }

  // Takes the earliest away.
  void Pop() {
    --count_;
    if (count_ < kFirst + 2 && far_min_ != kNever) FetchNear();
  }

  // Pop and Push in one.
  void Replace(int64_t time, EventSlot slot) {
    if (time >= far_min_) {
      Pop();
      Push(time, slot);
    } else {
      Place(count_ - 1, time, slot);
    }
  }
  // Gives the earliest a later time.
  void Postpone(int64_t time) { Replace(time, slot()); }

 private:
  static constexpr size_t kFirst = 2;  // two kNever before the first, for min() and second()
  static constexpr size_t kNear = 64;

  // Everything behind `hole` comes before what is in front of it; the hole is the last.
  void Place(size_t hole, int64_t time, EventSlot slot) {
    for (; times_[hole - 1] <= time; --hole) {
      times_[hole] = times_[hole - 1];
      slots_[hole] = slots_[hole - 1];
    }
    times_[hole] = time;
    slots_[hole] = slot;
  }

  void PushFar(int64_t time, EventSlot slot) {
    far_.emplace_back(time, slot);
    std::push_heap(far_.begin(), far_.end(), std::greater<>());
    far_min_ = far_.front().first;
  }

  // The later half of what is near.
  void MoveFar() {
    for (size_t i = kFirst; i < kFirst + kNear / 2; ++i) PushFar(times_[i], slots_[i]);
    std::move(times_.begin() + kFirst + kNear / 2, times_.end(), times_.begin() + kFirst);
    std::move(slots_.begin() + kFirst + kNear / 2, slots_.end(), slots_.begin() + kFirst);
    count_ -= kNear / 2;
  }

  // Two events at least, if there are as many.
  void FetchNear() {
    for (size_t i = 0; i < kNear / 4 && !far_.empty(); ++i) {
      std::pop_heap(far_.begin(), far_.end(), std::greater<>());
      Place(count_++, far_.back().first, far_.back().second);
      far_.pop_back();
    }
    far_min_ = far_.empty() ? kNever : far_.front().first;
  }

  // [kFirst, count): latest first. Two arrays: an event copied as one word of 16 bytes would have
  // to wait for its halves to be written.
  std::array<int64_t, kFirst + kNear> times_{};
  std::array<EventSlot, kFirst + kNear> slots_{};
  size_t count_ = kFirst;
  int64_t far_min_ = kNever;
  std::vector<std::pair<int64_t, EventSlot>> far_;  // min-heap: none before any that is near
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_EVENT_QUEUE_H_
