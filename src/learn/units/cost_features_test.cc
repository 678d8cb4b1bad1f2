#include "learn/units/cost_features.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "learn/units/constructive_plans.h"
#include "learn/units/plan_features.h"
#include "search/evaluation/group_placement.h"
#include "search/test_problems.h"

namespace placewright {
namespace {

struct Described {
  explicit Described(const TestSpec& spec)
      : test(MakeTestProblem(spec)),
        graph(BuildOpGraph(test->problem)),
        candidates(FindCandidateDevices(test->problem, graph)),
        groups(DescribeGroups(test->problem, graph)),
        units(UnitsOfGroups(test->problem, graph, candidates)) {}

  at::Tensor Features() const {
    return CostFeatures(test->problem, graph, candidates, groups, units);
  }

  std::unique_ptr<TestProblem> test;
  OpGraph graph;
  CandidateDevices candidates;
  GroupInfos groups;
  PlacementUnits units;
};

// A chain of three ops of 10, 20 and 10 ns with another of 10 ns beside the second, on two devices.
TestSpec Diamond(int64_t scale) {
  TestSpec spec;
  spec.capacity = {1 << 20, 1 << 20};
  spec.bandwidth = 1'000'000'000 / scale;
  spec.ops = {{"a", {10 * scale, 10 * scale}, {}, {100}},
              {"b", {20 * scale, 20 * scale}, {"a"}, {100}},
              {"c", {10 * scale, 10 * scale}, {"a"}, {100}},
              {"d", {10 * scale, 10 * scale}, {"b", "c"}, {100}}};
  return spec;
}

TEST(EdgeTimes, ByHand) {
  const Described f(Diamond(1));
  const std::vector<UnitEdge> edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  ASSERT_EQ(f.units.edges, edges);
  const int64_t latency = f.test->problem.cluster->route(DeviceId(0), DeviceId(1)).latency.count;
  EXPECT_EQ(EdgeTimes(f.test->problem, f.graph, f.candidates, f.units),
            std::vector<double>(4, static_cast<double>(latency + 100)));
}

TEST(CostFeatures, ByHand) {
  const Described f(Diamond(1));
  const at::Tensor features = f.Features();
  ASSERT_EQ(features.size(0), 4);
  ASSERT_EQ(features.size(1), kCostFeatures);
  const auto at = [&](int64_t unit, int64_t feature) {
    return features[unit][feature].item<double>();
  };
  // Of 50 ns; 400 bytes are read, those of a twice.
  EXPECT_NEAR(at(0, 0), std::log1p(4 * 10.0 / 50), 1e-6);
  EXPECT_NEAR(at(1, 0), std::log1p(4 * 20.0 / 50), 1e-6);
  EXPECT_EQ(at(0, 1), 0);
  EXPECT_NEAR(at(0, 3), std::log1p(4 * 200.0 / 400), 1e-6);
  EXPECT_EQ(at(3, 3), 0);
  EXPECT_NEAR(at(0, 4), std::log1p(200.0 / 10), 1e-2);
  EXPECT_EQ(at(0, 5), 1);
  // The longest path is a, b, d: 40 ns. c has 10 ns of slack.
  const double begins[] = {0, 0.25, 0.25, 0.75}, rests[] = {1, 0.75, 0.5, 0.25};
  for (int64_t unit = 0; unit < 4; ++unit) {
    EXPECT_NEAR(at(unit, 6), begins[unit], 1e-6);
    EXPECT_NEAR(at(unit, 7), rests[unit], 1e-6);
    EXPECT_NEAR(at(unit, 8), std::min(begins[unit], rests[unit]), 1e-6);
    EXPECT_NEAR(at(unit, 9), unit == 2 ? 0.25 : 0, 1e-6);
  }
  EXPECT_NEAR(at(3, 10), 0.8, 1e-6);  // 40 of 50 ns before it
  EXPECT_NEAR(at(3, 11), std::sin(3.14159265 * 0.8), 1e-6);
  EXPECT_NEAR(at(0, kCostFeatures - 1), 0.5, 1e-6);
}

TEST(CostFeatures, HaveNoUnits) {
  const Described one(Diamond(1)), slow(Diamond(1000));
  EXPECT_TRUE(at::allclose(one.Features(), slow.Features(), 1e-3, 1e-2));
}

// All plans one.
at::Tensor SaidOf(const Described& f, const std::vector<int32_t>& devices) {
  FollowablePlans plans;
  plans.fill(OnDevices(devices));
  return PlanFeatures(f.test->problem, f.graph, f.candidates, f.groups, plans)[0];
}

// a and c on the first device, b and d on the second: a's result goes to b and c's to d, each in 100 ns.
TEST(PlanFeatures, ByHand) {
  const Described f(Diamond(1));
  const at::Tensor said = SaidOf(f, {0, 1, 0, 1});
  const auto at = [&](int64_t feature) { return said[feature].item<double>(); };
  EXPECT_NEAR(at(0), std::log(30.0 / 50), 1e-5);
  EXPECT_NEAR(at(1), std::log(140.0 / 50), 1e-5);  // a, the transfer, b, d
  EXPECT_NEAR(at(2), std::log1p(200.0 / 50), 1e-5);
  EXPECT_NEAR(at(3), std::log1p(200.0 / 50), 1e-5);  // all from the first device
  // The path has 140 ns. On the first device a stands around 5 ns and c around 15, on the second b around
  // 120 and d around 135: four of 64 windows, of 2.19 ns each, last as long as an op.
  EXPECT_NEAR(at(4), std::log((60 * 140.0 / 64 + 50) / 50), 1e-5);
  EXPECT_EQ(at(5), 0);
  // On one device nothing moves.
  const at::Tensor single = SaidOf(f, {1, 1, 1, 1});
  EXPECT_EQ(single[0].item<double>(), 0);
  EXPECT_NEAR(single[1].item<double>(), std::log(40.0 / 50), 1e-5);
  EXPECT_EQ(single[2].item<double>(), 0);
}

TEST(PlanFeatures, SayWhatDoesNotFit) {
  TestSpec spec = Diamond(1);
  spec.capacity = {1 << 14, 1 << 20};
  spec.inputs = {{"weights", 1 << 15}};
  spec.ops[1].reads.emplace_back("weights");
  const Described f(spec);
  ASSERT_EQ(f.groups.size(), 4U);
  const double over = SaidOf(f, {0, 0, 0, 0})[5].item<double>();
  EXPECT_GE(over, std::log(2.0) - 1e-5);
  EXPECT_LT(over, std::log(2.2));  // 400 bytes of results, in granules
  EXPECT_EQ(SaidOf(f, {0, 1, 1, 1})[5].item<double>(), 0);
}

TEST(DeviceFeatures, SayWhatDevicesAre) {
  TestSpec spec = Diamond(1);
  spec.capacity = {1 << 20, 1 << 19, 1 << 20};
  spec.cpus = 1;
  for (TestOp& op : spec.ops) op.time_ns = {10, 20, 1000};
  const Described f(spec);
  const at::Tensor features = DeviceFeatures(f.test->problem, f.candidates);
  ASSERT_EQ(features.size(0), 3);
  const auto at = [&](int64_t device, int64_t feature) {
    return features[device][feature].item<double>();
  };
  EXPECT_EQ(at(0, 0), 1);
  EXPECT_EQ(at(2, 0), 0);
  EXPECT_NEAR(at(1, 1), 0.5, 1e-6);
  EXPECT_NEAR(at(2, 1), 0.01, 1e-6);
  EXPECT_LT(at(1, 2), 0.6);
  EXPECT_NEAR(at(0, 3) + at(1, 3), 1, 1e-6);  // at a quarter and at three quarters
  EXPECT_EQ(at(2, 3), 0);
  EXPECT_EQ(at(1, kDeviceFeatureCount - 1), 0.5);
}

TEST(ConstructivePlans, AreSharesOfUnits) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Described f(RandomSpec(seed));
    const auto plans = ConstructivePlansOf(f.test->problem, f.graph, f.candidates, f.groups);
    const at::Tensor of_groups = PlansAsFeatures(f.test->problem, f.units, plans);
    for (int64_t unit = 0; unit < f.units.size(); ++unit) {
      const ColocationGroupId group = f.units.groups[static_cast<size_t>(unit)].front();
      for (int64_t plan = 0; plan < kConstructivePlans; ++plan) {
        const DeviceId device = plans[static_cast<size_t>(plan)][group];
        EXPECT_EQ(of_groups[unit][device.value()][plan].item<float>(), 1);
      }
    }
    EXPECT_NEAR(of_groups.sum().item<double>(),
                static_cast<double>(f.units.size() * kConstructivePlans), 1e-3);
    // All as one unit: the shares of the ops.
    const PlacementUnits joined =
        JoinUnits(f.units, std::vector<int32_t>(f.units.groups.size(), 0));
    const at::Tensor of_all = PlansAsFeatures(f.test->problem, joined, plans);
    EXPECT_TRUE(at::allclose(of_all.sum(1), at::ones({1, kConstructivePlans})));
  }
}

}  // namespace
}  // namespace placewright
