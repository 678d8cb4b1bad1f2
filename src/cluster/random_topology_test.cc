#include "cluster/random_topology.h"

#include <gtest/gtest.h>

#include <set>

namespace placewright {
namespace {

Cluster Build(const RandomTopologyOptions& options, uint64_t seed) {
  Result<ClusterBuilder> builder = DrawTopology(options, seed);
  EXPECT_TRUE(builder.ok()) << builder.error().message;
  Result<Cluster> cluster = std::move(builder.value()).Build();
  EXPECT_TRUE(cluster.ok()) << cluster.error().message;
  return std::move(cluster.value());
}

TEST(RandomTopology, AllDrawsAreWithinTheirRangesAndTheRangesAreUsed) {
  std::set<int32_t> machine_counts;
  std::set<size_t> gpu_counts;
  std::set<std::string> kinds;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Cluster cluster = Build({}, seed);
    int32_t machines = 0;
    for (const DeviceId a : cluster.devices()) {
      machines = std::max(machines, cluster.device(a).host + 1);
      for (const DeviceId b : cluster.devices()) {
        if (a == b) continue;
        const bool inside = cluster.device(a).host == cluster.device(b).host;
        // 64 Gb/s = 8 GB/s, 160 Gb/s = 20 GB/s; 20 Gb/s = 2.5 GB/s, 50 Gb/s = 6.25 GB/s.
        const int64_t bandwidth = cluster.route(a, b).bandwidth.count;
        EXPECT_GE(bandwidth, inside ? 8'000'000'000 : 2'500'000'000);
        EXPECT_LE(bandwidth, inside ? 20'000'000'000 : 6'250'000'000);
      }
    }
    machine_counts.insert(machines);
    for (const DeviceGroup& group : cluster.groups()) {
      if (cluster.kind(group.devices[0]).device_class != DeviceClass::kGpu) continue;
      gpu_counts.insert(group.devices.size());
      kinds.insert(cluster.kind(group.devices[0]).name);
    }
  }
  EXPECT_EQ(machine_counts, (std::set<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(gpu_counts, (std::set<size_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(kinds, (std::set<std::string>{"V100-32GB", "GTX-1080Ti", "P100-12GB"}));
}

// SplitMix64 from state 0 gives 0xe220a8397b1dcdaf first: times 6, its top word is
// floor(6 * 0.8833) = 5, so 6 machines.
TEST(RandomTopology, TheSeedDecidesEverything) {
  const Cluster cluster = Build({}, 0), again = Build({}, 0), other = Build({}, 1);
  EXPECT_EQ(cluster.device(DeviceId(cluster.device_count() - 1)).host, 5);
  ASSERT_EQ(cluster.link_count(), again.link_count());
  for (const LinkId id : cluster.links()) {
    EXPECT_EQ(cluster.link(id).name, again.link(id).name);
    EXPECT_EQ(cluster.link(id).bandwidth, again.link(id).bandwidth);
  }
  EXPECT_NE(cluster.DeviceNames(), other.DeviceNames());
}

TEST(RandomTopology, AFixedRangeIsMet) {
  RandomTopologyOptions options;
  options.machines = {2, 2};
  options.gpus = {3, 3};
  options.kinds = {"a100-40"};
  const Cluster cluster = Build(options, 7);
  EXPECT_EQ(cluster.device_count(), 8u);  // 2 * (3 GPUs + 1 CPU)
  EXPECT_EQ(cluster.kind(DeviceId(0)).name, "A100-40GB");
}

TEST(RandomTopology, WhatCannotBeDrawnIsRefused) {
  const auto code = [](const RandomTopologyOptions& options) {
    const Result<ClusterBuilder> builder = DrawTopology(options, 0);
    return builder.ok() ? ErrorCode::kInternal : builder.error().code;
  };
  RandomTopologyOptions options;
  options.machines = {0, 3};
  EXPECT_EQ(code(options), ErrorCode::kUsage);
  options.machines = {4, 3};
  EXPECT_EQ(code(options), ErrorCode::kUsage);
  options.machines = {1, 256};  // 256 * 9 devices
  EXPECT_EQ(code(options), ErrorCode::kUsage);
  options = {};
  options.kinds = {};
  EXPECT_EQ(code(options), ErrorCode::kUsage);
  options.kinds = {"V100-16GB", "Voodoo2"};
  EXPECT_EQ(code(options), ErrorCode::kUnknownName);
  options.kinds = {"EPYC-7742"};
  EXPECT_EQ(code(options), ErrorCode::kField);
}

}  // namespace
}  // namespace placewright
