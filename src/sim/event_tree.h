// The next completion among few sources, each of which has at most one pending: a winner tree.
// Complexity: O(log slots) a change, O(1) the least.
#ifndef PLACEWRIGHT_SIM_EVENT_TREE_H_
#define PLACEWRIGHT_SIM_EVENT_TREE_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace placewright {

class EventTree {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  explicit EventTree(int32_t slots) {
    while (leaves_ < slots) leaves_ *= 2;
    Clear();
  }
  void Clear() {
    nodes_.assign(2 * leaves_, Node{kNever, 0});
    for (int32_t i = 0; i < leaves_; ++i) nodes_[leaves_ + i].slot = i;
  }
  int64_t least() const { return nodes_[1].time; }
  int32_t slot() const { return nodes_[1].slot; }

  void Set(int32_t slot, int64_t time) {
    int32_t at = leaves_ + slot;
    Node winner{time, slot};
    nodes_[at] = winner;
    for (; at > 1; at >>= 1) {
      const Node& other = nodes_[at ^ 1];
      if (other.time < winner.time) winner = other;
      nodes_[at >> 1] = winner;
    }
  }

 private:
  struct Node {
    int64_t time;
    int32_t slot;
  };
  int32_t leaves_ = 1;
  std::vector<Node> nodes_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_EVENT_TREE_H_
