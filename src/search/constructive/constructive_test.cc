// Constructive planners on problems whose plans are derived by hand.
#include <gmock/gmock.h>

#include <set>

#include "search/constructive/heft.h"
#include "search/constructive/layered.h"
#include "search/constructive/m_etf.h"
#include "search/constructive/m_topo.h"
#include "search/constructive/simple.h"
#include "search/partition/model_parallel.h"
#include "search/partition/partition_placers.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

GroupPlacement Place(PlaceFunction place, const TestProblem& test, int attempt = 0,
                     uint64_t seed = 0) {
  const OpGraph graph = BuildOpGraph(test.problem);
  const CandidateDevices candidates = FindCandidateDevices(test.problem, graph);
  const GroupInfos groups = DescribeGroups(test.problem, graph);
  return place({test.problem, graph, candidates, groups, seed, attempt});
}

// t = 0: a and b can start on either device; a (smallest op id) takes d0 until 10, b then starts
// earlier on d1. c reads 1,000 B of a: on d0 at 10, on d1 at 10 + 1,000. d reads b: on d1 at 10, on
// d0 at 1,010.
TEST(MEtf, TakesTheEarliestStart) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.ops = {{"a", {10, 10}, {}, {1000}},
              {"b", {10, 10}, {}, {1000}},
              {"c", {10, 10}, {"a"}, {8}},
              {"d", {10, 10}, {"b"}, {8}}};
  EXPECT_EQ(Place(&PlaceMEtf, *MakeTestProblem(spec)), OnDevices({0, 1, 0, 1}));
}

// c would start first beside a, but its parameter's 4,096 B and a's do not fit into 5,120 B.
TEST(MEtf, PassesOverDevicesWithoutMemory) {
  TestSpec spec;
  spec.capacity = {5120, 10240};
  spec.inputs = {{"u", 4096}, {"v", 4096}};
  spec.ops = {{"a", {10, 10}, {"u"}, {100}}, {"c", {10, 10}, {"a", "v"}, {8}}};
  EXPECT_EQ(Place(&PlaceMEtf, *MakeTestProblem(spec)), OnDevices({0, 1}));
}

// A chain of four ops with a parameter of 4,194,304 B and a result of 524,288 B each. A one-device
// run peaks when the second op starts: both first results are alive. So d = 4,718,592 twice and
// 4,194,304 twice, their sum 17,825,792, cap = 8,912,896 + 4,718,592 = 13,631,488: exactly the
// first three.
TEST(MTopo, FillsUpToTheCap) {
  TestSpec spec;
  spec.capacity = {1 << 30, 1 << 30};
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    spec.inputs.push_back({"w" + n, 4194304});
    TestOp op{"op" + n, {10, 10}, {"w" + n}, {524288}};
    if (i > 0) op.reads.push_back("op" + std::to_string(i - 1));
    spec.ops.push_back(op);
  }
  EXPECT_EQ(Place(&PlaceMTopo, *MakeTestProblem(spec)), OnDevices({0, 0, 0, 1}));
}

// The worked example of Topcuoglu et al. 2002 (fig. 2 and 3, table 2), all figures times three so
// that mean times are whole: 10 tasks, 3 processors, schedule length 80. Every edge is a tensor of
// its own; 1 GB/s makes a byte a nanosecond.
TEST(Heft, WorkedExampleOfThePaper) {
  const int64_t time[10][3] = {{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17},  {12, 13, 10},
                               {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16}};
  const int64_t edges[15][3] = {{1, 2, 18}, {1, 3, 12}, {1, 4, 9},   {1, 5, 11},  {1, 6, 14},
                                {2, 8, 19}, {2, 9, 16}, {3, 7, 23},  {4, 8, 27},  {4, 9, 23},
                                {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  for (int t = 1; t <= 10; ++t) {
    TestOp op{"t" + std::to_string(t), {}, {}, {}};
    for (int64_t x : time[t - 1]) op.time_ns.push_back(3 * x);
    for (const auto& edge : edges) {
      if (edge[0] == t) op.output_bytes.push_back(3 * edge[2]);
      if (edge[1] != t) continue;
      int index = 0;  // of the edge among the outputs of its source
      for (const auto& other : edges) {
        if (&other == &edge) break;
        index += other[0] == edge[0];
      }
      const std::string source = "t" + std::to_string(edge[0]);
      op.reads.push_back(index == 0 ? source : source + ":" + std::to_string(index));
    }
    spec.ops.push_back(op);
  }
  const auto test = MakeTestProblem(spec);
  const OpGraph graph = BuildOpGraph(test->problem);
  // 108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333 and 14.667 times three.
  EXPECT_EQ(UpwardRanks(test->problem, graph, FindCandidateDevices(test->problem, graph)).raw(),
            (std::vector<int64_t>{324, 231, 240, 240, 207, 190, 128, 107, 133, 44}));
  // Tasks 2 and 8 on P1; 4, 6, 9 and 10 on P2; 1, 3, 5 and 7 on P3.
  EXPECT_EQ(Place(&PlaceHeft, *test), OnDevices({2, 0, 2, 1, 2, 1, 2, 0, 1, 1}));
}

// Modules of 10, 10, 10 and 30 ns on two devices: cutting after the third gives 30 and 30. The
// backward op of module l.1 follows it.
TEST(Layered, BalancesContiguousModules) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  const int64_t time[4] = {10, 6, 10, 30};
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    TestOp op{"op" + n, {time[i], time[i]}, {}, {64}, "", Phase::kForward, "l." + n};
    if (i > 0) op.reads.push_back("op" + std::to_string(i - 1));
    spec.ops.push_back(op);
  }
  spec.ops.push_back({"back", {4, 4}, {"op3", "op1"}, {64}, "", Phase::kBackward, "l.1"});
  EXPECT_EQ(Place(&PlaceLayered, *MakeTestProblem(spec)), OnDevices({0, 0, 0, 1, 0}));
}

