#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "learn/features/vocabulary.h"
#include "learn/units/unit_tensors.h"
#include "search/problem/group_info.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

using testing::ElementsAre;

struct Fixture {
  explicit Fixture(uint64_t seed)
      : test(MakeTestProblem(RandomSpec(seed))),
        graph(BuildOpGraph(test->problem)),
        candidates(FindCandidateDevices(test->problem, graph)),
        units(UnitsOfGroups(test->problem, graph, candidates)) {}

  std::unique_ptr<TestProblem> test;
  OpGraph graph;
  CandidateDevices candidates;
  PlacementUnits units;
};

TEST(PlacementUnits, EveryGroupIsAUnitInTopologicalOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Fixture f(seed);
    ASSERT_EQ(f.units.groups.size(), f.test->problem.groups.size());
    std::vector<char> seen(f.units.groups.size(), 0);
    const GroupInfos infos = DescribeGroups(f.test->problem, f.graph);
    int32_t position = -1;
    for (const auto& groups : f.units.groups) {
      ASSERT_EQ(groups.size(), 1u);
      seen[groups[0].index()] = 1;
      EXPECT_GE(infos[groups[0]].position, position);
      position = infos[groups[0]].position;
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
    for (const auto& [from, to] : f.units.edges) EXPECT_NE(from, to);
  }
}

TEST(PlacementUnits, JoinedUnitsPlaceAllTheirGroups) {
  const Fixture f(3);
  std::vector<int32_t> part_of;
  for (size_t i = 0; i < f.units.groups.size(); ++i) part_of.push_back(i % 2 == 0 ? 5 : 2);
  const PlacementUnits joined = JoinUnits(f.units, part_of);
  ASSERT_EQ(joined.size(), 2);  // part 5 first, that of unit 0
  EXPECT_EQ(joined.groups[0].front(), f.units.groups[0].front());
  const std::vector<DeviceId> devices = {joined.candidates[0].back(), joined.candidates[1].front()};
  const GroupPlacement placement = PlaceUnits(joined, f.candidates, devices);
  for (size_t unit = 0; unit < 2; ++unit) {
    for (ColocationGroupId group : joined.groups[unit]) {
      const auto& allowed = f.candidates.any[group];
      const bool may = std::find(allowed.begin(), allowed.end(), devices[unit]) != allowed.end();
      EXPECT_EQ(placement[group], may ? devices[unit] : allowed.front());
    }
  }
  for (const auto& [from, to] : joined.edges) EXPECT_NE(from, to);
}

TEST(PlacementUnits, AnyOrderHasEveryUnitOnce) {
  for (const TraversalOrder order : AllTraversalOrders()) {
    const Fixture f(2);
    const PlacementUnits units = UnitsOfGroups(f.test->problem, f.graph, f.candidates, order);
    std::vector<ColocationGroupId> seen;
    for (const auto& groups : units.groups) seen.insert(seen.end(), groups.begin(), groups.end());
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_EQ(seen.size(), f.test->problem.groups.size());
    EXPECT_EQ(units.edges.size(), f.units.edges.size());
  }
  const Fixture f(2);
  const auto reversed =
      UnitsOfGroups(f.test->problem, f.graph, f.candidates, TraversalOrder::kReversedTopo);
  EXPECT_NE(reversed.groups, f.units.groups);
}

// Ops of a group may disagree: most of them decide.
TEST(PlacementUnits, OpsVoteOnTheirGroup) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  for (const char* name : {"a", "b", "c"}) spec.ops.push_back({name, {10, 10}, {}, {10}});
  spec.ops[1].reads = {"a"};
  spec.ops[2].reads = {"b"};
  spec.constraints.colocate = {"*"};
  const auto test = MakeTestProblem(spec);
  ASSERT_EQ(test->problem.groups.size(), 1u);
  const OpGraph graph = BuildOpGraph(test->problem);
  const CandidateDevices candidates = FindCandidateDevices(test->problem, graph);
  const PlacementUnits units = UnitsOfOps(test->problem, candidates);
  ASSERT_EQ(units.size(), 3);
  EXPECT_THAT(units.edges, ElementsAre(UnitEdge{0, 1}, UnitEdge{1, 2}));
  const auto place = [&](std::vector<int32_t> devices) {
    return PlaceUnits(units, candidates, DeviceList(devices))[ColocationGroupId(0)];
  };
  EXPECT_EQ(place({0, 1, 1}), DeviceId(1));
  EXPECT_EQ(place({0, 1, 0}), DeviceId(0));
  EXPECT_EQ(FeaturesOfUnits(test->problem, units).size(0), 3);
}

TEST(PlacementUnits, FeaturesAreSharesOfTypes) {
  const Fixture f(1);
  const at::Tensor features = FeaturesOfUnits(f.test->problem, f.units);
  const auto types = static_cast<int64_t>(vocabulary::Size());
  ASSERT_EQ(features.sizes(), (at::IntArrayRef{f.units.size(), types + 8}));
  EXPECT_TRUE(at::allclose(features.narrow(1, 0, types).sum(1), at::ones({f.units.size()})));
}

TEST(PlacementUnits, ForbiddenIsWhatIsNoCandidate) {
  PlacementUnits units;
  units.groups = {{ColocationGroupId(0)}, {ColocationGroupId(1)}};
  units.ops = {{OpId(0)}, {OpId(1)}};
  units.candidates = {{DeviceId(0), DeviceId(2)}, {DeviceId(1)}};
  const at::Tensor allowed = ForbiddenDevices(units, 3) == 0;
  EXPECT_TRUE(at::equal(allowed, at::tensor({1, 0, 1, 0, 1, 0}, at::kLong).view({2, 3}) == 1));
}

}  // namespace
}  // namespace placewright
