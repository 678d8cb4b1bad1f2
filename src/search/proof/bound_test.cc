// Bounds and proofs against brute force over all placements of tiny problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "search/evaluate.h"
#include "search/problem.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

// Step time of the best placement that fits, over all of them; nothing if none fits.
std::optional<int64_t> BestOfAll(const Problem& problem) {
  Simulator simulator(problem.program);
  std::vector<size_t> choice(problem.units.size(), 0);
  std::optional<int64_t> best;
  while (true) {
    std::vector<int32_t> devices;
    for (size_t u = 0; u < choice.size(); ++u) {
      devices.push_back(problem.units[u].allowed[choice[u]].value());
    }
    const auto score = EvaluateUnits(problem, devices, simulator);
    if (score.ok() && score.value().feasible && (!best || score.value().step_time < *best)) {
      best = score.value().step_time;
    }
    size_t u = 0;
    while (u < choice.size() && ++choice[u] == problem.units[u].allowed.size()) choice[u++] = 0;
    if (u == choice.size()) return best;
  }
}

TEST(LowerBound, IsNeverAboveTheBestPlacement) {
  int proven = 0, tight = 0, feasible = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    TestSpec spec = RandomSpec(seed);
    for (Order order : {Order::kFifo, Order::kCriticalPath}) {
      spec.order = order;
      bool runnable = true;  // an op that no device supports is another test's business
      for (const TestOp& op : spec.ops) {
        runnable &= *std::max_element(op.time_ns.begin(), op.time_ns.end()) >= 0;
      }
      if (!runnable) continue;
      const auto test = MakeTestProblem(spec);
      const std::optional<int64_t> best = BestOfAll(test->problem);
      const Bound bound = LowerBound(test->problem);
      const bool fits = ProveFits(test->problem).ok();
      if (best) {
        ++feasible;
        EXPECT_LE(bound.value.count, *best) << "seed " << seed << ", " << bound.argument;
        EXPECT_TRUE(fits) << "seed " << seed;
        tight += bound.value.count == *best;
      }
      proven += !fits;
    }
  }
  EXPECT_GT(feasible, 600);
  EXPECT_GT(proven, 10);           // the proof is not vacuous
  EXPECT_GT(tight, feasible / 5);  // nor is the bound
}

// Ten ops of 6 ns on either of two equal devices, no edges: total work 60 over 2 devices is 30.
TEST(LowerBound, WorkSpreadsOverEqualDevices) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  for (int i = 0; i < 10; ++i) spec.ops.push_back({"op" + std::to_string(i), {6, 6}, {}, {8}});
  const auto test = MakeTestProblem(spec);
  const Bound bound = LowerBound(test->problem);
  EXPECT_EQ(bound.value, Nanos(30));
  EXPECT_EQ(bound.argument, "work");
}

// As above with a third device a hundred times slower: weights (100, 100, 1) make every op cost 600
// on any device, 10 * 600 / 201 = 29.85, so at least 30 of the true optimum 30.
TEST(LowerBound, SlowDevicesDoNotMakeTheWorkBoundVacuous) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  for (int i = 0; i < 10; ++i) spec.ops.push_back({"op" + std::to_string(i), {6, 6, 600}, {}, {8}});
  const auto test = MakeTestProblem(spec);
  EXPECT_GE(LowerBound(test->problem).value, Nanos(29));
  EXPECT_LE(LowerBound(test->problem).value, Nanos(30));
}

