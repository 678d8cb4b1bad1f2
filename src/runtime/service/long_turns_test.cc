#include "runtime/service/long_turns.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "graph/graph_builder.h"
#include "runtime/process/test_channels.h"
#include "runtime/service/execution.h"

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

// Whether a thread has the usual policy, and may take long turns and give them up.
bool MayTakeLongTurns() {
  bool may = sched_getscheduler(0) == SCHED_OTHER;
  std::thread([&] {
    const sched_param parameters{};
    for (const int policy : {SCHED_BATCH, SCHED_OTHER}) {
      may = may && sched_setscheduler(0, policy, &parameters) == 0;
    }
  }).join();
  return may;
}

TEST(LongTurns, AreTakenByAllThreadsAsLongAsTheyAreSet) {
  if (!MayTakeLongTurns()) GTEST_SKIP() << "the system does not let threads take long turns";
  std::atomic<int> asked{0}, answered{0}, policy{-1};
  std::thread other([&] {
    while (asked >= 0) {
      std::this_thread::yield();
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
  if (!MayTakeLongTurns()) GTEST_SKIP() << "the system does not let threads take long turns";
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
  // The first step is cold, then a trial.
  EXPECT_EQ(Ways(10, [](int, bool second) { return second ? 9 : 10; }), "aabbabbbbb");
  EXPECT_EQ(Ways(10, [](int, bool second) { return second ? 11 : 10; }), "aabbaaaaaa");
  EXPECT_EQ(Ways(10, [](int, bool) { return 10; }), "aabbaaaaaa");
  // The shortest of each counts.
  EXPECT_EQ(Ways(8, [](int i, bool second) { return second ? (i == 2 ? 19 : 9) : 10; }),
            "aabbabbb");
  EXPECT_EQ(Ways(8, [](int, bool) { return 0; }), "aabbaaaa");
}

TEST(WayOfSteps, IsNotTheOneThatOtherThingsFavour) {
  // Every second step pays for something else; steps fall, or grow, by more than the ways differ.
  for (const int odd : {0, 1}) {
    const auto paid = [odd](int i, bool second) {
      return (second ? 9 : 10) + (i % 2 == odd ? 100 : 0);
    };
    EXPECT_EQ(Ways(8, paid), "aabbabbb");
  }
  EXPECT_EQ(Ways(8, [](int i, bool second) { return 100 - 2 * i - (second ? 0 : 1); }), "aabbaaaa");
  EXPECT_EQ(Ways(8, [](int i, bool second) { return 100 + 2 * i - (second ? 0 : 1); }), "aabbaaaa");
}

std::vector<size_t> Others(const std::string& ways, char other) {
  std::vector<size_t> found;
  for (size_t at = ways.find(other); at != std::string::npos; at = ways.find(other, at + 1)) {
    found.push_back(at);
  }
  return found;
}

TEST(WayOfSteps, IsTriedAgainBehindPauses) {
  // What is far longer ends a trial by its third step; behind it 64 steps, then 128.
  const std::string ways = Ways(270, [](int, bool second) { return second ? 16 : 10; });
  EXPECT_EQ(Others(ways, 'b'), (std::vector<size_t>{2, 3, 69, 70, 200, 201}));
}

TEST(WayOfSteps, IsTriedSoonWhereStepsBecomeFarLonger) {
  // From step 30 on the second way is the slow one; the second slow step begins a trial.
  const auto time = [](int i, bool second) { return second ? (i < 30 ? 9 : 90) : 10; };
  EXPECT_EQ(Ways(40, time), "aabba" + std::string(27, 'b') + "baab" + "aaaa");
}

TEST(WayOfSteps, IsSeldomTriedWhereStepsAreFarLongerNowAndThen) {
  // Whole steps of another program, two on end in each eight, whatever the way.
  const auto time = [](int i, bool second) { return (second ? 11 : 10) + (i % 8 < 2 ? 20 : 0); };
  EXPECT_LE(Others(Ways(600, time), 'b').size(), 20u);
}

// A run of one rank.
class OneProcess : public Processes {
 public:
  int32_t rank() const override { return 0; }
  int32_t size() const override { return 1; }
  const std::vector<std::string>& hosts() const override { return hosts_; }
  Result<std::string> Share(std::string text) override { return text; }
  Error Fail(const Error& error) override { return error; }
  Status Finish() override { return Ok(); }
  bool no_nccl() const override { return false; }
  Channel& channel() override { return *channels_.front(); }

 private:
  const std::vector<std::string> hosts_ = {"here"};
  const std::vector<std::unique_ptr<Channel>> channels_ = MakeLocalChannels(1);
};

TEST(LongTurns, AreThoseOfEveryStepOfARank) {
  if (!MayTakeLongTurns()) GTEST_SKIP() << "the system does not let threads take long turns";
  GraphBuilder builder("small", "aten");
  OpSpec op{.name = "y", .type = "aten.relu.default", .args = {Value(InputRef{0})}};
  op.inputs = {builder.AddInput("input:x", TensorKind::kInput, DType::kF32, {2}).Take()};
  op.outputs = {{"y", DType::kF32, {2}}};
  builder.SetOutputs(builder.AddOp(std::move(op)).Take());
  const Graph graph = std::move(builder).Build().Take();
  OneProcess processes;
  const auto turns_of = [&](Processes* of) {
    ExecutionRequest request;
    request.graph = &graph;
    request.placement.push_back(DeviceId(0));
    request.devices = {{"cpu"}};
    request.processes = of;
    if (of != nullptr) request.rank_of.push_back(0);
    const auto execution = StartExecution(std::move(request)).Take();
    std::string text;
    for (int step = 0; step < WayOfSteps::kUntilChosen; ++step) {
      const Execution::Step ran = execution->Run().Take();
      const bool taken = sched_getscheduler(0) == SCHED_BATCH;
      EXPECT_EQ(taken, ran.long_turns.value_or(false));
      text += taken ? "long " : "usual ";
    }
    return text;
  };
  std::thread([&] {
    EXPECT_EQ(turns_of(&processes), "usual usual long long usual ");
    EXPECT_EQ(turns_of(nullptr), "usual usual usual usual usual ");
    EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
  }).join();
}

}  // namespace
}  // namespace placewright
