#include "cost/measured_links.h"

#include <gtest/gtest.h>

#include <string>

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

// Two machines of one device each, each on a switch behind a bus of its own: bus 4 ns and fast, network 10 ns.
Cluster TwoMachines(int64_t second_network = 1000) {
  ClusterBuilder builder("machines");
  DeviceKind kind;
  kind.name = "core";
  kind.device_class = DeviceClass::kCpu;
  kind.cores = 1;
  EXPECT_TRUE(builder.AddKind(kind).ok());
  EXPECT_TRUE(builder.AddForwarder("switch").ok());
  for (const int host : {0, 1}) {
    Device device;
    device.name = host == 0 ? "a" : "b";
    device.host = host;
    device.kind = 0;
    device.capacity = Bytes(1 << 20);
    EXPECT_TRUE(builder.AddDevice(device).ok());
    const std::string bus = device.name + "-bus";
    EXPECT_TRUE(builder.AddForwarder(bus).ok());
    EXPECT_TRUE(
        builder.Connect(device.name, bus, BytesPerSecond(9000), Nanos(4), Duplex::kFull, "given")
            .ok());
    EXPECT_TRUE(builder
                    .Connect(bus, "switch", BytesPerSecond(host == 0 ? 1000 : second_network),
                             Nanos(10), Duplex::kFull, "given")
                    .ok());
  }
  Result<Cluster> cluster = std::move(builder).Build();
  EXPECT_TRUE(cluster.ok()) << cluster.error().ToString();
  return cluster.Take();
}

MeasuredCollectives Network(const char* key) {
  // 2 us and 1,000 B/s: less than the bus has.
  return {"gloo",
          key,
          {{Bytes(1000), Nanos(1'000'002'000), 5}, {Bytes(8000), Nanos(8'000'002'000), 5}}};
}

TEST(MeasuredNetwork, TheNarrowestLinksBetweenMachinesAreSet) {
  Cluster cluster = TwoMachines();
  EXPECT_EQ(MeasuredTransferKey(cluster, DeviceId(1), DeviceId(0)), "transfer 1xcore:1/2");
  const std::vector<LinkId> set =
      SetMeasuredNetwork({Network("transfer 2xcore:1/1"), Network("transfer 1xcore:1/2")}, cluster);
  ASSERT_EQ(set.size(), 4u);  // two full-duplex links
  for (const LinkId link : set) {
    EXPECT_TRUE(cluster.link(link).name.find("switch") != std::string::npos);
    EXPECT_NEAR(cluster.link(link).bandwidth.count, 1000, 2);
    // 2,000 ns less 4 ns of each bus, over two links.
    EXPECT_NEAR(cluster.link(link).latency.count, 996, 1);
  }
  EXPECT_NEAR(cluster.route(DeviceId(0), DeviceId(1)).latency.count, 2000, 2);
}

TEST(MeasuredNetwork, WhatIsNotBetweenMachinesAlikeStays) {
  // The narrowest link of the route is one alone, that of the second machine: it is set.
  Cluster uneven = TwoMachines(/*second_network=*/500);
  EXPECT_EQ(SetMeasuredNetwork({Network("transfer 1xcore:1/2")}, uneven).size(), 2u);
  // Devices of one machine are none of this.
  Cluster one = ThreeDevices();
  EXPECT_TRUE(SetMeasuredNetwork({Network("transfer 2xcore:1/1")}, one).empty());
  // A line needs two sizes.
  Cluster cluster = TwoMachines();
  MeasuredCollectives short_of_sizes = Network("transfer 1xcore:1/2");
  short_of_sizes.sizes.pop_back();
  EXPECT_TRUE(SetMeasuredNetwork({short_of_sizes}, cluster).empty());
  // One way is described otherwise than the other.
  cluster.SetLink(cluster.FindLink("a-bus>switch"), BytesPerSecond(900), Nanos(10), "given");
  EXPECT_TRUE(SetMeasuredNetwork({Network("transfer 1xcore:1/2")}, cluster).empty());
}

}  // namespace
}  // namespace placewright
