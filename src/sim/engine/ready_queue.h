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
  ReadyQueue() = default;
  // Copies what still waits, and nothing of what has been popped.
  ReadyQueue(const ReadyQueue& other) { *this = other; }
  ReadyQueue& operator=(const ReadyQueue& other) {
    if (this == &other) return *this;
    items_.assign(other.items_.begin() + static_cast<std::ptrdiff_t>(other.head_),
                  other.items_.end());
    late_ = other.late_;
    head_ = 0;
    group_ = std::max(other.group_, other.head_) - other.head_;
    instant_ = other.instant_;
    return *this;
  }

  void Clear() {
    items_.clear();
    late_.clear();
    head_ = group_ = 0;
    instant_ = -1;
  }
  bool empty() const { return head_ == items_.size() && late_.empty(); }

  const Item& front() const { return LateFirst() ? late_.front() : items_[head_]; }

  void Pop() {
    if (LateFirst()) {
      std::pop_heap(late_.begin(), late_.end(), std::greater<>());
      late_.pop_back();
      return;
    }
    ++head_;
  }

  // `now` is at least the `now` of every earlier push.
  void Push(int64_t now, Item item) {
    if (now != instant_) {
      if (!late_.empty()) MergeLate();
      instant_ = now;
      group_ = items_.size();
    }
    const size_t first = std::max(group_, head_);
    size_t at = items_.size();
    while (at > first && item < items_[at - 1]) {
      if (items_.size() - at == kMaxShift) {
        late_.push_back(item);
        std::push_heap(late_.begin(), late_.end(), std::greater<>());
        return;
      }
      --at;
    }
    items_.push_back(item);
    if (at + 1 != items_.size()) {
      std::move_backward(items_.begin() + at, items_.end() - 1, items_.end());
      items_[at] = item;
    }
  }

 private:
  static constexpr size_t kMaxShift = 64;

  bool LateFirst() const {
    if (late_.empty()) return false;
    if (head_ == items_.size()) return true;
    return head_ >= group_ && late_.front() < items_[head_];
  }

  // The late items belong to the last instant: into its sorted run.
  void MergeLate() {
    items_.insert(items_.end(), late_.begin(), late_.end());
    late_.clear();
    std::sort(items_.begin() + std::max(group_, head_), items_.end());
  }

  std::vector<Item>
      items_;               // [head, group): older, in order; [group, end): of this instant, sorted
  std::vector<Item> late_;  // min-heap: of this instant, too far from the end to insert
  size_t head_ = 0, group_ = 0;
  int64_t instant_ = -1;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_READY_QUEUE_H_