// Parameters of 4,096 B do not share a device of 6,144 B, however unequal the times.
TEST(Layered, RespectsMemory) {
  TestSpec spec;
  spec.capacity = {6144, 6144};
  spec.inputs = {{"u", 4096}, {"v", 4096}};
  spec.ops = {{"a", {1, 1}, {"u"}, {64}, "", Phase::kForward, "l.0"},
              {"b", {1, 1}, {"a", "v"}, {64}, "", Phase::kForward, "l.1"},
              {"c", {90, 90}, {"b"}, {64}, "", Phase::kForward, "l.2"},
              {"d", {1, 1}, {"c"}, {64}, "", Phase::kForward, "l.3"}};
  EXPECT_EQ(Place(&PlaceLayered, *MakeTestProblem(spec)), OnDevices({0, 1, 1, 1}));
}

// d1 runs all in 2 * 5, d0 in 2 * 9, and d2 is d1's equal: the order is d1, d0.
TEST(Single, TakesDevicesInOrderOfSpeed) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  spec.ops = {{"a", {9, 5, 5}, {}, {64}}, {"b", {9, 5, 5}, {"a"}, {64}}};
  const auto test = MakeTestProblem(spec);
  EXPECT_EQ(Place(&PlaceSingle, *test, 0), OnDevices({1, 1}));
  EXPECT_EQ(Place(&PlaceSingle, *test, 1), OnDevices({0, 0}));
  EXPECT_EQ(Place(&PlaceSingle, *test, 2), OnDevices({0, 0}));
}

// d2 is ten times slower: no accelerator. The third op may not run on d0, so the turn passes to d1
// and the fourth starts again with d0.
TEST(RoundRobin, DealsToAcceleratorsInTurn) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20, 1 << 20};
  for (int i = 0; i < 4; ++i) {
    TestOp op{"op" + std::to_string(i), {5, 5, 50}, {}, {64}};
    if (i > 0) op.reads.push_back("op" + std::to_string(i - 1));
    spec.ops.push_back(op);
  }
  spec.ops[2].time_ns[0] = -1;
  EXPECT_EQ(Place(&PlaceRoundRobin, *MakeTestProblem(spec)), OnDevices({0, 1, 1, 0}));
}

TEST(RandomPlanner, FollowsItsSeed) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  for (int i = 0; i < 20; ++i) spec.ops.push_back({"op" + std::to_string(i), {5, 5}, {}, {64}});
  const auto test = MakeTestProblem(spec);
  std::set<std::vector<DeviceId>> seen;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const std::vector<DeviceId> devices = Place(&PlaceRandom, *test, 0, seed).raw();
    EXPECT_EQ(devices, Place(&PlaceRandom, *test, 0, seed).raw());
    seen.insert(devices);
  }
  EXPECT_EQ(seen.size(), 8u);
}

// b may not run on d0. A failure is no partition, and is said once however many attempts there are.
TEST(Partition, AFailureIsSaidAloud) {
  TestSpec spec;
  spec.capacity = {512, 512};
  spec.ops = {{"a", {10, 10}, {}, {1000}}, {"b", {-1, 10}, {}, {1000}}};
  const auto test = MakeTestProblem(spec);
  const Result<std::vector<int32_t>> failure =
      MakeError(ErrorCode::kInternal, "METIS ended with status -3 on a graph of 2 nodes");
  const PlaceFunction place = [&](const PlacerInput& input) {
    return PlacePartition(input, "metis", failure);
  };
  EXPECT_EQ(Place(place, *test), OnDevices({0, 1}));
  const auto planned = PlanInAttempts("metis", place, 5, test->problem, *test->evaluator, {});
  ASSERT_TRUE(planned.ok());
  EXPECT_THAT(planned.value().notes,
              testing::ElementsAre("metis: no partition was made (METIS ended with status -3 on a "
                                   "graph of 2 nodes); all went to the first accelerator"));
}

// Whatever the devices' speed; METIS alone looks at it.
TEST(Partition, ModelParallelPartsAreAlikeInTime) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  for (int i = 0; i < 16; ++i) spec.ops.push_back({"op" + std::to_string(i), {10, 30}, {}, {8}});
  const auto test = MakeTestProblem(spec);
  const auto on_first = [&](const Planner& planner) {
    const StepPlan plan = planner.Plan(test->problem, *test->evaluator, {}).Take().plan;
    int64_t ops = 0;
    for (const OpId op : test->graph.ops())
      ops += PlacementOf(test->problem, plan)[op].value() == 0;
    return ops;
  };
  EXPECT_EQ(on_first(ModelParallelPlanner()), 8);
  EXPECT_EQ(on_first(MetisPlanner(1)), 12);
}

}  // namespace
}  // namespace placewright