// Two ops of 10 and 20 ns; a hands b 1,000 B over 1 GB/s + 5 ns. Crossing takes 10 + 1005 + 20 =
// 1035; on one device 30: both arguments give 30, the critical path. A third op c of 40 ns that
// also reads a must stay with it, too, so the device needs 10 + 20 + 40 = 70 (critical path: 50).
TEST(LowerBound, OpsThatCannotAffordToPartShareADevice) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.latency = 5;
  spec.ops = {
      {"a", {10, 10}, {}, {1000}}, {"b", {20, 20}, {"a"}, {8}}, {"c", {40, 40}, {"a"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const Bound bound = LowerBound(test->problem);
  EXPECT_EQ(bound.value, Nanos(70));
  EXPECT_EQ(bound.argument, "crossing");
}

// Two parameters of 4,096 B do not share a device of 6,144 B, so the first op's result of 100 B
// crosses: 10 + 100 + 20 = 130 ns instead of 30. (A parameter that crosses in its place takes
// 4,096.)
TEST(LowerBound, MemoryForcesACrossing) {
  TestSpec spec;
  spec.capacity = {6144, 6144};
  spec.inputs = {{"v", 4096}, {"w", 4096}};
  spec.ops = {{"a", {10, 10}, {"v"}, {100}}, {"b", {20, 20}, {"a", "w"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const Bound bound = LowerBound(test->problem);
  EXPECT_EQ(bound.value, Nanos(130));
  EXPECT_EQ(bound.argument, "memory spread");
  EXPECT_EQ(BestOfAll(test->problem), 130);
}

// 3 parameters of 4,096 B = 12,288 B on two devices of 5,120 B = 10,240 B: 2,048 B are missing.
TEST(ProveFits, SumOfParameters) {
  TestSpec spec;
  spec.capacity = {5120, 5120};
  spec.inputs = {{"u", 4096}, {"v", 4096}, {"w", 4096}};
  spec.ops = {{"a", {1, 1}, {"u"}, {8}}, {"b", {1, 1}, {"v"}, {8}}, {"c", {1, 1}, {"w"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const Status status = ProveFits(test->problem);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInfeasible);
  const std::string text = status.error().ToString() + std::string(status.error().Remedy());
  for (const char* part : {"12,288 B", "10,240 B", "largest indivisible group", "4,608 B",
                           "Add at least 2.0 KiB (2,048 B) to d0", "another device"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

// The same on three devices, one of which no op may use: it does not help.
TEST(ProveFits, ForbiddenDevicesDoNotCount) {
  TestSpec spec;
  spec.capacity = {5120, 5120, 1 << 20};
  spec.inputs = {{"u", 4096}, {"v", 4096}, {"w", 4096}};
  spec.ops = {
      {"a", {1, 1, 1}, {"u"}, {8}}, {"b", {1, 1, 1}, {"v"}, {8}}, {"c", {1, 1, 1}, {"w"}, {8}}};
  EXPECT_TRUE(ProveFits(MakeTestProblem(spec)->problem).ok());
  spec.constraints.forbids = {{"*", "d2"}};
  const auto test = MakeTestProblem(spec);
  const Status status = ProveFits(test->problem);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("d0, d1 together"), std::string::npos);
}

// One op writes 10,000 B (10,240 rounded) and reads 600 B (1,024): 11,264 B against 8,192 B.
TEST(ProveFits, OneOpAlone) {
  TestSpec spec;
  spec.capacity = {8192, 4096};
  spec.inputs = {{"x", 600, TensorKind::kInput}};
  spec.ops = {{"big", {1, 1}, {"x"}, {10000}}};
  const auto test = MakeTestProblem(spec);
  const Status status = ProveFits(test->problem);
  ASSERT_FALSE(status.ok());
  const std::string text = status.error().ToString() + std::string(status.error().Remedy());
  for (const char* part : {"op big", "11,264 B", "8,192 B", "d0", "3,072 B"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

// Ten results of 2,048 B that one last op reads together: 20,480 B and its own 512 B of output, on
// two devices of 9,216 B. No single op but the last needs more than 2,048 B.
TEST(ProveFits, ActivationsAliveTogether) {
  TestSpec spec;
  spec.capacity = {9216, 9216};
  TestOp last{"last", {1, 1}, {}, {8}};
  for (int i = 0; i < 10; ++i) {
    spec.ops.push_back({"a" + std::to_string(i), {1, 1}, {"x"}, {2048}});
  }
  // Each of two readers needs half of them and the other's result, so that none is too large alone.
  spec.inputs = {{"x", 8, TensorKind::kInput}};
  TestOp gate{"gate", {1, 1}, {}, {8}};
  for (int i = 0; i < 10; ++i) gate.reads.push_back("s" + std::to_string(i));
  for (int i = 0; i < 10; ++i) {
    spec.ops.push_back({"s" + std::to_string(i), {1, 1}, {"a" + std::to_string(i)}, {8}});
  }
  spec.ops.push_back(gate);
  for (int i = 0; i < 10; ++i) {
    spec.ops.push_back({"b" + std::to_string(i), {1, 1}, {"a" + std::to_string(i), "gate"}, {8}});
  }
  const auto test = MakeTestProblem(spec);
  const Status status = ProveFits(test->problem);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().ToString().find("still reads"), std::string::npos)
      << status.error().ToString();
}

}  // namespace
}  // namespace placewright
