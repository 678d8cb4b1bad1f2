// Rule 18 of docs/simulator.md, with numbers derived by hand.
#include <gtest/gtest.h>

#include "sim/tiny_step.h"

namespace placewright {
namespace {

constexpr int64_t kCapacity = int64_t{1} << 40;

SimResult RunStep(const TinyProblem& problem, SchedulingPolicy policy = SchedulingPolicy::kFifo) {
  Simulator simulator(problem.sim_graph);
  SimOptions options;
  options.policy = policy;
  options.schedule = true;
  return simulator.Run(problem.placement, options);
}

// Three devices and links that nothing else takes; each collective is ready when its ops on `after` end.
class Collectives {
 public:
  Collectives() : step_(3, kCapacity, SharingKind()) { step_.ConnectAll(); }

  TinyStep& step() { return step_; }
  void Add(const std::string& name, std::vector<int32_t> devices, std::vector<int32_t> links,
           int64_t time, std::vector<std::string> after = {}) {
    std::vector<OpId> members;
    TinyOpOptions options;
    options.times = {0, 0, 0};
    options.after = std::move(after);
    for (const int32_t device : devices) {
      step_.Op(name + std::to_string(device), device, 0, {}, {8}, options);
      members.push_back(OpId(ops_++));
    }
    step_.Collective(name, std::move(members), std::move(links), time);
  }
  void Op(const std::string& name, int32_t device, int64_t time) {
    step_.Op(name, device, time, {}, {8});
    ++ops_;
  }
  TinyProblem Build() { return step_.Build(); }

 private:
  TinyStep step_;
  int32_t ops_ = 0;
};

int64_t EndOf(const SimResult& result, int32_t collective) {
  return result.schedule->collectives[CollectiveId(collective)].end.count;
}

// Both at half of their speed until the short one has done its 40 at 80; of the long one 60 are left then.
TEST(SharedLinks, CollectivesOverOneLinkHaveHalfOfItEach) {
  Collectives made;
  made.Add("a", {0, 1}, {0}, 100);
  made.Add("b", {1, 2}, {0}, 40);
  const SimResult result = RunStep(made.Build());
  EXPECT_EQ(EndOf(result, 1), 80);
  EXPECT_EQ(EndOf(result, 0), 140);
  EXPECT_EQ(result.step_time.count, 140);
}

TEST(SharedLinks, OverOthersTheyAreAlone) {
  Collectives made;
  made.Add("a", {0, 1}, {0}, 100);
  made.Add("b", {1, 2}, {1}, 40);
  const SimResult result = RunStep(made.Build());
  EXPECT_EQ(EndOf(result, 0), 100);
  EXPECT_EQ(EndOf(result, 1), 40);
}

// Alone until 50, then beside b, which needs 80 for its 40: a has 10 left at 130.
TEST(SharedLinks, OneThatComesLaterSlowsDownWhatRuns) {
  Collectives made;
  made.Op("late", 2, 50);
  made.Add("a", {0, 1}, {0, 1}, 100);
  made.Add("b", {1, 2}, {1, 2}, 40, {"late"});
  const SimResult result = RunStep(made.Build());
  EXPECT_EQ(EndOf(result, 1), 130);
  EXPECT_EQ(EndOf(result, 0), 140);
}

// Three over one link have a third each: 30 until 90. Then two: 20 of b until 130. a's last 10 alone, until 140.
TEST(SharedLinks, ThreeHaveAThird) {
  Collectives made;
  made.Add("a", {0, 1}, {0}, 60);
  made.Add("b", {1, 2}, {0}, 50);
  made.Add("c", {0, 2}, {0}, 30);
  const SimResult result = RunStep(made.Build());
  EXPECT_EQ(EndOf(result, 2), 90);
  EXPECT_EQ(EndOf(result, 1), 130);
  EXPECT_EQ(EndOf(result, 0), 140);
}

TEST(SharedLinks, OneCommunicatorDoesOneAfterAnother) {
  for (const SchedulingPolicy policy : kSchedulingPolicies) {
    Collectives made;
    made.Add("a", {0, 1}, {0}, 100);
    made.Add("b", {1, 0}, {1}, 40);
    const SimResult result = RunStep(made.Build(), policy);
    EXPECT_EQ(EndOf(result, 0), 100);
    EXPECT_EQ(EndOf(result, 1), 140);
  }
}

// The collective runs 0-200 on d0 and d1. On d0 p begins with it and takes its 112, q begins beside it and takes
// 112 * 132 / 112. On d2 there is none.
TEST(SharedLinks, OpsBesideACollectiveTakeLonger) {
  Collectives made;
  made.Add("a", {0, 1}, {}, 200);
  made.Op("p", 0, 112);
  made.Op("q", 0, 112);
  made.Op("r", 0, 112);
  made.Op("s", 2, 112);
  made.Op("t", 2, 112);
  const TinyProblem problem = made.Build();
  const SimResult result = RunStep(problem);
  const auto end = [&](std::string_view name) {
    return result.schedule->ops[problem.op(name)].end.count;
  };
  EXPECT_EQ(end("p"), 112);
  EXPECT_EQ(end("q"), 244);
  EXPECT_EQ(end("r"), 356);
  EXPECT_EQ(end("t"), 224);
}

// Rounded up: 1 * 132 / 112 are 2.
TEST(SharedLinks, WhatIsSlowedDownIsRoundedUp) {
  Collectives made;
  made.Add("a", {0, 1}, {}, 200);
  made.Op("p", 0, 10);
  made.Op("q", 0, 1);
  const TinyProblem problem = made.Build();
  EXPECT_EQ(RunStep(problem).schedule->ops[problem.op("q")].end.count, 12);
}

// The transfer of 100 bytes from d0 to d1 takes the link that the collective runs over, 5-115.
TEST(SharedLinks, TransfersAndCollectivesDoNotWaitForEachOther) {
  Collectives made;
  made.Add("a", {0, 1}, {0}, 1000);
  const TensorId x = made.step().Op("x", 0, 5, {}, {100})[0];
  made.step().Op("y", 1, 112, {x}, {8});
  const TinyProblem problem = made.Build();
  const SimResult result = RunStep(problem);
  EXPECT_EQ(result.schedule->transfers.front().start.count, 5);
  EXPECT_EQ(result.schedule->ops[problem.op("y")].start.count, 115);
  EXPECT_EQ(result.schedule->ops[problem.op("y")].end.count, 247);
  EXPECT_EQ(EndOf(result, 0), 1000);
}

}  // namespace
}  // namespace placewright
