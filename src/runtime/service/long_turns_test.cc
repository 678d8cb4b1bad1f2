#include "runtime/service/long_turns.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace placewright {
namespace {

// Policies as threads have them: of one that was there before, of the calling one, of one that it starts.
std::string Policies(const std::function<int()>& of_other) {
  int started = -1;
  std::thread([&] { started = sched_getscheduler(0); }).join();
  std::string text;
  for (const int policy : {of_other(), sched_getscheduler(0), started}) {
    text += policy == SCHED_BATCH ? "long " : policy == SCHED_OTHER ? "usual " : "another ";
  }
  return text;
}

TEST(LongTurns, AreTakenByAllThreadsAsLongAsTheyAreSet) {
  if (sched_getscheduler(0) != SCHED_OTHER) GTEST_SKIP() << "the tests run with another policy";
  std::atomic<int> asked{0}, answered{0}, policy{-1};
  std::thread other([&] {
    while (asked >= 0) {
      if (asked == answered) continue;
      policy = sched_getscheduler(0);
      answered = asked.load();
    }
  });
  const auto of_other = [&] {
    const int next = ++asked;
    while (answered != next) std::this_thread::yield();
    return policy.load();
  };
  {
    LongTurns turns;
    EXPECT_EQ(Policies(of_other), "usual usual usual ");
    turns.Set(true);
    EXPECT_EQ(Policies(of_other), "long long long ");
    turns.Set(false);
    EXPECT_EQ(Policies(of_other), "usual usual usual ");
    turns.Set(true);
  }
  EXPECT_EQ(Policies(of_other), "usual usual usual ");
  asked = -1;
  other.join();
}

TEST(LongTurns, LeaveAPolicyThatWasAskedFor) {
  std::thread([] {
    const sched_param parameters{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &parameters), 0);
    LongTurns turns;
    turns.Set(true);
    turns.Set(false);
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

// The ways of steps, a letter each; `time` is what step i takes the first or the second way.
std::string Ways(int steps, const std::function<int64_t(int i, bool second)>& time) {
  WayOfSteps way;
  std::string ways;
  for (int i = 0; i < steps; ++i) {
    const bool second = way.second();
    ways += second ? 'b' : 'a';
    way.Took(time(i, second));
  }
  return ways;
}

TEST(WayOfSteps, IsTheOneWithTheShorterSteps) {
  // The first step is cold, then both by turns.
  EXPECT_EQ(Ways(10, [](int, bool second) { return second ? 9 : 10; }), "aababbbbbb");
  EXPECT_EQ(Ways(10, [](int, bool second) { return second ? 11 : 10; }), "aababaaaaa");
  EXPECT_EQ(Ways(10, [](int, bool) { return 10; }), "aababaaaaa");
  // The shortest of each counts.
  EXPECT_EQ(Ways(10, [](int i, bool second) { return second ? (i == 2 ? 14 : 9) : 10; }),
            "aababbbbbb");
  // What is far longer is not tried twice.
  EXPECT_EQ(Ways(10, [](int, bool second) { return second ? 16 : 10; }), "aabaaaaaaa");
}

TEST(WayOfSteps, IsTriedAgainBehindPauses) {
  const std::string ways = Ways(400, [](int, bool second) { return second ? 16 : 10; });
  EXPECT_EQ(ways.substr(0, 3), "aab");
  std::vector<size_t> tries;
  for (size_t at = ways.find('b'); at != std::string::npos; at = ways.find('b', at + 1)) {
    tries.push_back(at);
  }
  EXPECT_EQ(tries,
            (std::vector<size_t>{2, 68, 198}));  // 64 and 128 steps, and one of the first way
}

TEST(WayOfSteps, IsTriedAtOnceWhereStepsBecomeFarLonger) {
  // From step 20 on the second way is the slow one; the second slow step begins a trial.
  const auto time = [](int i, bool second) { return second ? (i < 20 ? 9 : 90) : 10; };
  EXPECT_EQ(Ways(30, time), "aabab" + std::string(18, 'b') + "ab" + "aaaaa");
}

}  // namespace
}  // namespace placewright
