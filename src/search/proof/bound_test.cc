// Bounds and proofs against brute force over all placements of tiny problems.
#include "search/proof/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/random.h"
#include "search/evaluation/group_placement.h"
#include "search/problem/problem.h"
#include "search/proof/infeasibility.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

// Step time of the best placement that fits, over all of them; nothing if none fits.
std::optional<int64_t> BestThatFits(const Problem& problem) {
  const std::optional<Score> best = BestOfAll(problem);
  if (!best || !best->feasible) return std::nullopt;
  return best->step_time;
}

// Gives some parameters of a random problem a home.
void AddHomes(uint64_t seed, TestSpec& spec) {
  Random random(seed + 5000);
  for (TestInput& input : spec.inputs) {
    if (input.kind != TensorKind::kParameter || random.Below(2) == 0) continue;
    const bool written = std::any_of(spec.ops.begin(), spec.ops.end(),
                                     [&](const TestOp& op) { return op.in_place == input.name; });
    if (!written) input.home = static_cast<int>(random.Below(spec.capacity.size()));
  }
}

TEST(LowerBound, IsNeverAboveTheBestPlacement) {
  int proven = 0, tight = 0, feasible = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    TestSpec spec = RandomSpec(seed);
    if (seed % 4 == 3) AddHomes(seed, spec);
    for (SchedulingPolicy policy : kSchedulingPolicies) {
      spec.policy = policy;
      bool runnable = true;  // an op that no device supports is another test's business
      for (const TestOp& op : spec.ops) {
        runnable &= *std::max_element(op.time_ns.begin(), op.time_ns.end()) >= 0;
      }
      if (!runnable) continue;
      const auto test = MakeTestProblem(spec);
      const std::optional<int64_t> best = BestThatFits(test->problem);
      const Bound bound = LowerBound(test->problem);
      const bool fits =
          CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).ok();
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

// Constraints never lower the bound. Joining all ops of a problem leaves one set with one device to
// bear everything, pins leave less choice: on every random problem the bound only rises.
TEST(LowerBound, ConstraintsNeverLowerIt) {
  int raised = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    TestSpec spec = RandomSpec(seed);
    for (TestOp& op : spec.ops) {
      for (int64_t& time : op.time_ns) time = std::max<int64_t>(time, 1);  // any device runs it
    }
    const Nanos free = LowerBound(MakeTestProblem(spec)->problem).value;
    TestSpec joined = spec, pinned = spec;
    joined.constraints.colocate = {"*"};
    pinned.constraints.pins = {{"op1", "d1"}};
    for (const TestSpec& constrained : {joined, pinned}) {
      const Nanos bound = LowerBound(MakeTestProblem(constrained)->problem).value;
      EXPECT_GE(bound, free) << "seed " << seed;
      raised += bound > free;
    }
  }
  EXPECT_GT(raised, 10);
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
  EXPECT_EQ(BestThatFits(test->problem), 130);
}

}  // namespace
}  // namespace placewright
