// The next completion among few sources, each of which has at most one pending: a winner tree.
// Complexity: O(log slots) a change, O(1) the least.
#ifndef PLACEWRIGHT_SIM_ENGINE_EVENT_TREE_H_
#define PLACEWRIGHT_SIM_ENGINE_EVENT_TREE_H_

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
  int32_t slot() const { return static_cast<int32_t>(nodes_[1].slot); }

  // Without branches on the times: which of two is earlier is as good as random.
  void Set(int32_t slot, int64_t time) {
    Node* const nodes = nodes_.data();
    size_t at = static_cast<size_t>(leaves_ + slot);
    Node winner{time, slot};
    nodes[at] = winner;
    for (; at > 1; at >>= 1) {
      const Node other = nodes[at ^ 1];
      const int64_t take = -static_cast<int64_t>(other.time < winner.time);
      winner.time ^= (winner.time ^ other.time) & take;
      winner.slot ^= (winner.slot ^ other.slot) & take;
      nodes[at >> 1] = winner;
    }
  }

 private:
  struct Node {
    int64_t time;
    int64_t slot;
  };
  int32_t leaves_ = 1;
  std::vector<Node> nodes_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_SIM_ENGINE_EVENT_TREE_H_
