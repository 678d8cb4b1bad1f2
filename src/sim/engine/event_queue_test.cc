#include "sim/engine/event_queue.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/random.h"

namespace placewright {
namespace {

// Against a set, with times that tie and with more events pending than are kept near.
TEST(EventQueue, GivesTheEarliestFirst) {
  Random random(7);
  EventQueue queue;
  for (int round = 0; round < 20; ++round) {
    std::set<std::pair<int64_t, EventSlot>> expected;  // time, slot
    queue.Clear();
    int64_t now = 0;
    const uint64_t growth = 2 + round % 3;  // of `growth` steps one takes an event away
    for (int32_t step = 0; step < 2000; ++step) {
      const int64_t time = now + static_cast<int64_t>(random.Below(300));
      const EventSlot slot(step);
      if (expected.empty() || random.Below(growth) > 0) {
        queue.Push(time, slot);
        expected.emplace(time, slot);
      } else {
        now = queue.min();
        ASSERT_EQ(expected.erase({now, queue.slot()}), 1u);
        const int64_t later = now + static_cast<int64_t>(random.Below(300));
        if (random.Below(3) > 0) {
          queue.Pop();
        } else {
          expected.emplace(later, slot);
          queue.Replace(later, slot);
        }
      }
      ASSERT_EQ(queue.min(), expected.empty() ? EventQueue::kNever : expected.begin()->first);
      ASSERT_EQ(queue.second(),
                expected.size() < 2 ? EventQueue::kNever : std::next(expected.begin())->first);
    }
  }
}

// What the loop leaves at the front stays there, though others of the same instant are pushed.
TEST(EventQueue, KeepsTheFrontAmongEquals) {
  EventQueue queue;
  queue.Push(5, EventSlot(0));
  for (int32_t slot = 1; slot < 200; ++slot) queue.Push(5, EventSlot(slot));
  EXPECT_EQ(queue.slot(), EventSlot(0));
  queue.Postpone(6);
  EXPECT_EQ(queue.min(), 5);
  EXPECT_NE(queue.slot(), EventSlot(0));
}

}  // namespace
}  // namespace placewright
