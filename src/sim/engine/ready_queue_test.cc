#include "sim/engine/ready_queue.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/random.h"

namespace placewright {
namespace {

// Against a set of (instant, item), with enough items of one instant to overflow into the heap.
TEST(ReadyQueue, ServesByInstantThenItem) {
  Random random(5);
  ReadyQueue<int32_t> queue;
  for (int round = 0; round < 20; ++round) {
    std::set<std::pair<int64_t, int32_t>> expected;
    std::set<int32_t> used;
    int64_t now = 0;
    queue.Clear();
    for (int step = 0; step < 3000; ++step) {
      if (random.Below(400) == 0) ++now;
      const int32_t item = static_cast<int32_t>(random.Below(100'000));
      if (random.Below(3) > 0 && used.insert(item).second) {
        queue.Push(now, item);
        expected.emplace(now, item);
      } else if (!expected.empty()) {
        ASSERT_EQ(queue.front(), expected.begin()->second);
        expected.erase(expected.begin());
        queue.Pop();
      }
      ASSERT_EQ(queue.empty(), expected.empty());
      if (random.Below(200) == 0) queue = ReadyQueue<int32_t>(queue);
    }
  }
}

}  // namespace
}  // namespace placewright
