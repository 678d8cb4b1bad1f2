#include "cluster/cluster_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace placewright {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGB = 1'000'000'000;

DeviceKind Kind(std::string name) {
  DeviceKind kind;
  kind.name = std::move(name);
  kind.device_class = DeviceClass::kGpu;
  return kind;
}

// Devices "d0".."d<n-1>" of one kind on host 0.
ClusterBuilder WithDevices(int n) {
  ClusterBuilder builder("c");
  EXPECT_TRUE(builder.AddKind(Kind("k")).ok());
  for (int i = 0; i < n; ++i) {
    EXPECT_TRUE(builder.AddDevice({"d" + std::to_string(i), 0, 0, Bytes(100), Bytes(0)}).ok());
  }
  return builder;
}

Status Join(ClusterBuilder& b, std::string_view from, std::string_view to, int64_t bandwidth = kGB,
            Duplex duplex = Duplex::kFull) {
  return b.Connect(from, to, BytesPerSecond(bandwidth), Nanos(1000), duplex, "test");
}

std::vector<std::string> LinkNames(const Cluster& c, int from, int to) {
  std::vector<std::string> names;
  for (const LinkId id : c.route(DeviceId(from), DeviceId(to)).links) {
    names.push_back(c.link(id).name);
  }
  return names;
}

