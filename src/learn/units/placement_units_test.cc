#include "learn/units/placement_units.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "learn/features/vocabulary.h"
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
  units.candidates = {{DeviceId(0), DeviceId(2)}, {DeviceId(1)}};
  const at::Tensor allowed = ForbiddenDevices(units, 3) == 0;
  EXPECT_TRUE(at::equal(allowed, at::tensor({1, 0, 1, 0, 1, 0}, at::kLong).view({2, 3}) == 1));
}

}  // namespace
}  // namespace placewright
