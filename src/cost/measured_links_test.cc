#include "cost/measured_links.h"

#include <gtest/gtest.h>

#include "cluster/cluster_builder.h"

namespace placewright {
namespace {

// a and b joined by a link, c behind a switch; c is of another kind.
Cluster ThreeDevices() {
  ClusterBuilder builder("three");
  for (const char* const name : {"core", "other"}) {
    DeviceKind kind;
    kind.name = name;
    kind.device_class = DeviceClass::kCpu;
    kind.cores = 1;
    EXPECT_TRUE(builder.AddKind(kind).ok());
  }
  for (const auto& [name, kind] : {std::pair("a", 0), std::pair("b", 0), std::pair("c", 1)}) {
    Device device;
    device.name = name;
    device.kind = kind;
    device.capacity = Bytes(1 << 20);
    EXPECT_TRUE(builder.AddDevice(device).ok());
  }
  EXPECT_TRUE(builder.AddForwarder("switch").ok());
  for (const auto& [from, to] : {std::pair("a", "b"), std::pair("a", "switch"),
                                 std::pair("b", "switch"), std::pair("c", "switch")}) {
    EXPECT_TRUE(
        builder.Connect(from, to, BytesPerSecond(1000), Nanos(5), Duplex::kFull, "given").ok());
  }
  Result<Cluster> cluster = std::move(builder).Build();
  EXPECT_TRUE(cluster.ok()) << cluster.error().ToString();
  return cluster.Take();
}

MeasuredTransfers Of(const char* from, const char* to, int64_t cores) {
  const MeasuredOn source{from, cores, false, "", ""}, destination{to, cores, false, "", ""};
  // 2 us and 1 GB/s.
  return {source, destination, {{Bytes(1000), Nanos(3000), 5}, {Bytes(8000), Nanos(10'000), 5}}};
}

TEST(MeasuredLinks, DirectLinksOfMeasuredKindsAreSet) {
  Cluster cluster = ThreeDevices();
  const std::vector<LinkId> set =
      SetMeasuredLinks({Of("core", "core", 1), Of("core", "other", 1)}, cluster);
  ASSERT_EQ(set.size(), 2u);
  EXPECT_EQ(cluster.link(set[0]).name, "a>b");
  EXPECT_EQ(cluster.link(set[1]).name, "b>a");
  for (const LinkId link : set) {
    EXPECT_EQ(cluster.link(link).latency, Nanos(2000));
    EXPECT_NEAR(cluster.link(link).bandwidth.count, 1e9, 2);
    EXPECT_EQ(cluster.link(link).source, "measured");
  }
  // The route follows its link; the way over the switch stays as it was.
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(1)).latency, Nanos(2000));
  EXPECT_NEAR(cluster.route(DeviceId(0), DeviceId(1)).bandwidth.count, 1e9, 2);
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(2)).latency, Nanos(10));
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(2)).bandwidth, BytesPerSecond(1000));
}

// One measurement stands for all pairs of its kinds: not where the cluster knows better, nor between hosts.
TEST(MeasuredLinks, WhatIsDescribedDifferentlyStays) {
  Cluster cluster = ThreeDevices();
  cluster.SetLink(cluster.FindLink("b>a"), BytesPerSecond(500), Nanos(5), "given");
  EXPECT_TRUE(SetMeasuredLinks({Of("core", "core", 1)}, cluster).empty());
  EXPECT_EQ(cluster.route(DeviceId(1), DeviceId(0)).bandwidth, BytesPerSecond(500));
  EXPECT_FALSE(cluster.FindLink("a>nowhere").valid());
}

TEST(MeasuredLinks, RoutesOfSeveralLinksFollowToo) {
  Cluster cluster = ThreeDevices();
  cluster.SetLink(cluster.FindLink("a>switch"), BytesPerSecond(100), Nanos(50), "given");
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(2)).latency, Nanos(55));
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(2)).bandwidth, BytesPerSecond(100));
}

TEST(MeasuredLinks, OtherCoresWereNotMeasured) {
  Cluster cluster = ThreeDevices();
  EXPECT_TRUE(SetMeasuredLinks({Of("core", "core", 2)}, cluster).empty());
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(1)).latency, Nanos(5));
}

}  // namespace
}  // namespace placewright
