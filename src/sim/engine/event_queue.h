// The next completion among what runs: a binary heap of at most one event per slot (device or
// link), least time first. Events of equal time come in no particular order.
//
// Of many links few are busy at once, so the heap stays shallow. Going down it takes no branch on a
// time: which of two children is earlier is as good as random.
// Complexity: O(log pending) a change, O(1) the least two.
#ifndef PLACEWRIGHT_SIM_ENGINE_EVENT_QUEUE_H_
#define PLACEWRIGHT_SIM_ENGINE_EVENT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace placewright {

class EventQueue {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  explicit EventQueue(int32_t slots = 0) : times_(slots + 3, kNever), slots_(slots + 3, 0) {}

  void Clear() {
    for (size_t i = 0; i < count_; ++i) times_[i] = kNever;
    count_ = 0;
  }

  int64_t least() const { return times_[0]; }  // kNever: none
  int32_t slot() const { return slots_[0]; }
  int64_t second() const { return times_[1] < times_[2] ? times_[1] : times_[2]; }

  // The slot has no event pending.
  void Push(int64_t time, int32_t slot) { Rise(count_++, time, slot); }

  // Takes the least away.
  void Pop() {
    const int64_t time = times_[--count_];
    const int32_t slot = slots_[count_];
    times_[count_] = kNever;
    if (count_ > 0) Sink(time, slot);
  }

  // Gives the least, whose slot stays, a later time.
  void Postpone(int64_t time) { Sink(time, slots_[0]); }
  // Pop and Push in one.
  void Replace(int64_t time, int32_t slot) { Sink(time, slot); }

 private:
  void Rise(size_t hole, int64_t time, int32_t slot) {
    int64_t* const times = times_.data();
    int32_t* const slots = slots_.data();
    for (size_t above = (hole - 1) / 2; hole > 0 && times[above] > time; above = (hole - 1) / 2) {
      times[hole] = times[above];
      slots[hole] = slots[above];
      hole = above;
    }
    times[hole] = time;
    slots[hole] = slot;
  }

  // The hole at the top goes down to a leaf; from there the event rises, which it seldom does.
  void Sink(int64_t time, int32_t slot) {
    int64_t* const times = times_.data();
    int32_t* const slots = slots_.data();
    const size_t count = count_;
    size_t hole = 0;
    for (size_t child = 1; child < count; child = 2 * hole + 1) {
      child += times[child + 1] < times[child];
      times[hole] = times[child];
      slots[hole] = slots[child];
      hole = child;
    }
    Rise(hole, time, slot);
  }

  // Two arrays: an event copied as one word of 16 bytes would have to wait for its halves to be
  // written. kNever behind the last.
  std::vector<int64_t> times_;
  std::vector<int32_t> slots_;
  size_t count_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_EVENT_QUEUE_H_
