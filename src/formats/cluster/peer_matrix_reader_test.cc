#include "formats/cluster/peer_matrix_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/machine_presets.h"
#include "formats/cluster/cluster_reader.h"

namespace placewright {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Four cards, 0 with 1 and 2 with 3 on a bridge, as the test prints it.
constexpr std::string_view kBridged = R"([P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA GeForce RTX 3090, pciBusID: 1, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA GeForce RTX 3090, pciBusID: 2, pciDeviceID: 0, pciDomainID:0
Device: 2, NVIDIA GeForce RTX 3090, pciBusID: 41, pciDeviceID: 0, pciDomainID:0
Device: 3, NVIDIA GeForce RTX 3090, pciBusID: 42, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
Device=0 CANNOT Access Peer Device=2

***NOTE: In case a device doesn't have P2P access to other one, it falls back to normal memcopy procedure.
So you can see lesser Bandwidth (GB/s) and unstable Latency (us) in those cases.

P2P Connectivity Matrix
     D\D     0     1     2     3
     0	     1     1     0     0
     1	     1     1     0     0
     2	     0     0     1     1
     3	     0     0     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1      2      3 
     0 830.00  11.00  11.50  11.50 
     1  11.00 830.00  11.50  11.50 
     2  11.50  11.50 830.00  11.00 
     3  11.50  11.50  11.00 830.00 
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\D     0      1      2      3 
     0 830.00  52.00  11.50  11.50 
     1  52.50 830.00  11.50  11.50 
     2  11.50  11.50 830.00  52.00 
     3  11.50  11.50  52.00 830.00 
Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1      2      3 
     0 830.00  16.00  17.00  17.00 
     1  16.00 830.00  17.00  17.00 
     2  17.00  17.00 830.00  16.00 
     3  17.00  17.00  16.00 830.00 
P2P=Disabled Latency Matrix (us)
   GPU     0      1      2      3 
     0   1.60  13.00  13.00  13.00 
)";

