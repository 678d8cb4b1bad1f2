#include "cost/communication/nccl_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cost/communication.h"
#include "cost/communication/test_clusters.h"

namespace placewright {
namespace {

constexpr auto kSum = CollectiveKind::kAllReduce;
constexpr auto kGather = CollectiveKind::kAllGather;

Cluster PresetOf(std::string_view name) { return MakePreset(name).Take(); }

CollectiveEstimate EstimateOf(const Communication& communication, CollectiveKind kind,
                              int64_t bytes, size_t devices) {
  std::vector<DeviceId> gpus = GpusOf(communication.cluster());
  gpus.resize(devices);
  const Bytes piece(bytes / static_cast<int64_t>(devices));
  return communication.Estimate({kind, Bytes(bytes), piece}, gpus).Take();
}

// 8 devices, a byte a ns, 800 bytes. LL: 6.6 + 7 * 0.6 us, then 700 bytes at half of the rate.
TEST(NcclModel, RingsTakeTheFastestProtocol) {
  const NcclModel model({.devices = 8, .machines = 1, .ring = 1});
  EXPECT_DOUBLE_EQ(model.NanosOf(CollectiveAlgorithm::kRing, kGather, 800), 10'800 + 1'400);
  // Simple: 8.4 + 7 * 3.4 us and 70,000 bytes; LL would take 10.8 + 140, LL128 27.3 + 76.1.
  EXPECT_NEAR(model.NanosOf(CollectiveAlgorithm::kRing, kGather, 80'000), 32'200 + 70'000, 1e-6);
  // LL128 of 20,000: 14 + 7 * 1.9 us and 17,500 / 0.92; LL would take 10.8 + 35.
  EXPECT_NEAR(model.NanosOf(CollectiveAlgorithm::kRing, kGather, 20'000),
              std::min(27'300 + 17'500 / 0.92, 10'800 + 35'000.0), 1e-6);
  // Simple, twice the steps: 8.4 + 14 * 3.4.
  EXPECT_NEAR(model.NanosOf(CollectiveAlgorithm::kRing, kSum, 8e9), 56'000 + 14e9, 1);
}

// The latencies that NCCL's tuner logs for 8 machines of 8 H100: rings 81.5 (LL) and 296.8 us
// (Simple) of a gather, 585.2 of an all-reduce before the plateau's 1.4; trees 45.2.
TEST(NcclModel, LatenciesAreThoseOfTunersLogs) {
  const NcclModel model({.devices = 64, .machines = 8, .ring = 1e-9});
  EXPECT_NEAR(model.NanosOf(CollectiveAlgorithm::kRing, kGather, 1), 81'500, 10);
  EXPECT_NEAR(model.NanosOf(CollectiveAlgorithm::kTree, kSum, 1), 45'200, 10);
  // So many bytes that Simple is taken; 126 steps of 1e6 bytes at a byte a ns.
  const NcclModel slow({.devices = 64, .machines = 8, .ring = 1});
  EXPECT_NEAR(slow.NanosOf(CollectiveAlgorithm::kRing, kGather, 64e8), 296'800 + 63e8, 10);
  EXPECT_NEAR(slow.NanosOf(CollectiveAlgorithm::kRing, kSum, 64e8),
              1.4 * (8.4 + 112 * 3.4 + 14 * 14) * 1e3 + 126e8, 10);
}

// One device a machine: rings wait for the network as trees do, 6.6 + 7 * 5 us with LL.
TEST(NcclModel, RingsOfSingleDevicesWaitForTheNetwork) {
  const NcclModel model({.devices = 8, .machines = 8, .ring = 1e-9});
  EXPECT_NEAR(model.NanosOf(CollectiveAlgorithm::kRing, kGather, 1), 41'600, 10);
}

// 25 us, and of 8e6 bytes 9/8 each way, at a byte a ns * 0.85 * 19/20.
TEST(NcclModel, SwitchesReadAllAndWriteAPart) {
  const NcclModel model({.devices = 8, .machines = 1, .ring = 1, .link = 1, .channels = 20});
  EXPECT_NEAR(model.NanosOf(CollectiveAlgorithm::kNvls, kSum, 8e6), 25'000 + 9e6 / (0.85 * 0.95),
              1);
  EXPECT_TRUE(std::isinf(model.NanosOf(CollectiveAlgorithm::kNvls, kGather, 8e6)));
  EXPECT_TRUE(std::isinf(model.NanosOf(CollectiveAlgorithm::kNvlsTree, kSum, 8e6)));
}

// 25 + 2 * 3 * 14 = 109 us on 8 machines, as the tuner logs; then the trees at 0.85 of the network.
TEST(NcclModel, SwitchesAndTreesGoOverMachines) {
  const NcclModel model(
      {.devices = 64, .machines = 8, .ring = 1, .link = 0.5, .trees = 2, .channels = 20});
  EXPECT_NEAR(model.NanosOf(CollectiveAlgorithm::kNvlsTree, kSum, 1e9), 109'000 + 2e9 / 0.85, 1);
}

// Four would send 1.25 B where a ring sends 1.5 B, at 0.81 of the rate.
TEST(NcclModel, SwitchesPayFromFiveDevicesOn) {
  const Cluster cluster = PresetOf("8xH100");
  const Communication communication(cluster);
  for (size_t devices = 2; devices <= 8; ++devices) {
    EXPECT_EQ(EstimateOf(communication, kSum, 1 << 30, devices).algorithm,
              devices < 5 ? CollectiveAlgorithm::kRing : CollectiveAlgorithm::kNvls)
        << devices;
  }
  EXPECT_EQ(EstimateOf(communication, kSum, 2 << 20, 8).algorithm, CollectiveAlgorithm::kNvls);
  EXPECT_NE(EstimateOf(communication, kSum, 256 << 10, 8).algorithm, CollectiveAlgorithm::kNvls);
  EXPECT_EQ(EstimateOf(communication, kGather, 1 << 30, 8).algorithm, CollectiveAlgorithm::kRing);
}

// The cards in slots have no NVSwitch, whatever their kind states; V100 state no channels.
TEST(NcclModel, IsOfKindsThatStateChannels) {
  ClusterBuilder builder("slots");
  HostSpec host;
  host.cpu = *FindKind("EPYC-9654");
  host.memory = Bytes(int64_t{128} << 30);
  host.gpus = {GpuSlot{*FindKind("H100"), 8, Bytes(), std::nullopt}};
  host.interconnect = Interconnect::kPcie5;
  host.switches = 1;
  ASSERT_TRUE(AddHost(builder, host).ok());
  const Cluster slots = std::move(builder).Build().Take();
  EXPECT_EQ(EstimateOf(Communication(slots), kSum, 1 << 30, 8).algorithm,
            CollectiveAlgorithm::kRing);
  const Cluster dgx = PresetOf("dgx-1");
  const DeviceSetPlan plan(dgx, GpusOf(dgx));
  EXPECT_FALSE(plan.ByNccl(kSum));
  const Cluster board = PresetOf("8xH100");
  const DeviceSetPlan by_nccl(board, GpusOf(board));
  EXPECT_TRUE(by_nccl.ByNccl(kSum));
  EXPECT_FALSE(by_nccl.ByNccl(CollectiveKind::kBroadcast));
}

// Both ways of every GPU to the switch, and no other link.
TEST(NcclModel, SwitchesHoldTheLinksOfEveryDevice) {
  const Cluster cluster = PresetOf("8xH100");
  const Communication communication(cluster);
  const CollectiveEstimate estimate = EstimateOf(communication, kSum, 1 << 30, 8);
  EXPECT_EQ(estimate.links.size(), 16u);
  for (const LinkId link : estimate.links) {
    EXPECT_NE(cluster.link(link).name.find("nvswitch"), std::string::npos);
  }
}

}  // namespace
}  // namespace placewright
