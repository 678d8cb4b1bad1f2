#include "runtime/executor/yielding_threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>

namespace placewright {
namespace {

// A thread of its own: what it becomes is no matter of the other tests'.
void OnThread(const std::function<void()>& work) { std::thread(work).join(); }

void StayOn(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

// Goes on to compute until `until` holds. Whether it ever did.
bool Compute(const std::function<bool()>& until) {
  const Clock::time_point end = Clock::now() + std::chrono::minutes(2);
  while (!until()) {
    if (Clock::now() > end) return false;
  }
  return true;
}

TEST(YieldingThreads, AreAddedWithWhatTheyStart) {
  YieldingThreads yielding;
  if (!yielding.yielding()) GTEST_SKIP() << "the system would not let them go back";
  OnThread([&] {
    yielding.Add();
    EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
    OnThread([] { EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE); });
  });
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

TEST(YieldingThreads, TakeTurnsAgainWhereAnotherThreadKeepsTheirCore) {
  const auto window = std::chrono::milliseconds(100);
  YieldingThreads yielding(window);
  if (!yielding.yielding()) GTEST_SKIP() << "the system would not let them go back";
  const int core = sched_getcpu();
  std::atomic<bool> ended{false};
  std::atomic<int> policy{-1};
  std::thread keeps([&] {
    StayOn(core);
    EXPECT_TRUE(Compute([&] { return ended.load(); }));
  });
  std::thread computes([&] {
    StayOn(core);
    yielding.Add();
    policy = sched_getscheduler(0);
    EXPECT_TRUE(Compute([&] {
      yielding.Watch();
      return !yielding.yielding();
    }));
    EXPECT_EQ(policy.exchange(sched_getscheduler(0)), SCHED_IDLE);
    ended = true;
  });
  computes.join();
  ended = true;
  keeps.join();
  EXPECT_EQ(policy, SCHED_OTHER);
}

TEST(YieldingThreads, StayAsTheyAreUnderAnotherPolicy) {
  OnThread([] {
    const sched_param parameters{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &parameters), 0);
    YieldingThreads yielding;
    EXPECT_FALSE(yielding.yielding());
    yielding.Add();
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  });
}

}  // namespace
}  // namespace placewright