TEST(PeerMatrix, OfCudasBandwidthTest) {
  const PeerMatrix matrix = ParsePeerMatrix(kBridged).Take();
  ASSERT_EQ(matrix.gpus, 4u);
  EXPECT_EQ(matrix.names[3], "NVIDIA GeForce RTX 3090");
  EXPECT_EQ(matrix.cell(0, 1).access, true);
  EXPECT_EQ(matrix.cell(0, 2).access, false);
  EXPECT_EQ(matrix.cell(1, 0).bandwidth.count, 52'500'000'000);
  EXPECT_EQ(matrix.cell(0, 2).bandwidth.count, 11'500'000'000);
  EXPECT_EQ(matrix.cell(0, 0).bandwidth.count, 0);
}

constexpr std::string_view kStatus =
    " \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tCNS\n GPU1\tOK\tX\tNS\n GPU2\tCNS\tNS\tX\n\nLegend:\n\n"
    "  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n";

TEST(PeerMatrix, OfNvidiaSmi) {
  EXPECT_TRUE(LooksLikePeerMatrix(kStatus));
  const PeerMatrix matrix = ParsePeerMatrix(kStatus).Take();
  ASSERT_EQ(matrix.gpus, 3u);
  EXPECT_EQ(matrix.cell(1, 0).access, true);
  EXPECT_EQ(matrix.cell(2, 1).access, false);
  EXPECT_TRUE(matrix.names.empty());
}

// As a cluster of its own: links for the bridged pairs, the rest through host memory at what the test
// measured between them.
TEST(PeerMatrix, IsAClusterWhereItNamesItsGpus) {
  const Cluster c = ParseCluster(kBridged).Take();
  EXPECT_EQ(c.device_count(), 4u);
  EXPECT_EQ(c.kind(DeviceId(2)).name, "RTX-3090");
  const Route &bridge = c.route(DeviceId(0), DeviceId(1)), &far = c.route(DeviceId(1), DeviceId(2));
  EXPECT_EQ(bridge.links.size(), 1u);
  EXPECT_EQ(bridge.bandwidth.count, 52'500'000'000);  // the faster direction of the two
  EXPECT_TRUE(far.through_host);
  EXPECT_EQ(far.bandwidth.count, 11'500'000'000);
  EXPECT_EQ(ParseCluster(kStatus).error().code, ErrorCode::kField);  // no names, no bandwidths
}

TEST(PeerMatrix, AmendsADescription) {
  // Two boards with peer to peer by kind; the machine has none, and copies at 9 GB/s.
  ClusterBuilder b =
      DescribeCluster("gpus: 2 x L40S\ninterconnect: pcie4\npcie_switches: 1\n").Take();
  PeerMatrix matrix;
  matrix.gpus = 2;
  matrix.source = "test";
  matrix.cells = {
      {}, {false, BytesPerSecond(9'000'000'000)}, {false, BytesPerSecond(8'000'000'000)}, {}};
  ASSERT_TRUE(ApplyPeerMatrix(matrix, b).ok());
  const Cluster c = std::move(b).Build().Take();
  EXPECT_TRUE(c.route(DeviceId(0), DeviceId(1)).through_host);
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(1)).links.size(), 4u);
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(1)).bandwidth.count, 9'000'000'000);
  // Both directions of a link have one figure: that of 8 GB/s is more than a tenth below.
  EXPECT_THAT(c.notes(), Contains(HasSubstr("1 ordered pairs")));

  // The other way round: cards without peer to peer, whose driver offers it.
  ClusterBuilder patched = DescribePreset("2x4090").Take();
  matrix.cells = {{}, {true, {}}, {true, {}}, {}};
  ASSERT_TRUE(ApplyPeerMatrix(matrix, patched).ok());
  EXPECT_FALSE(std::move(patched).Build().Take().route(DeviceId(0), DeviceId(1)).through_host);
}

// Below one switch they reach each other, across none: the uplinks stop carrying it, the slots do not.
TEST(PeerMatrix, DeniesWhatNoOtherPairNeeds) {
  ClusterBuilder b =
      DescribeCluster("gpus: 4 x L40S\ncpus: EPYC-7763\nmemory: 1 GiB\ninterconnect: pcie4\n")
          .Take();
  PeerMatrix matrix;
  matrix.gpus = 4;
  matrix.source = "test";
  matrix.cells.resize(16);
  for (size_t x = 0; x < 4; ++x) {
    for (size_t y = 0; y < 4; ++y) {
      if (x != y) matrix.cell(x, y).access = x / 2 == y / 2;
    }
  }
  ASSERT_TRUE(ApplyPeerMatrix(matrix, b).ok());
  const Cluster c = std::move(b).Build().Take();
  const auto at = [&](const char* name) { return c.FindDevice(name); };
  EXPECT_FALSE(c.route(at("host0/gpu0"), at("host0/gpu1")).through_host);
  EXPECT_TRUE(c.route(at("host0/gpu0"), at("host0/gpu2")).through_host);
  EXPECT_FALSE(c.link(c.FindLink("host0/pcie0.0>host0/pcie0")).p2p);
  EXPECT_TRUE(c.link(c.FindLink("host0/gpu0>host0/pcie0.0")).p2p);
}

TEST(PeerMatrix, Errors) {
  const auto code = [](std::string_view text) { return ParsePeerMatrix(text).error().code; };
  EXPECT_EQ(code(""), ErrorCode::kField);
  EXPECT_EQ(code("P2P Connectivity Matrix\n"), ErrorCode::kField);
  EXPECT_EQ(code("P2P Connectivity Matrix\n D\\D 0 1\n 0 1 2\n 1 0 1\n"), ErrorCode::kField);
  EXPECT_EQ(code("P2P Connectivity Matrix\n D\\D 0 1\n 0 1 0\n"), ErrorCode::kField);
  EXPECT_EQ(code(" GPU0 GPU1\nGPU0 X MAYBE\nGPU1 OK X\n"), ErrorCode::kField);
  std::string other(kBridged);
  other.replace(other.find("11.50"), 5, "-1.50");
  EXPECT_THAT(ParsePeerMatrix(other).error().place, HasSubstr("line"));
  ClusterBuilder three = DescribeCluster("gpus: 3 x T4\n").Take();
  EXPECT_EQ(ApplyPeerMatrix(ParsePeerMatrix(kBridged).Take(), three).error().code,
            ErrorCode::kField);
  ClusterBuilder hosts = DescribePreset("4x1xL40S").Take();
  EXPECT_EQ(ApplyPeerMatrix(ParsePeerMatrix(kBridged).Take(), hosts).error().code,
            ErrorCode::kField);
}

}  // namespace
}  // namespace placewright