TEST(ClusterBuilder, RouteThroughASwitch) {
  ClusterBuilder b = WithDevices(2);
  ASSERT_TRUE(b.AddForwarder("s").ok());
  ASSERT_TRUE(b.Connect("d0", "s", BytesPerSecond(12 * kGB), Nanos(1500), Duplex::kFull, "").ok());
  ASSERT_TRUE(b.Connect("s", "d1", BytesPerSecond(10 * kGB), Nanos(500), Duplex::kFull, "").ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_THAT(LinkNames(c, 0, 1), testing::ElementsAre("d0>s", "s>d1"));
  EXPECT_THAT(LinkNames(c, 1, 0), testing::ElementsAre("d1>s", "s>d0"));
  const Route& route = c.route(DeviceId(0), DeviceId(1));
  EXPECT_EQ(route.latency, Nanos(2000));
  EXPECT_EQ(route.bandwidth, BytesPerSecond(10 * kGB));
  // 5,000 B at 10 GB/s = 500 ns, and 1,500 + 500 ns of latency.
  EXPECT_EQ(c.TransferDuration(DeviceId(0), DeviceId(1), Bytes(5000)), Nanos(2500));
}

TEST(ClusterBuilder, HalfDuplexIsOneLinkForBothDirections) {
  ClusterBuilder b = WithDevices(2);
  ASSERT_TRUE(Join(b, "d0", "d1", kGB, Duplex::kHalf).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_EQ(c.link_count(), 1u);
  EXPECT_THAT(LinkNames(c, 0, 1), testing::ElementsAre("d0-d1"));
  EXPECT_THAT(LinkNames(c, 1, 0), testing::ElementsAre("d0-d1"));
}

// Kinds without peer to peer and with it, a CPU behind the root "r", switches "s" and "t" below it.
ClusterBuilder WithoutPeers() {
  ClusterBuilder b("c");
  DeviceKind geforce = Kind("geforce"), cpu = Kind("cpu");
  geforce.p2p = false;
  cpu.device_class = DeviceClass::kCpu;
  EXPECT_TRUE(b.AddKind(geforce).ok());
  EXPECT_TRUE(b.AddKind(Kind("board")).ok());
  EXPECT_TRUE(b.AddKind(cpu).ok());
  for (const auto& [name, kind] : {std::pair("g0", 0), std::pair("g1", 0), std::pair("g2", 0),
                                   std::pair("q0", 1), std::pair("q1", 1), std::pair("cpu", 2)}) {
    EXPECT_TRUE(b.AddDevice({name, kind, 0, Bytes(100), Bytes(0)}).ok());
  }
  for (const char* name : {"r", "s", "t"}) EXPECT_TRUE(b.AddForwarder(name).ok());
  for (const auto& [from, to] :
       {std::pair("cpu", "r"), std::pair("r", "s"), std::pair("r", "t"), std::pair("g0", "s"),
        std::pair("g1", "s"), std::pair("g2", "t"), std::pair("q0", "s"), std::pair("q1", "s")}) {
    EXPECT_TRUE(Join(b, from, to).ok());
  }
  return b;
}

TEST(ClusterBuilder, CopiesWithoutPeerToPeerGoThroughHostMemory) {
  const Cluster c = WithoutPeers().Build().Take();
  EXPECT_THAT(LinkNames(c, 0, 1), testing::ElementsAre("g0>s", "s>r", "r>s", "s>g1"));
  EXPECT_TRUE(c.route(DeviceId(0), DeviceId(1)).through_host);
  EXPECT_THAT(LinkNames(c, 0, 2), testing::ElementsAre("g0>s", "s>r", "r>t", "t>g2"));
  // One without is enough.
  EXPECT_THAT(LinkNames(c, 3, 0), testing::ElementsAre("q0>s", "s>r", "r>s", "s>g0"));
  EXPECT_THAT(LinkNames(c, 3, 4), testing::ElementsAre("q0>s", "s>q1"));
  EXPECT_FALSE(c.route(DeviceId(3), DeviceId(4)).through_host);
  // A copy to the CPU needs no peer.
  EXPECT_THAT(LinkNames(c, 0, 5), testing::ElementsAre("g0>s", "s>r", "r>cpu"));
  EXPECT_FALSE(c.link(c.FindLink("g0>s")).p2p);
  EXPECT_TRUE(c.link(c.FindLink("s>r")).p2p);
  ASSERT_EQ(c.notes().size(), 1u);
  EXPECT_THAT(c.notes()[0], HasSubstr("geforce"));
}

TEST(ClusterBuilder, LinksStatePeerToPeerThemselves) {
  // A bridge between two carries it whatever their kind.
  ClusterBuilder bridged = WithoutPeers();
  ASSERT_TRUE(Join(bridged, "g0", "g1").ok());
  EXPECT_THAT(LinkNames(std::move(bridged).Build().Take(), 0, 1), testing::ElementsAre("g0>g1"));
  // Boards that reach each other below one switch, but not across.
  ClusterBuilder b("c");
  ASSERT_TRUE(b.AddKind(Kind("board")).ok());
  for (const char* name : {"q0", "q1", "q2"}) {
    ASSERT_TRUE(b.AddDevice({name, 0, 0, Bytes(100), Bytes(0)}).ok());
  }
  ASSERT_TRUE(b.AddForwarder("r", true).ok());
  ASSERT_TRUE(b.AddForwarder("s").ok());
  ASSERT_TRUE(Join(b, "q0", "s").ok());
  ASSERT_TRUE(Join(b, "q1", "s").ok());
  ASSERT_TRUE(Join(b, "q2", "r").ok());
  ASSERT_TRUE(
      b.Connect("s", "r", BytesPerSecond(kGB), Nanos(0), Duplex::kFull, "test", false).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_FALSE(c.route(DeviceId(0), DeviceId(1)).through_host);
  EXPECT_TRUE(c.route(DeviceId(0), DeviceId(2)).through_host);
  EXPECT_THAT(LinkNames(c, 0, 2), testing::ElementsAre("q0>s", "s>r", "r>q2"));
}

// GeForce cards of two hosts: each copy through the memory of both. A board with peer to peer on one
// side is reached by its NIC.
TEST(ClusterBuilder, AcrossHostsToo) {
  ClusterBuilder b("c");
  DeviceKind geforce = Kind("geforce");
  geforce.p2p = false;
  ASSERT_TRUE(b.AddKind(geforce).ok());
  ASSERT_TRUE(b.AddKind(Kind("board")).ok());
  for (const int host : {0, 1}) {
    const std::string at = "host" + std::to_string(host);
    ASSERT_TRUE(b.AddDevice({at + "/g", 0, host, Bytes(100), Bytes(0)}).ok());
    ASSERT_TRUE(b.AddDevice({at + "/q", 1, host, Bytes(100), Bytes(0)}).ok());
    ASSERT_TRUE(b.AddForwarder(at + "/r", true).ok());
    for (const char* name : {"/s", "/nic"}) ASSERT_TRUE(b.AddForwarder(at + name).ok());
    ASSERT_TRUE(Join(b, at + "/r", at + "/s").ok());
    for (const char* name : {"/g", "/q", "/nic"}) ASSERT_TRUE(Join(b, at + name, at + "/s").ok());
  }
  ASSERT_TRUE(Join(b, "host0/nic", "host1/nic").ok());
  const Cluster c = std::move(b).Build().Take();
  const auto between = [&](const char* from, const char* to) {
    return LinkNames(c, c.FindDevice(from).value(), c.FindDevice(to).value());
  };
  EXPECT_THAT(between("host0/g", "host1/g"),
              testing::ElementsAre("host0/g>host0/s", "host0/s>host0/r", "host0/r>host0/s",
                                   "host0/s>host0/nic", "host0/nic>host1/nic", "host1/nic>host1/s",
                                   "host1/s>host1/r", "host1/r>host1/s", "host1/s>host1/g"));
  EXPECT_EQ(between("host0/g", "host1/q").size(), 7u);
  EXPECT_EQ(between("host0/q", "host1/g").size(), 7u);
  EXPECT_EQ(between("host0/q", "host1/q").size(), 5u);
}

TEST(ClusterBuilder, HalfDuplexLinksAreNotCrossedTwice) {
  ClusterBuilder b("c");
  DeviceKind geforce = Kind("geforce");
  geforce.p2p = false;
  ASSERT_TRUE(b.AddKind(geforce).ok());
  for (const char* name : {"g0", "g1"}) {
    ASSERT_TRUE(b.AddDevice({name, 0, 0, Bytes(100), Bytes(0)}).ok());
  }
  ASSERT_TRUE(b.AddForwarder("r", true).ok());
  ASSERT_TRUE(b.AddForwarder("s").ok());
  ASSERT_TRUE(Join(b, "g0", "s").ok());
  ASSERT_TRUE(Join(b, "g1", "s").ok());
  ASSERT_TRUE(Join(b, "s", "r", kGB, Duplex::kHalf).ok());
  const Result<Cluster> c = std::move(b).Build();
  ASSERT_FALSE(c.ok());
  EXPECT_EQ(c.error().code, ErrorCode::kClusterInvalid);
  EXPECT_THAT(c.error().message, HasSubstr("\"s-r\""));
}

// Without any host memory the direct way is taken, and said.
TEST(ClusterBuilder, NoHostMemoryIsSaid) {
  ClusterBuilder b("c");
  DeviceKind geforce = Kind("geforce");
  geforce.p2p = false;
  ASSERT_TRUE(b.AddKind(geforce).ok());
  for (const char* name : {"g0", "g1"}) {
    ASSERT_TRUE(b.AddDevice({name, 0, 0, Bytes(100), Bytes(0)}).ok());
  }
  ASSERT_TRUE(b.AddForwarder("s").ok());
  ASSERT_TRUE(Join(b, "g0", "s").ok());
  ASSERT_TRUE(Join(b, "g1", "s").ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_FALSE(c.route(DeviceId(0), DeviceId(1)).through_host);
  EXPECT_THAT(c.notes(), testing::ElementsAre(HasSubstr("no CPU or host memory")));
}

TEST(ClusterBuilder, DevicesDoNotForward) {
  ClusterBuilder b = WithDevices(3);
  ASSERT_TRUE(Join(b, "d0", "d1").ok());
  ASSERT_TRUE(Join(b, "d1", "d2").ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_TRUE(c.Connected(DeviceId(0), DeviceId(1)));
  EXPECT_FALSE(c.Connected(DeviceId(0), DeviceId(2)));
  EXPECT_TRUE(c.Connected(DeviceId(0), DeviceId(0)));
}

TEST(ClusterBuilder, FewestLinksBeatBandwidth) {
  ClusterBuilder b = WithDevices(2);
  ASSERT_TRUE(b.AddForwarder("s").ok());
  ASSERT_TRUE(Join(b, "d0", "s", 100 * kGB).ok());
  ASSERT_TRUE(Join(b, "s", "d1", 100 * kGB).ok());
  ASSERT_TRUE(Join(b, "d0", "d1", 1).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_THAT(LinkNames(c, 0, 1), testing::ElementsAre("d0>d1"));
}

TEST(ClusterBuilder, ThenTheWiderThenTheLesserLinkIds) {
  ClusterBuilder b = WithDevices(2);
  for (const char* s : {"s0", "s1", "s2"}) ASSERT_TRUE(b.AddForwarder(s).ok());
  ASSERT_TRUE(Join(b, "d0", "s0", 9).ok());
  ASSERT_TRUE(Join(b, "s0", "d1", 5).ok());  // s0: min 5
  ASSERT_TRUE(Join(b, "d0", "s2", 8).ok());  // links 4, 5
  ASSERT_TRUE(Join(b, "d0", "s1", 6).ok());  // links 6, 7
  ASSERT_TRUE(Join(b, "s1", "d1", 7).ok());  // s1: min 6
  ASSERT_TRUE(Join(b, "s2", "d1", 6).ok());  // s2: min 6, and its first link is 4
  const Cluster c = std::move(b).Build().Take();
  EXPECT_THAT(LinkNames(c, 0, 1), testing::ElementsAre("d0>s2", "s2>d1"));
}

// The narrowest link comes last, so the narrow beginning ties with the wide one and its lesser link
// id decides: d0 -> (x: 1 GB/s, link 0) or (y: 9 GB/s, link 2) -> z -> (1 GB/s) d1.
TEST(ClusterBuilder, ABottleneckAtTheEndLetsTheNarrowBeginningWin) {
  ClusterBuilder b = WithDevices(2);
  for (const char* s : {"x", "y", "z"}) ASSERT_TRUE(b.AddForwarder(s).ok());
  ASSERT_TRUE(Join(b, "d0", "x", 1).ok());
  ASSERT_TRUE(Join(b, "d0", "y", 9).ok());
  ASSERT_TRUE(Join(b, "x", "z", 9).ok());
  ASSERT_TRUE(Join(b, "y", "z", 9).ok());
  ASSERT_TRUE(Join(b, "z", "d1", 1).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_THAT(LinkNames(c, 0, 1), testing::ElementsAre("d0>x", "x>z", "z>d1"));
}

TEST(ClusterBuilder, ExplicitRoutesWin) {
  ClusterBuilder b = WithDevices(3);
  const LinkId l = b.AddLink({"l", BytesPerSecond(7), Nanos(3), "given"}).Take();
  const LinkId m = b.AddLink({"m", BytesPerSecond(5), Nanos(4), "given"}).Take();
  ASSERT_TRUE(b.AddRoute(DeviceId(0), DeviceId(1), {l, m}).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_THAT(LinkNames(c, 0, 1), testing::ElementsAre("l", "m"));
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(1)).bandwidth, BytesPerSecond(5));
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(1)).latency, Nanos(7));
  EXPECT_FALSE(c.Connected(DeviceId(1), DeviceId(0)));
  EXPECT_FALSE(c.Connected(DeviceId(0), DeviceId(2)));
}

TEST(ClusterBuilder, GroupsAreOneKindOnOneHost) {
  ClusterBuilder b("c");
  ASSERT_TRUE(b.AddKind(Kind("A")).ok());
  ASSERT_TRUE(b.AddKind(Kind("B")).ok());
  ASSERT_TRUE(b.AddDevice({"w", 1, 0, Bytes(1), Bytes(0)}).ok());
  ASSERT_TRUE(b.AddDevice({"x", 0, 0, Bytes(1), Bytes(0)}).ok());
  ASSERT_TRUE(b.AddDevice({"y", 1, 0, Bytes(1), Bytes(0)}).ok());
  ASSERT_TRUE(b.AddDevice({"z", 1, 1, Bytes(1), Bytes(0)}).ok());
  const Cluster c = std::move(b).Build().Take();
  ASSERT_EQ(c.groups().size(), 3u);
  EXPECT_EQ(c.groups()[0].name, "host0/B");
  EXPECT_THAT(c.groups()[0].devices, testing::ElementsAre(DeviceId(0), DeviceId(2)));
  EXPECT_EQ(c.groups()[1].name, "host0/A");
  EXPECT_EQ(c.groups()[2].name, "host1/B");
  EXPECT_EQ(c.FindDevice("y"), DeviceId(2));
  EXPECT_FALSE(c.FindDevice("v").valid());
  EXPECT_THAT(c.DeviceNames(), testing::ElementsAre("w", "x", "y", "z"));
}

std::vector<std::vector<int32_t>> GroupsOf(const Cluster& c) {
  std::vector<std::vector<int32_t>> groups;
  for (const DeviceGroup& group : c.groups()) {
    groups.emplace_back();
    for (const DeviceId id : group.devices) groups.back().push_back(id.value());
  }
  return groups;
}

// A square of wide links 0-2, 2-1, 1-3, 3-0 and narrow diagonals: 0 and 2 are the first with a wide pair, and no third
// is wide to both; 1 and 3 are left.
TEST(ClusterBuilder, GroupsHaveOneBandwidthBetweenAllPairs) {
  ClusterBuilder b = WithDevices(5);
  for (const auto& [from, to] : {std::pair("d0", "d2"), std::pair("d2", "d1"),
                                 std::pair("d1", "d3"), std::pair("d3", "d0")}) {
    ASSERT_TRUE(Join(b, from, to, 2 * kGB).ok());
  }
  ASSERT_TRUE(Join(b, "d0", "d1").ok());
  ASSERT_TRUE(Join(b, "d2", "d3").ok());
  // d4 is left when the others are in sets.
  for (const char* other : {"d0", "d1", "d2", "d3"}) ASSERT_TRUE(Join(b, "d4", other, 5).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_THAT(GroupsOf(c),
              testing::ElementsAre(testing::ElementsAre(0, 2), testing::ElementsAre(1, 3),
                                   testing::ElementsAre(4)));
  EXPECT_EQ(c.groups()[0].name, "host0/k#0");
  EXPECT_EQ(c.groups()[2].name, "host0/k#2");
  ASSERT_EQ(c.host_groups().size(), 1u);
  EXPECT_EQ(c.host_groups()[0].name, "host0/k");
  EXPECT_EQ(c.host_groups()[0].devices.size(), 5u);
}

// A narrow link one way makes another pair of it; where all are alike, the set is the whole.
TEST(ClusterBuilder, GroupsHaveOneBandwidthBothWays) {
  for (const int64_t back : {kGB, kGB / 2}) {
    ClusterBuilder b = WithDevices(3);
    for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 2), std::pair(0, 2)}) {
      for (const bool there : {true, false}) {
        const int64_t bandwidth = from == 0 && to == 2 && !there ? back : kGB;
        const LinkId link =
            b.AddLink({std::to_string(from) + std::to_string(to) + (there ? ">" : "<"),
                       BytesPerSecond(bandwidth), Nanos(1), ""})
                .Take();
        ASSERT_TRUE(
            b.AddRoute(DeviceId(there ? from : to), DeviceId(there ? to : from), {link}).ok());
      }
    }
    const Cluster c = std::move(b).Build().Take();
    EXPECT_EQ(c.groups().size(), back == kGB ? 1u : 2u);
  }
}

TEST(ClusterBuilder, OneCommunicatorIsALinkBehindAllOthers) {
  ClusterBuilder b = WithDevices(2);
  ASSERT_TRUE(Join(b, "d0", "d1").ok());
  StatedCollectives stated;
  stated.lines = {{Nanos(7), BytesPerSecond(kGB)}};
  stated.measured_at = BytesPerSecond(kGB);
  EXPECT_EQ(b.SetCollectives(stated).error().code, ErrorCode::kField);  // not one after another
  stated.one_communicator = true;
  stated.measured_at = BytesPerSecond(0);
  EXPECT_EQ(b.SetCollectives(stated).error().code, ErrorCode::kField);
  stated.measured_at = BytesPerSecond(kGB);
  stated.lines[0].bandwidth = BytesPerSecond(0);
  EXPECT_EQ(b.SetCollectives(stated).error().code, ErrorCode::kField);
  stated.lines[0].bandwidth = BytesPerSecond(kGB);
  ASSERT_TRUE(b.SetCollectives(stated).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_EQ(c.link_count(), 3u);
  EXPECT_EQ(c.communicator(), LinkId(2));
  EXPECT_THAT(LinkNames(c, 0, 1), testing::ElementsAre("d0>d1"));

  ClusterBuilder taken = WithDevices(1);
  ASSERT_TRUE(taken.AddLink({"communicator", BytesPerSecond(1), Nanos(0), ""}).ok());
  ASSERT_TRUE(taken.SetCollectives({.one_communicator = true}).ok());
  EXPECT_EQ(std::move(taken).Build().error().code, ErrorCode::kDuplicateName);
}

// TAG's: of 1 MiB the lines give 368 + 44.4416 and 212 + 284.3648 us, the second is longer; at half the bandwidth
// twice that. Of 4 bytes the first is.
TEST(StatedCollectives, TakeTheLongestLineInInverseProportionToTheBandwidth) {
  const StatedCollectives stated{.one_communicator = true,
                                 .lines = {{Nanos(368'000), BytesPerSecond(23'594'470'046)},
                                           {Nanos(212'000), BytesPerSecond(3'687'432'481)}},
                                 .measured_at = BytesPerSecond(2'810'000'000),
                                 .source = ""};
  const Bytes mib(1 << 20);
  EXPECT_EQ(stated.TimeOf(mib, BytesPerSecond(2'810'000'000)), Nanos(496'365));
  EXPECT_EQ(stated.TimeOf(mib, BytesPerSecond(1'405'000'000)), Nanos(992'730));
  EXPECT_EQ(stated.TimeOf(Bytes(4), BytesPerSecond(2'810'000'000)), Nanos(368'001));
  EXPECT_EQ(stated.TimeOf(Bytes(kMaxQuantity), BytesPerSecond(1)), Nanos(kMaxQuantity));
}

TEST(ClusterBuilder, RejectsWhatCannotBe) {
  ClusterBuilder b = WithDevices(2);
  EXPECT_EQ(b.AddKind(Kind("k")).error().code, ErrorCode::kDuplicateName);
  EXPECT_EQ(b.AddDevice({"d0", 0, 0, Bytes(1), Bytes(0)}).error().code, ErrorCode::kDuplicateName);
  EXPECT_EQ(b.AddForwarder("d0").error().code, ErrorCode::kDuplicateName);
  EXPECT_EQ(b.AddDevice({"e", 0, 0, Bytes(0), Bytes(0)}).error().code, ErrorCode::kField);
  EXPECT_EQ(b.AddDevice({"e", 0, 0, Bytes(-5), Bytes(9)}).error().code, ErrorCode::kField);
  EXPECT_EQ(b.AddDevice({"e", 0, 0, Bytes(5), Bytes(-1)}).error().code, ErrorCode::kField);
  EXPECT_EQ(b.AddDevice({"e", 7, 0, Bytes(5), Bytes(0)}).error().code, ErrorCode::kField);
  EXPECT_EQ(Join(b, "d0", "d0").error().code, ErrorCode::kField);
  EXPECT_EQ(Join(b, "d0", "d1", 0).error().code, ErrorCode::kField);
  EXPECT_EQ(b.Connect("d0", "d1", BytesPerSecond(1), Nanos(-1), Duplex::kFull, "").error().code,
            ErrorCode::kField);
  const Status unknown = Join(b, "d0", "d11");
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownName);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean"));
  EXPECT_TRUE(Join(b, "d0", "d1").ok());
  EXPECT_EQ(Join(b, "d1", "d0", kGB, Duplex::kHalf).error().code, ErrorCode::kDuplicateName);
  DeviceKind bad = Kind("bad");
  bad.peak.f32 = -1;
  EXPECT_EQ(b.AddKind(bad).error().code, ErrorCode::kField);
}

TEST(ClusterBuilder, RejectsImpossibleRoutes) {
  ClusterBuilder b = WithDevices(2);
  const LinkId l = b.AddLink({"l", BytesPerSecond(7), Nanos(3), ""}).Take();
  EXPECT_EQ(b.AddLink({"l", BytesPerSecond(7), Nanos(3), ""}).error().code,
            ErrorCode::kDuplicateName);
  const DeviceId d0(0), d1(1);
  EXPECT_EQ(b.AddRoute(d0, d0, {l}).error().code, ErrorCode::kClusterInvalid);
  EXPECT_EQ(b.AddRoute(d0, d1, {}).error().code, ErrorCode::kClusterInvalid);
  EXPECT_EQ(b.AddRoute(d0, d1, {l, l}).error().code, ErrorCode::kClusterInvalid);
  EXPECT_EQ(b.AddRoute(d0, d1, {LinkId(9)}).error().code, ErrorCode::kClusterInvalid);
  EXPECT_EQ(b.AddRoute(d0, DeviceId(9), {l}).error().code, ErrorCode::kUnknownName);
  EXPECT_TRUE(b.AddRoute(d0, d1, {l}).ok());
  EXPECT_EQ(b.AddRoute(d0, d1, {l}).error().code, ErrorCode::kClusterInvalid);
}

TEST(ClusterBuilder, ZeroDevices) {
  ClusterBuilder b("empty");
  ASSERT_TRUE(b.AddForwarder("s").ok());
  const auto cluster = std::move(b).Build();
  ASSERT_FALSE(cluster.ok());
  EXPECT_EQ(cluster.error().code, ErrorCode::kClusterInvalid);
}

// Where all links are full duplex, the two directions of a pair have equally long and equally wide
// routes (not always the same one: link ids decide ties).
TEST(ClusterBuilder, FullDuplexRoutesAreSymmetric) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const int devices = 2 + static_cast<int>(random.Below(4));
    ClusterBuilder b = WithDevices(devices);
    std::vector<std::string> names;
    for (int i = 0; i < devices; ++i) names.push_back("d" + std::to_string(i));
    for (int i = 0; i < 4; ++i) {
      names.push_back("s" + std::to_string(i));
      ASSERT_TRUE(b.AddForwarder(names.back()).ok());
    }
    for (size_t i = 0; i < names.size(); ++i) {
      for (size_t j = i + 1; j < names.size(); ++j) {
        if (random.Below(3) > 0) continue;
        ASSERT_TRUE(Join(b, names[i], names[j], 1 + static_cast<int64_t>(random.Below(3))).ok());
      }
    }
    const Cluster c = std::move(b).Build().Take();
    for (const DeviceId from : c.devices()) {
      for (const DeviceId to : c.devices()) {
        if (from == to) continue;
        EXPECT_EQ(c.route(from, to).links.size(), c.route(to, from).links.size());
        EXPECT_EQ(c.route(from, to).bandwidth, c.route(to, from).bandwidth);
      }
    }
  }
}

TEST(ClusterBuilder, LatenciesSaturate) {
  ClusterBuilder b = WithDevices(2);
  const LinkId l = b.AddLink({"l", BytesPerSecond(1), Nanos(kMaxQuantity), ""}).Take();
  const LinkId m = b.AddLink({"m", BytesPerSecond(1), Nanos(kMaxQuantity), ""}).Take();
  ASSERT_TRUE(b.AddRoute(DeviceId(0), DeviceId(1), {l, m}).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(1)).latency, Nanos(kMaxQuantity));
}

}  // namespace
}  // namespace placewright
