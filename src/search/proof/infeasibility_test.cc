// What memory alone proves, and what memory is enough, with numbers derived by hand.
#include "search/proof/infeasibility.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "search/evaluation/group_placement.h"
#include "search/planner_table.h"
#include "search/problem/problem.h"
#include "search/proof/memory_advice.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

// 3 parameters of 4,096 B = 12,288 B on two devices of 5,120 B = 10,240 B: 2,048 B are missing.
TEST(CheckNotProvenInfeasible, SumOfParameters) {
  TestSpec spec;
  spec.capacity = {5120, 5120};
  spec.inputs = {{"u", 4096}, {"v", 4096}, {"w", 4096}};
  spec.ops = {{"a", {1, 1}, {"u"}, {8}}, {"b", {1, 1}, {"v"}, {8}}, {"c", {1, 1}, {"w"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const Status status = CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInfeasible);
  const std::string text = status.error().ToString() + std::string(status.error().Remedy());
  for (const char* part :
       {"12,288 B", "10,240 B", "largest indivisible group", "4,608 B", "d0, d1 together offer",
        "At least 2.0 KiB (2,048 B) more is needed on these devices"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

// The runtime context needs 500 B more than there are; then a parameter (512) and a result (512).
TEST(CheckNotProvenInfeasible, WhatTheRuntimeContextLacksCounts) {
  TestSpec spec;
  spec.capacity = {1000};
  spec.inputs = {{"w", 300}};
  spec.ops = {{"a", {5}, {"w"}, {8}}};
  const auto test = MakeTestProblem(spec);
  test->problem.sim_graph.runtime_context[DeviceId(0)] = 1500;
  const Status fits = CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
  ASSERT_FALSE(fits.ok());
  const std::string remedy(fits.error().Remedy());
  EXPECT_NE(remedy.find("At least 1.5 KiB (1,524 B) more"), std::string::npos) << remedy;
}

// The same on three devices, one of which no op may use: it does not help.
TEST(CheckNotProvenInfeasible, ForbiddenDevicesDoNotCount) {
  TestSpec spec;
  spec.capacity = {5120, 5120, 1 << 20};
  spec.inputs = {{"u", 4096}, {"v", 4096}, {"w", 4096}};
  spec.ops = {
      {"a", {1, 1, 1}, {"u"}, {8}}, {"b", {1, 1, 1}, {"v"}, {8}}, {"c", {1, 1, 1}, {"w"}, {8}}};
  EXPECT_TRUE(CheckSpecNotProvenInfeasible(spec).ok());
  spec.constraints.forbids = {{"*", "d2"}};
  const auto test = MakeTestProblem(spec);
  const Status status = CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("d0, d1 together offer"), std::string::npos);
  spec.constraints.forbids = {{"*", "d1"}, {"*", "d2"}};
  const auto alone = MakeTestProblem(spec);
  const Status one = CheckNotProvenInfeasible(alone->problem, *alone->evaluator, alone->plans());
  ASSERT_FALSE(one.ok());
  EXPECT_NE(one.error().message.find("but d0 offers"), std::string::npos) << one.error().message;
}

// One op writes 10,000 B (10,240 rounded) and reads 600 B (1,024): 11,264 B against 8,192 B.
TEST(CheckNotProvenInfeasible, OneOpAlone) {
  TestSpec spec;
  spec.capacity = {8192, 4096};
  spec.inputs = {{"x", 600, TensorKind::kInput}};
  spec.ops = {{"big", {1, 1}, {"x"}, {10000}}};
  const auto test = MakeTestProblem(spec);
  const Status status = CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
  ASSERT_FALSE(status.ok());
  const std::string text = status.error().ToString() + std::string(status.error().Remedy());
  for (const char* part : {"op big", "11,264 B", "8,192 B", "d0", "3,072 B"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

// Ten results of 2,048 B that one last op reads together: 20,480 B and its own 512 B of output, on
// two devices of 9,216 B. No single op but the last needs more than 2,048 B.
TEST(CheckNotProvenInfeasible, ActivationsAliveTogether) {
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
  const Status status = CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().ToString().find("still reads"), std::string::npos)
      << status.error().ToString();
}

std::string WholeText(const Error& error) {
  return error.ToString() + " " + std::string(error.Remedy());
}

// Whether some constructive planner's plan fits once `advice` is added.
bool Fits(TestSpec spec, const MemoryAdvice& advice) {
  for (const MoreMemory& more : advice.more) spec.capacity[more.device.index()] += more.bytes;
  const auto test = MakeTestProblem(spec);
  for (const auto& planner : MakeSearchPlanners()) {
    if (planner->iterative()) continue;
    const auto result = planner->Plan(test->problem, *test->evaluator, {});
    if (result.ok() && result.value().feasible) return true;
  }
  return false;
}

// Two chains without an edge between them, all on d0: fifo runs a and b, whose results take 2,048 B
// each, then x, which reads a's and makes 512 B: 4,608 B on 4,096 B. No cut sees both chains: alone
// x needs 2,560 B. With the missing 512 B the only placement fits.
TEST(CheckNotProvenInfeasible, TheOnlyPlacementIsSimulated) {
  TestSpec spec;
  spec.capacity = {4096, 1 << 20};
  spec.constraints.pins = {{"*", "d0"}};
  spec.ops = {{"a", {1, 1}, {}, {2000}},
              {"b", {1, 1}, {}, {2000}},
              {"x", {1, 1}, {"a"}, {8}},
              {"y", {1, 1}, {"b"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const Status status = CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInfeasible);
  const std::string text = WholeText(status.error());
  for (const char* part :
       {"one device only", "fifo", "needs 4.5 KiB (4,608 B) on d0, which has 4.0 KiB (4,096 B)",
        "largest indivisible group", "At least 512 B more is needed",
        "512 B more on d0 (4,608 B usable in all) is enough: checked by simulation"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  spec.capacity[0] += 512;
  EXPECT_TRUE(CheckSpecNotProvenInfeasible(spec).ok());
}

// A parameter of 10,000 B (10,240) whose home is d0 with its 8,192 B: both devices together have
// room, d0 lacks 2,048 B. On d1 it would fit.
TEST(CheckNotProvenInfeasible, AGivenHomeThatIsTooSmall) {
  TestSpec spec;
  spec.capacity = {8192, 1 << 20};
  spec.inputs = {{"w", 10000, TensorKind::kParameter, 0}};
  spec.ops = {{"a", {1, 1}, {"w"}, {8}}};
  const Status status = CheckSpecNotProvenInfeasible(spec);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInfeasible);
  const std::string text = WholeText(status.error());
  for (const char* part : {"whose home the file gives there", "10,240 B", "d0 offers", "8,192 B",
                           "At least 2.0 KiB (2,048 B) more is needed on d0"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  spec.inputs[0].home = 1;
  EXPECT_TRUE(CheckSpecNotProvenInfeasible(spec).ok());
}

// w (4,096 B) has its home on d0 with 8,192 B, where a must run, which reads it and makes 4,000 B
// (4,096): 8,192 B, just enough. u (1,024 B), which b reads there, too, makes 9,216 B when a ends:
// 1,024 B are missing, though a alone needs 8,192 B and what persists takes 5,120 B.
TEST(CheckNotProvenInfeasible, AnOpBesideWhatMustLieThere) {
  TestSpec spec;
  spec.capacity = {8192, 1 << 20};
  spec.inputs = {{"w", 4096, TensorKind::kParameter, 0}, {"u", 1024}};
  spec.ops = {{"a", {1, -1}, {"w"}, {4000}}, {"b", {1, 1}, {"u"}, {8}}};
  EXPECT_TRUE(CheckSpecNotProvenInfeasible(spec).ok());
  spec.ops[1].time_ns = {1, -1};
  spec.ops.push_back({"free", {1, 1}, {}, {8}});  // so that there is more than one placement
  const Status status = CheckSpecNotProvenInfeasible(spec);
  ASSERT_FALSE(status.ok());
  const std::string text = WholeText(status.error());
  for (const char* part :
       {"op a", "beside what must lie there", "9.0 KiB (9,216 B)", "5.0 KiB (5,120 B) of it",
        "8.0 KiB (8,192 B)", "At least 1.0 KiB (1,024 B) more is needed on d0"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

// One device of 5,120 B for three parameters of 4,096 B, each read by an op with an output of 512 B
// without readers: 12,288 B persist, 7,168 B more are needed, and one output besides is enough:
// 12,800 - 5,120 = 7,680 B.
TEST(FindMemoryAdvice, OneDevice) {
  TestSpec spec;
  spec.capacity = {5120};
  spec.inputs = {{"u", 4096}, {"v", 4096}, {"w", 4096}};
  spec.ops = {{"a", {1}, {"u"}, {8}}, {"b", {1}, {"v"}, {8}}, {"c", {1}, {"w"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const auto advice = FindMemoryAdvice(test->problem, *test->evaluator, test->plans(), 7168);
  ASSERT_TRUE(advice);
  ASSERT_EQ(advice->more.size(), 1u);
  EXPECT_EQ(advice->more[0].bytes, 7680);
  EXPECT_EQ(advice->algorithm, "single");
  EXPECT_EQ(DescribeMemoryAdvice(test->problem, advice),
            "7,680 B more on d0 (12,800 B usable in all) is enough: checked by simulation");
  const std::string text =
      WholeText(CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).error());
  EXPECT_NE(text.find("At least 7.0 KiB (7,168 B) more is needed on d0"), std::string::npos)
      << text;
  EXPECT_NE(text.find("7,680 B more on d0"), std::string::npos) << text;
}

// On two devices of 5,120 B two of them share a device: 2 * 4,096 + 512 - 5,120 = 3,584 B more.
TEST(FindMemoryAdvice, TheSmallestOfSeveralDevices) {
  TestSpec spec;
  spec.capacity = {5120, 5120};
  spec.inputs = {{"u", 4096}, {"v", 4096}, {"w", 4096}};
  spec.ops = {{"a", {1, 1}, {"u"}, {8}}, {"b", {1, 1}, {"v"}, {8}}, {"c", {1, 1}, {"w"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const auto advice = FindMemoryAdvice(test->problem, *test->evaluator, test->plans(), 2048);
  ASSERT_TRUE(advice);
  ASSERT_EQ(advice->more.size(), 1u);
  EXPECT_EQ(advice->more[0].bytes, 3584);
}

// What is said to be enough is; where memory is enough as it is, nothing is added.
TEST(FindMemoryAdvice, IsEnoughForRandomProblems) {
  int added = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    TestSpec spec = RandomSpec(seed);
    for (int64_t& bytes : spec.capacity) bytes /= 4;
    bool runnable = true;
    for (const TestOp& op : spec.ops) {
      runnable &= *std::max_element(op.time_ns.begin(), op.time_ns.end()) >= 0;
    }
    if (!runnable) continue;
    const auto test = MakeTestProblem(spec);
    const auto advice = FindMemoryAdvice(test->problem, *test->evaluator, test->plans(), 1);
    ASSERT_TRUE(advice) << "seed " << seed;
    EXPECT_TRUE(Fits(spec, *advice)) << "seed " << seed;
    EXPECT_EQ(advice->more.empty(), Fits(spec, {})) << "seed " << seed;
    added += !advice->more.empty();
  }
  EXPECT_GT(added, 20);
}

// No file may state more than 2^60 bytes for a device.
TEST(FindMemoryAdvice, NothingBeyondEveryLimit) {
  TestSpec spec;
  spec.capacity = {4096};
  spec.inputs = {{"u", kMaxQuantity - 512}, {"v", kMaxQuantity - 512}};
  spec.ops = {{"a", {1}, {"u"}, {8}}, {"b", {1}, {"v"}, {8}}};
  const auto test = MakeTestProblem(spec);
  EXPECT_FALSE(FindMemoryAdvice(test->problem, *test->evaluator, test->plans(), 1));
  EXPECT_FALSE(CheckNotProvenInfeasible(test->problem, *test->evaluator, test->plans()).ok());
}

// a (4,096 B) on either device of 4,608: with its output of 512 B it just fits; two of them on one
// device overflow by 4,096. The given plan does not fit, another algorithm's does.
TEST(NothingFits, NamesNeedCapacityGroupAndWayOut) {
  TestSpec spec;
  spec.capacity = {4608, 4608};
  spec.inputs = {{"u", 4096}, {"v", 4096}};
  spec.ops = {{"a", {1, 1}, {"u"}, {8}}, {"b", {1, 1}, {"v"}, {8}}};
  const auto test = MakeTestProblem(spec);
  const Error error = NothingFits(test->problem, *test->evaluator, test->plans(), "local-search",
                                  ExpandGroups(test->problem, AllOn(0, 2)));
  EXPECT_EQ(error.code, ErrorCode::kNothingFound);
  const std::string text = WholeText(error);
  for (const char* part : {"local-search", "on d0, which has 4.5 KiB (4,608 B)",
                           "largest indivisible group is the colocation group of op a", "--time",
                           "another algorithm: --algo"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

// Two results are computed again from x and each is read by one op alone (sim/program_order_test.cc): 9,216 B first
// come, first served, 5,632 B in the order of the program.
TEST(NothingFits, NamesAnOrderThatFits) {
  TestSpec spec;
  spec.capacity = {8192};
  spec.ops = {{"x", {1}, {}, {512}},           {"loss", {10}, {"x"}, {512}},
              {"again2", {10}, {"x"}, {4096}}, {"grad2", {10}, {"again2", "loss"}, {512}},
              {"again1", {10}, {"x"}, {4096}}, {"grad1", {10}, {"again1", "grad2"}, {512}}};
  const auto test = MakeTestProblem(spec);
  const Error error = NothingFits(test->problem, *test->evaluator, test->plans(), "single",
                                  Placement(test->problem.graph->op_count(), DeviceId(0)));
  EXPECT_NE(
      WholeText(error).find("; or --order program: this plan then needs 5.5 KiB on d0, and fits"),
      std::string::npos)
      << WholeText(error);
}

}  // namespace
}  // namespace placewright
