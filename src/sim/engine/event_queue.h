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

  explicit EventQueue(int32_t slots = 0) : events_(slots + 3, Event{kNever, 0}) {}

  void Clear() {
    for (size_t i = 0; i < count_; ++i) events_[i].time = kNever;
    count_ = 0;
  }

  int64_t least() const { return events_[0].time; }  // kNever: none
  int32_t slot() const { return static_cast<int32_t>(events_[0].slot); }
  int64_t second() const {
    return events_[1].time < events_[2].time ? events_[1].time : events_[2].time;
  }

  // The slot has no event pending.
  void Push(int64_t time, int32_t slot) {
    Event* const events = events_.data();
    size_t at = count_++;
    while (at > 0 && events[(at - 1) / 2].time > time) {
      events[at] = events[(at - 1) / 2];
      at = (at - 1) / 2;
    }
    events[at] = {time, slot};
  }

  // Takes the least away.
  void Pop() {
    const Event last = events_[--count_];
    events_[count_].time = kNever;
    if (count_ > 0) Sink(last);
  }

  // Gives the least, whose slot stays, a later time.
  void Postpone(int64_t time) { Sink({time, events_[0].slot}); }

 private:
  struct Event {
    int64_t time;
    int64_t slot;
  };

  // The hole at the top goes down to a leaf; from there `event` rises, which it seldom does.
  void Sink(Event event) {
    Event* const events = events_.data();
    const size_t count = count_;
    size_t hole = 0;
    for (size_t child = 1; child < count; child = 2 * hole + 1) {
      child += events[child + 1].time < events[child].time;
      events[hole] = events[child];
      hole = child;
    }
    while (hole > 0 && events[(hole - 1) / 2].time > event.time) {
      events[hole] = events[(hole - 1) / 2];
      hole = (hole - 1) / 2;
    }
    events[hole] = event;
  }

  std::vector<Event> events_;  // kNever behind the last
  size_t count_ = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_EVENT_QUEUE_H_
