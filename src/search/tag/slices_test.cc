#include "search/tag/slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "cluster/machine_presets.h"
#include "cluster/random_topology.h"
#include "search/evaluation/simulated.h"
#include "search/layouts/test_tiny_steps.h"
#include "search/tag/strategies.h"

namespace placewright {
namespace {

Cluster PresetCluster(std::string_view name) {
  return std::move(DescribePreset(name).Take()).Build().Take();
}

// On every device as much.
DeviceTimes EqualTimes(const Cluster& cluster) {
  DeviceTimes times;
  times.split = IdVector<DeviceId, double>(cluster.device_count(), 100);
  times.whole = IdVector<DeviceId, double>(cluster.device_count(), 0);
  times.whole_forward_backward = times.whole;
  times.usable = IdVector<DeviceId, bool>(cluster.device_count(), true);
  return times;
}

std::vector<DeviceId> AllGpus(const Cluster& cluster) {
  std::vector<DeviceId> gpus;
  for (const DeviceId device : cluster.devices()) {
    if (cluster.kind(device).device_class == DeviceClass::kGpu) gpus.push_back(device);
  }
  return gpus;
}

// TAG's testbed has seven machines, each with one group of two or four GPUs: 2^7 - 1 sets of at least two devices. With
// equal speeds there are no shares by speed, so each set has even shares, servers, copies and model parallelism, and each
// group its first device alone.
TEST(Slices, AreAllSetsTimesOptionsOfSevenGroups) {
  const Cluster cluster = PresetCluster("tag-testbed");
  const auto groups = UsableGroups(cluster.groups(), AllGpus(cluster));
  ASSERT_EQ(groups.size(), 7u);
  const DeviceTimes times = EqualTimes(cluster);
  EXPECT_EQ(MakeSlices(cluster, groups, times, 96, {}).size(), 127u * 4 + 7);
  SliceOptions as_in_code;
  as_in_code.copies = false;
  EXPECT_EQ(MakeSlices(cluster, groups, times, 96, as_in_code).size(), 127u * 3 + 7);
  const std::vector<Slice> slices = MakeSlices(cluster, groups, times, 96, {});
  EXPECT_EQ(slices.front().devices.size(), 16u);  // data parallelism over all is the first
  EXPECT_EQ(slices.front().option, SliceOption::kEven);
  // The 16 devices have 96 / 16 samples each.
  EXPECT_EQ(slices.front().shares, std::vector<int64_t>(16, 6));
}

// mixed-lab: a V100, two GTX 1080Ti, a T4 on three machines. Sets of one device ({V100}, {T4}) have one way to be used;
// the other five of the seven have six, as their shares by speed differ from even ones where kinds do.
TEST(Slices, OfOneDeviceAreOne) {
  const Cluster cluster = PresetCluster("mixed-lab");
  const auto groups = UsableGroups(cluster.groups(), AllGpus(cluster));
  ASSERT_EQ(groups.size(), 3u);
  DeviceTimes times = EqualTimes(cluster);
  for (const DeviceId device : groups[1]) times.split[device] = 300;
  times.split[groups[2].front()] = 200;
  const std::vector<Slice> slices = MakeSlices(cluster, groups, times, 64, {});
  EXPECT_EQ(slices.size(), 2u * 1 + 1u * (4 + 1) + 4u * 6);
  // V100 and two GTX 1080Ti, 1 : 1/3 : 1/3 of 64 samples: 38.4, 12.8, 12.8.
  const auto by_speed = std::find_if(slices.begin(), slices.end(), [](const Slice& slice) {
    return slice.option == SliceOption::kBySpeed && slice.groups == std::vector<int32_t>{0, 1};
  });
  ASSERT_NE(by_speed, slices.end());
  EXPECT_EQ(by_speed->shares, (std::vector<int64_t>{38, 13, 13}));
  // Of two samples the V100 has one and the T4, the next fastest, the other; each pair of devices is there once.
  const std::vector<Slice> of_two = MakeSlices(cluster, groups, times, 2, {});
  EXPECT_EQ(of_two.front().devices, (std::vector<DeviceId>{groups[0][0], groups[2][0]}));
  std::set<std::vector<DeviceId>> pairs;
  for (const Slice& slice : of_two) {
    if (slice.option != SliceOption::kEven) continue;
    EXPECT_EQ(slice.shares, (std::vector<int64_t>{1, 1}));
    EXPECT_TRUE(pairs.insert(slice.devices).second);
  }
}

// Two samples on four P100 of which costs make the first slower.
TEST(Slices, HaveSomeDevicesOfAGroup) {
  const Cluster cluster = PresetCluster("4xP100");
  const auto groups = UsableGroups(cluster.groups(), AllGpus(cluster));
  DeviceTimes times = EqualTimes(cluster);
  times.split[groups[0].front()] = 300;  // the first of four
  const std::vector<Slice> slices = MakeSlices(cluster, groups, times, 2, {});
  EXPECT_EQ(slices.front().devices, (std::vector<DeviceId>{groups[0][1], groups[0][2]}));
  EXPECT_EQ(slices.front().groups, (std::vector<int32_t>{0}));
}

TEST(Slices, OfManyGroupsAreFew) {
  const Cluster cluster = PresetCluster("tag-testbed");
  // Every GPU by itself: sixteen groups.
  std::vector<std::vector<DeviceId>> groups;
  for (const DeviceId device : AllGpus(cluster)) groups.push_back({device});
  ASSERT_EQ(groups.size(), 16u);
  const DeviceTimes times = EqualTimes(cluster);
  const auto sets = SetsOfGroups(cluster, groups, times, {});
  EXPECT_LE(sets.size(), 256u);
  EXPECT_EQ(sets.front().size(), 16u);
  const std::set<std::vector<int32_t>> found(sets.begin(), sets.end());
  EXPECT_EQ(found.size(), sets.size());
  for (int32_t group = 0; group < 16; ++group) EXPECT_TRUE(found.contains({group}));
  EXPECT_TRUE(found.contains({0, 1, 2, 3}));  // a machine, and all of a kind
  EXPECT_TRUE(found.contains({4, 5}));        // a machine
  SliceOptions few;
  few.most_subsets = 20;
  EXPECT_EQ(SetsOfGroups(cluster, groups, times, few).size(), 20u);
}

// On random machines with up to seven groups, the best strategy of one slice for the whole step, by simulation, over
// every set of groups and over the sets that there would be with more of them. PLACEWRIGHT_DRAWN_PROBLEMS: on how many.
TEST(Slices, OfFewSetsHoldTheBestOne) {
  const char* const stated = std::getenv("PLACEWRIGHT_DRAWN_PROBLEMS");
  const int wanted = stated == nullptr ? 30 : std::atoi(stated);
  int problems = 0, held = 0, with_many = 0;
  for (uint64_t seed = 0; problems < wanted; ++seed) {
    Cluster cluster = std::move(DrawTopology({}, seed).Take()).Build().Take();
    const size_t groups = UsableGroups(cluster.groups(), AllGpus(cluster)).size();
    if (groups < 2 || groups > 7) continue;
    Random random(seed);
    const LayeredProblem tiny(TinyStep(random, 3, false, {256, 256}), std::move(cluster));
    const std::unique_ptr<Evaluator> evaluator = MakeSimulatedEvaluator(tiny.problem);
    const auto best_of = [&](size_t all_subsets) {
      LayoutBook book;
      SliceOptions options;
      options.all_subsets = all_subsets;
      const auto strategies = Strategies::Make(tiny.problem, book, options).Take();
      std::vector<StepPlan> plans;
      for (size_t slice = 0; slice < strategies->slices().size(); ++slice) {
        const auto number = static_cast<int32_t>(slice);
        const auto slices = strategies->SlicesOf(std::span(&number, 1));
        plans.push_back(PlanOf(book, strategies->StateOf(slices).Take()));
      }
      Score best;
      for (const auto& evaluation : evaluator->EvaluatePlans(plans)) {
        if (evaluation.ok()) best = std::min(best, evaluation.value().score());
      }
      return best;
    };
    const Score of_all = best_of(7), of_few = best_of(0);
    EXPECT_FALSE(of_few < of_all) << seed;
    held += of_all < of_few ? 0 : 1;
    with_many += groups > 3 ? 1 : 0;
    ++problems;
  }
  EXPECT_GE(10 * held, 9 * wanted);
  EXPECT_GT(5 * with_many, wanted);
}

}  // namespace
}  // namespace placewright
