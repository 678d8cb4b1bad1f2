#include "formats/cluster/nccl_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "cluster/catalogue.h"
#include "formats/cluster/cluster_reader.h"
#include "formats/cluster/cluster_writer.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// One socket of a server: a switch with two A100 on NVSwitch and a NIC, an A100 and a NIC without
// GPUDirect beside it.
constexpr std::string_view kA100 = R"(<?xml version="1.0"?>
<!-- as NCCL writes it -->
<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="0000ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:04:00.0" class="0x060400" vendor="0x1000" device="0xc010" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:07:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1"><nvlink target="0000:c4:00.0" count="12" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:05:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:c4:00.0" count="12" tclass="0x068000"/></gpu>
      </pci>
      <pci busid="0000:08:00.0" class="0x020700" vendor="0x15b3" device="0x101b" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="262144" gdr="1"/></nic>
      </pci>
    </pci>
    <nic><net name="eth0" dev="1" speed="10000" port="0" gdr="0"/></nic>
  </cpu>
  <cpu host_hash="0x1" numaid="1" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:85:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="8.0 GT/s PCIe" link_width="8">
      <gpu dev="2" sm="80" rank="2" gdr="1"><nvlink target="0000:c4:00.0" count="12" tclass="0x068000"/></gpu>
    </pci>
  </cpu>
</system>
)";

std::vector<std::string> RouteNames(const Cluster& c, const char* from, const char* to) {
  std::vector<std::string> names;
  for (const LinkId id : c.route(c.FindDevice(from), c.FindDevice(to)).links) {
    names.push_back(c.link(id).name);
  }
  return names;
}

TEST(NcclTopology, BecomesAMachine) {
  const Cluster c = ParseCluster(kA100).Take();
  EXPECT_EQ(c.device_count(), 3u);
  EXPECT_EQ(c.kind(DeviceId(0)).name, "A100-80GB");
  EXPECT_THAT(RouteNames(c, "host0/gpu0", "host0/gpu2"),
              ElementsAre("host0/gpu0>host0/nvswitch", "host0/nvswitch>host0/gpu2"));
  // 12 lanes of 19.2 GB/s; a slot of PCIe 3 with 8 lanes: half of 12 GB/s.
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(2)).bandwidth.count, 230'400'000'000);
  EXPECT_EQ(c.link(c.FindLink("host0/gpu2>host0/pcie1")).bandwidth.count, 6'000'000'000);
  EXPECT_EQ(c.link(c.FindLink("host0/pcie0>host0/switch0")).bandwidth.count, 24'000'000'000);
  EXPECT_TRUE(c.FindLink("host0/switch0>host0/nic0").valid());
  EXPECT_TRUE(c.FindLink("host0/pcie0>host0/nic1").valid());
  EXPECT_TRUE(c.link(c.FindLink("host0/switch0>host0/nic0")).p2p);
  EXPECT_FALSE(c.link(c.FindLink("host0/pcie0>host0/nic1")).p2p);
  // xGMI-2 between the two nodes.
  EXPECT_EQ(c.link(c.FindLink("host0/pcie0>host0/pcie1")).bandwidth.count, 36'000'000'000);
  // Written out and read back it is the same.
  const ClusterBuilder builder = DescribeCluster(kA100).Take();
  EXPECT_EQ(ClusterToJson(ParseCluster(ClusterToYaml(builder, {})).Take()).dump(),
            ClusterToJson(c).dump());
}

// Two cards behind one switch, which NCCL's file does not say have no peer to peer: their kind does.
TEST(NcclTopology, GeForceGoThroughHostMemory) {
  const std::string text = R"(<system version="1"><cpu numaid="0">
    <pci busid="a" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="b" class="0x030000" vendor="0x10de" device="0x2684" link_speed="16 GT/s" link_width="16"><gpu dev="0" sm="89"/></pci>
      <pci busid="c" class="0x030000" vendor="0x10de" device="0x2684" link_speed="16 GT/s" link_width="16"><gpu dev="1" sm="89"/></pci>
    </pci></cpu></system>)";
  const Cluster c = ParseCluster(text).Take();
  EXPECT_EQ(c.kind(DeviceId(0)).name, "RTX-4090");
  EXPECT_THAT(RouteNames(c, "host0/gpu0", "host0/gpu1"),
              ElementsAre("host0/gpu0>host0/switch0", "host0/switch0>host0/pcie0",
                          "host0/pcie0>host0/switch0", "host0/switch0>host0/gpu1"));
  // --gpu says otherwise.
  const Cluster ada = DescribeNcclTopology(text, FindKind("RTX-6000-Ada")).Take().Build().Take();
  EXPECT_EQ(RouteNames(ada, "host0/gpu0", "host0/gpu1").size(), 2u);
}

// A bridge is stated by both of its ends.
TEST(NcclTopology, NvlinkBetweenPairs) {
  const Cluster c = ParseCluster(R"(<system version="1"><cpu numaid="0">
      <pci busid="b" vendor="0x10de" device="0x2204"><gpu dev="0" sm="86"><nvlink target="c" count="4" tclass="0x030000"/></gpu></pci>
      <pci busid="c" vendor="0x10de" device="0x2204"><gpu dev="1" sm="86"><nvlink target="b" count="4" tclass="0x030000"/></gpu></pci>
    </cpu></system>)")
                        .Take();
  EXPECT_THAT(RouteNames(c, "host0/gpu0", "host0/gpu1"), ElementsAre("host0/gpu0>host0/gpu1"));
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(1)).bandwidth.count, 56'250'000'000);  // 4 * 14.0625
}

