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

}  // namespace
}  // namespace placewright
