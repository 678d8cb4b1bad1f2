#include "search/local/memory_repair.h"

#include <gtest/gtest.h>

#include "search/evaluation/group_placement.h"
#include "search/problem/op_graph.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

struct Fixture {
  explicit Fixture(const TestSpec& spec)
      : test(MakeTestProblem(spec)),
        graph(BuildOpGraph(test->problem)),
        candidates(FindCandidateDevices(test->problem, graph)),
        groups(DescribeGroups(test->problem, graph)) {}

  MemoryRepair Repair(const GroupPlacement& wanted) const {
    return RepairMemory(test->problem, candidates, groups, *test->evaluator, wanted);
  }

  std::unique_ptr<TestProblem> test;
  OpGraph graph;
  CandidateDevices candidates;
  GroupInfos groups;
};

// A chain of eight ops, each with 4 KiB of parameters, on devices of which one holds five.
TestSpec Chain(std::vector<int64_t> capacity, size_t cpus = 0) {
  TestSpec spec;
  spec.capacity = std::move(capacity);
  spec.cpus = cpus;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    spec.inputs.push_back({"w" + n, 4096});
    TestOp op{"op" + n, std::vector<int64_t>(spec.capacity.size(), 10), {"w" + n}, {64}};
    if (i > 0) op.reads.push_back("op" + std::to_string(i - 1));
    spec.ops.push_back(op);
  }
  return spec;
}

TEST(MemoryRepair, LeavesWhatFits) {
  const Fixture f(Chain({24000, 24000}));
  GroupPlacement half = AllOn(0, f.test->problem.groups.size());
  for (const ColocationGroupId group : IdsOf(half)) {
    if (f.groups[f.groups[group].leader].position % 2 == 1) half[group] = DeviceId(1);
  }
  const MemoryRepair repair = f.Repair(half);
  ASSERT_TRUE(repair.evaluation.feasible);
  EXPECT_EQ(repair.moved, 0u);
  EXPECT_EQ(repair.devices, half);
}

// What is moved is one end of the chain: one tensor crosses.
TEST(MemoryRepair, MovesOneEndOfADevicesPart) {
  const Fixture f(Chain({24000, 24000}));
  const MemoryRepair repair = f.Repair(AllOn(0, f.test->problem.groups.size()));
  ASSERT_TRUE(repair.evaluation.feasible);
  EXPECT_GT(repair.moved, 0u);
  int crossings = 0;
  for (const ExecOpId op : f.graph.exec_ops()) {
    for (const OpInput& input : f.graph.Inputs(op)) {
      const ColocationGroupId source = f.graph.SourceOf(input);
      crossings += repair.devices[source] != repair.devices[f.graph.group_of[op]] ? 1 : 0;
    }
  }
  EXPECT_EQ(crossings, 1);
}

TEST(MemoryRepair, TurnsToCpusWhereAcceleratorsAreFull) {
  const Fixture f(Chain({12000, 12000, 1 << 20}, 1));
  const MemoryRepair repair = f.Repair(AllOn(0, f.test->problem.groups.size()));
  EXPECT_TRUE(repair.evaluation.feasible);
}

TEST(MemoryRepair, SaysWhereNothingFits) {
  const Fixture f(Chain({12000, 12000}));
  const GroupPlacement wanted = AllOn(0, f.test->problem.groups.size());
  const MemoryRepair repair = f.Repair(wanted);
  EXPECT_FALSE(repair.evaluation.feasible);
  const Score before =
      f.test->evaluator->EvaluateOne(ExpandGroups(f.test->problem, wanted)).score();
  EXPECT_LT(repair.evaluation.score().over, before.over);
}

TEST(MemoryRepair, RepairsMostOfWhatCanFit) {
  int tight = 0, repaired = 0;
  for (uint64_t seed = 1; seed < 80; seed += 2) {  // odd ones are tight
    const Fixture f(RandomSpec(seed));
    GroupPlacement wanted;
    for (const ColocationGroupId group : f.test->problem.group_ids()) {
      wanted.push_back(f.candidates.any[group].front());
    }
    const Score before =
        f.test->evaluator->EvaluateOne(ExpandGroups(f.test->problem, wanted)).score();
    const MemoryRepair repair = f.Repair(wanted);
    EXPECT_FALSE(before < repair.evaluation.score());
    const std::optional<Score> best = BestOfAll(f.test->problem);
    if (!before.feasible && best && best->feasible) {
      ++tight;
      repaired += repair.evaluation.feasible ? 1 : 0;
    }
    EXPECT_EQ(repair.evaluation.score().step_time,
              f.test->evaluator->EvaluateOne(ExpandGroups(f.test->problem, repair.devices))
                  .score()
                  .step_time);
  }
  EXPECT_GE(tight, 4);
  EXPECT_GE(2 * repaired, tight) << repaired << " of " << tight;
}

}  // namespace
}  // namespace placewright
