// Placeto's event queue. Its events are ordered by time, then kind, then name; but a device and a
// bus each have only one event pending at any time (simulator.h says why), so the queue is a winner
// tree over them, and the order within an instant is one number.
// Complexity: O(log sources) a change, O(1) the earliest.
#ifndef PLACEWRIGHT_SIM_PLACETO_EVENT_QUEUE_H_
#define PLACEWRIGHT_SIM_PLACETO_EVENT_QUEUE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace placewright {

// In the order of their names "remove_dependency", "run_bus", "run_dev".
enum class PlacetoKind : uint64_t { kRemoveDependency, kRunBus, kRunDevice };

class PlacetoEventQueue {
 public:
  // `rank` is that of the parent's name for kRemoveDependency, else that of the device's.
  struct Event {
    uint64_t time = kNever;  // as OrderedBits
    uint64_t rest = 0;       // kind (2 bits), rank (31), source (31)
    bool none() const { return time == kNever; }
    double at() const { return TimeOf(time); }
    PlacetoKind kind() const { return static_cast<PlacetoKind>(rest >> 62); }
    int32_t source() const { return static_cast<int32_t>(rest & 0x7fffffff); }
  };

  void Clear(int32_t sources) {
    leaves_ = std::bit_ceil(static_cast<size_t>(sources > 0 ? sources : 1));
    nodes_.assign(2 * leaves_, Event{});
  }
  const Event& min() const { return nodes_[1]; }

  void Set(int32_t source, double time, PlacetoKind kind, uint32_t rank) {
    Replace(source, {OrderedBits(time), static_cast<uint64_t>(kind) << 62 |
                                            static_cast<uint64_t>(rank) << 31 |
                                            static_cast<uint64_t>(source)});
  }
  void Remove(int32_t source) { Replace(source, Event{}); }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr uint64_t kSign = uint64_t{1} << 63;

  // Numbers ordered like the times; a time is finite and not -0.0.
  static uint64_t OrderedBits(double time) {
    const auto bits = std::bit_cast<uint64_t>(time);
    return bits ^ (static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63) | kSign);
  }
  static double TimeOf(uint64_t ordered) {
    return std::bit_cast<double>(ordered ^ (((ordered >> 63) - 1) | kSign));
  }

  // Without branches on the times: which of two is earlier is as good as random.
  void Replace(int32_t source, Event winner) {
    Event* const nodes = nodes_.data();
    size_t at = leaves_ + static_cast<size_t>(source);
    nodes[at] = winner;
    for (; at > 1; at >>= 1) {
      const Event other = nodes[at ^ 1];
      const bool less =
          (other.time < winner.time) | ((other.time == winner.time) & (other.rest < winner.rest));
      const uint64_t take = uint64_t{0} - static_cast<uint64_t>(less);
      winner.time ^= (winner.time ^ other.time) & take;
      winner.rest ^= (winner.rest ^ other.rest) & take;
      nodes[at >> 1] = winner;
    }
  }

  size_t leaves_ = 1;
  std::vector<Event> nodes_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_PLACETO_EVENT_QUEUE_H_