TEST(NcclTopology, SeveralHosts) {
  const std::string host = R"(<cpu host_hash="HASH" numaid="0">
    <pci busid="b" vendor="0x10de" device="0x27b8"><gpu dev="0" sm="89"/></pci>
    <nic><net name="n" dev="0" speed="100000" gdr="1"/></nic></cpu>)";
  std::string two = host, one = host;
  one.replace(one.find("HASH"), 4, "0x1");
  two.replace(two.find("HASH"), 4, "0x2");
  const Cluster c = ParseCluster("<system version=\"1\">" + one + two + "</system>").Take();
  EXPECT_EQ(c.device_count(), 2u);
  EXPECT_THAT(RouteNames(c, "host0/gpu0", "host1/gpu0"), testing::Contains("host0/nic0>network"));
}

TEST(NcclTopology, Errors) {
  const auto error = [](std::string_view text) { return ParseCluster(text).error(); };
  EXPECT_EQ(error("<system>").code, ErrorCode::kSyntax);
  EXPECT_EQ(error("<system></cpu>").code, ErrorCode::kSyntax);
  EXPECT_EQ(error("<a b=1/>").code, ErrorCode::kSyntax);
  EXPECT_EQ(error("<topology/>").code, ErrorCode::kField);
  EXPECT_EQ(error("<system version=\"1\"/>").code, ErrorCode::kField);
  const Error unknown = error(
      "<system><cpu>\n<pci vendor=\"0x10de\" device=\"0x0001\"><gpu "
      "dev=\"0\"/></pci></cpu></system>");
  EXPECT_EQ(unknown.code, ErrorCode::kUnknownName);
  EXPECT_EQ(unknown.place, "line 2");
  EXPECT_THAT(std::string(unknown.Remedy()), HasSubstr("--gpu"));
}

// Every prefix and many one-bit changes end in a cluster or in an error with a place.
TEST(NcclTopology, DamagedFiles) {
  const auto check = [](const std::string& damaged) {
    const auto result = ParseCluster(damaged);
    if (!result.ok()) {
      EXPECT_NE(result.error().code, ErrorCode::kInternal);
    }
  };
  const std::string text(kA100);
  for (size_t n = 0; n < text.size(); n += 11) check(text.substr(0, n));
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = text;
    damaged[random.Below(text.size())] ^= static_cast<char>(1u << random.Below(8));
    check(damaged);
  }
}

}  // namespace
}  // namespace placewright
