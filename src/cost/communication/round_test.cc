#include "cost/communication/round.h"

#include <gtest/gtest.h>

#include "cost/communication/test_clusters.h"

namespace placewright {
namespace {

constexpr int64_t kGigabyte = 1'000'000'000;  // a second: a byte a nanosecond

// Alone, a transfer takes what rule 4 says: 30 + ceil(1000 / 2).
TEST(Rounds, OneTransferTakesItsRoute) {
  const Cluster cluster = SwitchedDevices(3, 2 * kGigabyte, 30);
  const std::vector<RoundTransfer> one = {{DeviceId(0), DeviceId(1)}};
  const Round round(cluster, one);
  EXPECT_EQ(round.NanosFor(1000), 530);
  EXPECT_EQ(round.NanosFor(1001), 531);
  EXPECT_EQ(
      round.NanosFor(1001),
      static_cast<double>(cluster.TransferDuration(DeviceId(0), DeviceId(1), Bytes(1001)).count));
  EXPECT_EQ(round.links().size(), 2u);
  EXPECT_EQ(Round().NanosFor(1000), 0);
}

// d0 sends to both others: its way to the switch carries twice the bytes.
TEST(Rounds, TransfersShareLinks) {
  const Cluster cluster = SwitchedDevices(3, kGigabyte, 30);
  const std::vector<RoundTransfer> two = {{DeviceId(0), DeviceId(1)}, {DeviceId(0), DeviceId(2)}};
  EXPECT_EQ(Round(cluster, two).NanosFor(100), 230);
  const std::vector<RoundTransfer> halves = {{DeviceId(0), DeviceId(1), 0.5},
                                             {DeviceId(0), DeviceId(2), 0.5}};
  EXPECT_EQ(Round(cluster, halves).NanosFor(100), 130);
}

// There and back: at once over a full-duplex link, one behind the other over a half-duplex one.
TEST(Rounds, HalfDuplexLinksAddUp) {
  for (const Duplex duplex : {Duplex::kFull, Duplex::kHalf}) {
    TestDevices made(2);
    made.Join("d0", "d1", kGigabyte, 10, duplex);
    const Cluster cluster = made.Build();
    const std::vector<RoundTransfer> swap = {{DeviceId(0), DeviceId(1)},
                                             {DeviceId(1), DeviceId(0)}};
    EXPECT_EQ(Round(cluster, swap).NanosFor(100), duplex == Duplex::kFull ? 110 : 210);
  }
}

// Few bytes wait for the far pair (latency 500, 10 bytes a nanosecond), many for the narrow one.
TEST(Rounds, TheLastTransferEndsTheRound) {
  TestDevices made(4);
  made.Join("d0", "d1", 10 * kGigabyte, 500);
  made.Join("d2", "d3", kGigabyte, 10);
  const Cluster cluster = made.Build();
  const std::vector<RoundTransfer> both = {{DeviceId(0), DeviceId(1)}, {DeviceId(2), DeviceId(3)}};
  const Round round(cluster, both);
  EXPECT_EQ(round.NanosFor(100), 510);
  EXPECT_EQ(round.NanosFor(1000), 1010);
  EXPECT_EQ(round.latency(), 500);
  EXPECT_EQ(round.nanos_per_byte(), 1);
}

// Two GPUs on one socket, PCIe 4 of 24 GB/s, both behind one switch or each behind its own.
Cluster BehindSwitches(std::string_view gpu, int32_t switches) {
  ClusterBuilder builder("pair");
  HostSpec host;
  host.cpu = *FindKind("EPYC-7763");
  host.sockets = 1;
  host.memory = Bytes(int64_t{128} << 30);
  host.gpus = {GpuSlot{*FindKind(gpu), 2, Bytes(), std::nullopt}};
  host.interconnect = Interconnect::kPcie4;
  host.switches = switches;
  PW_CHECK(AddHost(builder, host).ok());
  return std::move(builder).Build().Take();
}

// NCCL's authors, github.com/NVIDIA/nccl/issues/1309: GeForce cards have no peer to peer, so that what
// two behind one switch send each other crosses the switch's uplink twice in each direction.
TEST(Rounds, GeForceBehindOneSwitchAreSlowerThanBehindTwo) {
  constexpr double kBytes = 24e6;  // a millisecond at 24 GB/s
  const std::vector<RoundTransfer> swap = {{DeviceId(0), DeviceId(1)}, {DeviceId(1), DeviceId(0)}};
  // Both copies: GPU > switch > memory > switch > GPU, 3 + 0.5 + 0.5 + 3 us. One switch: its uplink
  // carries both, up and down: 2 ms. Two: one each.
  EXPECT_EQ(Round(BehindSwitches("RTX-4090", 1), swap).NanosFor(kBytes), 2'007'000);
  EXPECT_EQ(Round(BehindSwitches("RTX-4090", 2), swap).NanosFor(kBytes), 1'007'000);
  // With peer to peer they stay inside the switch: 3 + 3 us, and nothing is shared.
  EXPECT_EQ(Round(BehindSwitches("RTX-6000-Ada", 1), swap).NanosFor(kBytes), 1'006'000);
  EXPECT_EQ(Round(BehindSwitches("RTX-6000-Ada", 2), swap).NanosFor(kBytes), 1'007'000);
}

}  // namespace
}  // namespace placewright
