// The queue of one device or link under rule 2 (FIFO) or rule 5: items in the order of
// (ready time, item). Ready times never fall, so pushing is appending, except among the items of
// the present instant, which may still come in any order.
//
// Complexity: O(1) a push and pop in the usual case. Among n items of one instant a push costs at
// most O(kMaxShift + log n).
#ifndef PLACEWRIGHT_SIM_ENGINE_READY_QUEUE_H_
#define PLACEWRIGHT_SIM_ENGINE_READY_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace placewright {

template <class Item>
class ReadyQueue {
 public:
  ReadyQueue() : items_(kMinRoom) {}
  // Copies what still waits, and nothing of what has been popped.
  ReadyQueue(const ReadyQueue& other) { *this = other; }
  ReadyQueue& operator=(const ReadyQueue& other) {
    if (this == &other) return *this;
    const size_t waiting = other.tail_ - other.head_;
    if (items_.size() < waiting + kMinRoom) items_.resize(waiting + kMinRoom);
    std::copy_n(other.items_.data() + other.head_, waiting, items_.data() + kFirst);
    late_ = other.late_;
    head_ = kFirst;
    tail_ = kFirst + waiting;
    group_ = kFirst + std::max(other.group_, other.head_) - other.head_;
    instant_ = other.instant_;
    return *this;
  }

  void Clear() {
    late_.clear();
    head_ = tail_ = group_ = kFirst;
    instant_ = -1;
  }
  bool empty() const { return head_ == tail_ && late_.empty(); }

  const Item& front() const { return LateFirst() ? late_.front() : items_[head_]; }

  // The first item, which leaves the queue.
  Item Pop() {
    if (late_.empty() || !LateFirst()) return items_[head_++];
    return PopLate();
  }

  // Makes room for `max` items. `now` is at least the `now` of every earlier call.
  void Open(int64_t now, size_t max) {
    if (now != instant_) {
      if (!late_.empty()) MergeLate();
      instant_ = now;
      group_ = tail_;
    }
    if (items_.size() - tail_ <= max) MakeRoom(max);
  }

  // Appends `item` if `ready`, without a branch on it: whether an op is ready is as good as random.
  // Open has made room.
  void PushIf(bool ready, Item item) {
    items_[tail_] = item;
    const bool early = ready & (tail_ > group_) & (item < items_[tail_ - 1]);
    if (early) return Insert(item);
    tail_ += ready;
  }

  void Push(int64_t now, Item item) {
    Open(now, 1);
    PushIf(true, item);
  }

 private:
  static constexpr size_t kMaxShift = 64;
  static constexpr size_t kMinRoom = 16;
  static constexpr size_t kFirst = 1;  // so that there always is an item before the tail

  bool LateFirst() const {
    if (late_.empty()) return false;
    if (head_ == tail_) return true;
    return head_ >= group_ && late_.front() < items_[head_];
  }

  Item PopLate() {
    std::pop_heap(late_.begin(), late_.end(), std::greater<>());
    const Item item = late_.back();
    late_.pop_back();
    return item;
  }

  // Among the items of this instant that have not been served.
  void Insert(Item item) {
    const size_t first = std::max(group_, head_);
    size_t at = tail_;
    while (at > first && item < items_[at - 1]) {
      if (tail_ - at == kMaxShift) {
        late_.push_back(item);
        std::push_heap(late_.begin(), late_.end(), std::greater<>());
        return;
      }
      --at;
    }
    Item* const items = items_.data();
    std::move_backward(items + at, items + tail_, items + tail_ + 1);
    items[at] = item;
    ++tail_;
  }

  // The late items belong to the last instant: into its sorted run.
  void MergeLate() {
    MakeRoom(late_.size());
    std::copy(late_.begin(), late_.end(), items_.data() + tail_);
    tail_ += late_.size();
    late_.clear();
    std::sort(items_.data() + std::max(group_, head_), items_.data() + tail_);
  }

  // Where items have been served, or at the end.
  void MakeRoom(size_t max) {
    const size_t served = head_ - kFirst;
    if (served > 0) {
      std::move(items_.data() + head_, items_.data() + tail_, items_.data() + kFirst);
    }
    group_ = std::max(group_, head_) - served;
    tail_ -= served;
    head_ = kFirst;
    if (items_.size() < 2 * (tail_ + max)) items_.resize(4 * (tail_ + max));
  }

  // [head, group): older, in order; [group, tail): of this instant, sorted; the rest is room.
  std::vector<Item> items_;
  std::vector<Item> late_;  // min-heap: of this instant, too far from the end to insert
  size_t head_ = kFirst, tail_ = kFirst, group_ = kFirst;
  int64_t instant_ = -1;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_READY_QUEUE_H_
