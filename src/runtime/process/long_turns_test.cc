#include "runtime/process/long_turns.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <functional>
#include <thread>

namespace placewright {
namespace {

// A thread of its own: what it becomes is no matter of the other tests'.
void OnThread(const std::function<void()>& work) { std::thread(work).join(); }

int PolicyOfStarted() {
  int policy = -1;
  OnThread([&] { policy = sched_getscheduler(0); });
  return policy;
}

TEST(LongTurns, AreTakenByTheThreadAndWhatItStartsAsLongAsOneLives) {
  OnThread([] {
    if (sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "the tests run with another policy";
    {
      const LongTurns turns;
      EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
      EXPECT_EQ(PolicyOfStarted(), SCHED_BATCH);
    }
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
    EXPECT_EQ(PolicyOfStarted(), SCHED_OTHER);
  });
}

TEST(LongTurns, LeaveAPolicyThatWasAskedFor) {
  OnThread([] {
    const sched_param parameters{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &parameters), 0);
    {
      const LongTurns turns;
      EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
    }
    EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
  });
}

}  // namespace
}  // namespace placewright
