#include "cluster/cluster_changes.h"

#include <gmock/gmock.h>

#include "cluster/machine_presets.h"

namespace placewright {
namespace {

ClusterBuilder Described(std::string_view preset) { return DescribePreset(preset).Take(); }

Cluster Changed(std::string_view preset, const ClusterChange& change) {
  return ChangeCluster(Described(preset), change).Take().Build().Take();
}

Cluster Built(std::string_view preset) { return Described(preset).Build().Take(); }

const Route& RouteBetween(const Cluster& cluster, std::string_view from, std::string_view to) {
  return cluster.route(cluster.FindDevice(from), cluster.FindDevice(to));
}

TEST(ClusterChanges, WithoutAChangeTheClusterIsTheSame) {
  for (const char* const preset : {"4x 8xH100", "2x4090", "tag-testbed", "dgx-1"}) {
    const Cluster before = Built(preset), after = Changed(preset, {});
    ASSERT_EQ(after.DeviceNames(), before.DeviceNames()) << preset;
    ASSERT_EQ(after.link_count(), before.link_count());
    for (const DeviceId from : before.devices()) {
      EXPECT_EQ(after.device(from).capacity, before.device(from).capacity);
      for (const DeviceId to : before.devices()) {
        if (from == to) continue;
        EXPECT_EQ(after.route(from, to).links, before.route(from, to).links) << preset;
        EXPECT_EQ(after.route(from, to).latency, before.route(from, to).latency);
      }
    }
  }
}

// tag-testbed: NICs of 100 Gb/s, 12.5 GB/s, are the narrowest of every route between hosts; inside nothing changes.
TEST(ClusterChanges, TwiceTheNetworkIsTwiceBetweenHostsAlone) {
  const Cluster before = Built("mixed-lab"), after = Changed("mixed-lab", {.network_factor = 2});
  EXPECT_TRUE(HasNetwork(before));
  const Route& across = RouteBetween(before, "host0/gpu0", "host1/gpu0");
  EXPECT_EQ(across.bandwidth, BytesPerSecond(1'250'000'000));  // 10 Gb/s
  EXPECT_EQ(RouteBetween(after, "host0/gpu0", "host1/gpu0").bandwidth,
            BytesPerSecond(2'500'000'000));
  EXPECT_EQ(RouteBetween(after, "host1/gpu0", "host1/gpu1").bandwidth,
            RouteBetween(before, "host1/gpu0", "host1/gpu1").bandwidth);
  EXPECT_FALSE(HasNetwork(Built("2x4090")));
}

TEST(ClusterChanges, MoreMemoryIsOfGpus) {
  const Cluster before = Built("2x4090"),
                after = Changed("2x4090", {.more_memory = Bytes(int64_t{16} << 30)});
  const auto more = [&](std::string_view name) {
    return (after.device(after.FindDevice(name)).capacity -
            before.device(before.FindDevice(name)).capacity)
        .count;
  };
  EXPECT_EQ(more("host0/gpu1"), int64_t{16} << 30);
  EXPECT_EQ(more("host0/cpu0"), 0);
}

TEST(ClusterChanges, ADeviceIsLeftOutWithItsLinks) {
  const Cluster after = Changed("dgx-1", {.without = {"host0/gpu3"}});
  EXPECT_FALSE(after.FindDevice("host0/gpu3").valid());
  EXPECT_TRUE(after.FindDevice("host0/gpu4").valid());
  EXPECT_FALSE(after.FindLink("host0/gpu2>host0/gpu3").valid());
  EXPECT_TRUE(after.Connected(after.FindDevice("host0/gpu2"), after.FindDevice("host0/gpu4")));
  const auto unknown = ChangeCluster(Described("dgx-1"), {.without = {"host0/gpu9"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownName);
}

// RTX 3090 are bridged in pairs, RTX 4090 have no NVLink, H100 of a board have theirs already.
TEST(ClusterChanges, NvlinkIsForKindsThatCanHaveIt) {
  EXPECT_FALSE(CanHaveNvlink(Described("2x4090")));
  EXPECT_FALSE(CanHaveNvlink(Described("8xH100")));
  EXPECT_FALSE(CanHaveNvlink(Described("dgx-1")));
  ASSERT_TRUE(CanHaveNvlink(Described("4x3090")));
  const Cluster before = Built("4x3090"), after = Changed("4x3090", {.nvlink = true});
  EXPECT_GT(RouteBetween(after, "host0/gpu0", "host0/gpu1").bandwidth,
            RouteBetween(before, "host0/gpu0", "host0/gpu1").bandwidth);
  EXPECT_EQ(RouteBetween(after, "host0/gpu1", "host0/gpu2").bandwidth,
            RouteBetween(before, "host0/gpu1", "host0/gpu2").bandwidth);
}

TEST(ClusterChanges, PeerToPeerGoesPastHostMemory) {
  EXPECT_TRUE(LacksPeerToPeer(Described("2x4090")));
  EXPECT_FALSE(LacksPeerToPeer(Described("8xH100")));
  EXPECT_TRUE(RouteBetween(Built("2x4090"), "host0/gpu0", "host0/gpu1").through_host);
  EXPECT_FALSE(RouteBetween(Changed("2x4090", {.peer_to_peer = true}), "host0/gpu0", "host0/gpu1")
                   .through_host);
}

}  // namespace
}  // namespace placewright
