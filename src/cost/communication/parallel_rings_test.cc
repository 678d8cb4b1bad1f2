#include "cost/communication/parallel_rings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "cost/communication/test_clusters.h"

namespace placewright {
namespace {

double RateOf(const std::vector<Ring>& rings) {
  double rate = 0;
  for (const Ring& ring : rings) rate += ring.rate;
  return rate;
}

// No link carries more than it can.
void ExpectWithinCapacity(const Cluster& cluster, const std::vector<Ring>& rings) {
  IdVector<LinkId, double> load(cluster.link_count(), 0);
  for (const Ring& ring : rings) {
    for (size_t i = 0; i < ring.order.size(); ++i) {
      const DeviceId to = ring.order[(i + 1) % ring.order.size()];
      for (const LinkId link : cluster.route(ring.order[i], to).links) load[link] += ring.rate;
    }
  }
  for (const LinkId link : cluster.links()) {
    EXPECT_LE(load[link], static_cast<double>(cluster.link(link).bandwidth.count) * (1 + 1e-9))
        << cluster.link(link).name;
  }
}

// Six lanes of 23.95 GB/s a GPU: a ring of double lanes and one of single lanes, each in both
// directions, leave none idle. The P100's mesh has four lanes of 18.31 GB/s.
TEST(ParallelRings, UseAllLanesOfACubeMesh) {
  for (const auto& [gpu, lanes] :
       {std::pair("V100-16GB", 6 * 23.95e9), std::pair("P100-SXM2-16GB", 4 * 18.31e9)}) {
    const Cluster cluster = GpuMachines(gpu, {8}, Interconnect::kNvlink);
    const std::vector<Ring> rings = ParallelRings(cluster, GpusOf(cluster));
    EXPECT_NEAR(RateOf(rings), lanes, 1) << gpu;
    EXPECT_EQ(rings.size(), 4u) << gpu;
    ExpectWithinCapacity(cluster, rings);
  }
}

// The first four GPUs of that mesh have four lanes to one another.
TEST(ParallelRings, UseAllLanesOfHalfTheMesh) {
  const Cluster cluster = GpuMachines("V100-16GB", {8}, Interconnect::kNvlink);
  const std::vector<DeviceId> gpus = GpusOf(cluster);
  const std::vector<Ring> rings = ParallelRings(cluster, std::span(gpus).first(4));
  EXPECT_NEAR(RateOf(rings), 4 * 23.95e9, 1);
  ExpectWithinCapacity(cluster, rings);
}

TEST(ParallelRings, OneRingFillsASwitch) {
  const Cluster cluster = GpuMachines("A100-40GB", {8}, Interconnect::kNvswitch);
  const std::vector<Ring> rings = ParallelRings(cluster, GpusOf(cluster));
  ASSERT_EQ(rings.size(), 1u);
  EXPECT_EQ(rings[0].rate, 230.4e9);
}

// A machine's devices follow one another, so that each network link is crossed once.
TEST(ParallelRings, MachinesAreEnteredOnce) {
  const Cluster cluster = GpuMachines("V100-32GB", {4, 2, 3}, Interconnect::kNvlink, 40'000);
  const std::vector<Ring> rings = ParallelRings(cluster, GpusOf(cluster));
  ASSERT_FALSE(rings.empty());
  for (const Ring& ring : rings) {
    ASSERT_EQ(ring.order.size(), 9u);
    EXPECT_EQ(std::set(ring.order.begin(), ring.order.end()).size(), 9u);
    int entered = 0;
    for (size_t i = 0; i < 9; ++i) {
      const int32_t host = cluster.device(ring.order[i]).host;
      entered += cluster.device(ring.order[(i + 1) % 9]).host != host ? 1 : 0;
    }
    EXPECT_EQ(entered, 3);
  }
  EXPECT_EQ(RateOf(rings), 5e9);
  ExpectWithinCapacity(cluster, rings);
}

// Every GPU has a NIC of 10 GB/s beside it: eight rings, each over another one.
TEST(ParallelRings, EveryNicIsUsed) {
  const Cluster cluster =
      GpuMachines("A100-40GB", {8, 8}, Interconnect::kNvswitch, 80'000, /*nics=*/8);
  const std::vector<Ring> rings = ParallelRings(cluster, GpusOf(cluster));
  EXPECT_NEAR(RateOf(rings), 80e9, 1);
  ExpectWithinCapacity(cluster, rings);
}

// Against all orders, where links of random figures join every pair.
TEST(RingSearch, FindsTheBestOfAllOrders) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    const int32_t n = 3 + trial % 4;
    TestDevices made(n);
    for (int32_t a = 0; a < n; ++a) {
      for (int32_t b = 0; b < a; ++b) {
        const Duplex duplex = random() % 3 == 0 ? Duplex::kHalf : Duplex::kFull;
        made.Join("d" + std::to_string(a), "d" + std::to_string(b), 1 + random() % 9, random() % 50,
                  duplex);
      }
    }
    const Cluster cluster = made.Build();
    const LinkCapacities capacities = AllCapacities(cluster);
    std::vector<DeviceId> order = AllDevicesOf(cluster);
    const Ring found = BestRing(cluster, order, capacities);
    Ring best;
    do {
      const Ring ring = MeasureRing(cluster, order, capacities);
      const bool better =
          ring.rate > best.rate || (ring.rate == best.rate && ring.latency < best.latency);
      if (better) best = ring;
    } while (std::next_permutation(order.begin() + 1, order.end()));
    EXPECT_EQ(found.rate, best.rate);
    EXPECT_EQ(found.latency, best.latency);
    ExpectWithinCapacity(cluster, ParallelRings(cluster, AllDevicesOf(cluster)));
  }
}

// Twelve devices on a circle of wide links, described in a shuffled order; all other ways are
// narrow.
TEST(RingSearch, FollowsWideLinksThroughManyDevices) {
  constexpr int32_t kDevices = 12;
  TestDevices made(kDevices);
  made.Forwarder("switch");
  for (int32_t i = 0; i < kDevices; ++i) {
    made.Join("d" + std::to_string(i), "switch", 100, 5);
    made.Join("d" + std::to_string(i * 5 % kDevices), "d" + std::to_string((i + 1) * 5 % kDevices),
              1000, 1);
  }
  const Cluster cluster = made.Build();
  const Ring ring = BestRing(cluster, AllDevicesOf(cluster), AllCapacities(cluster));
  EXPECT_EQ(ring.rate, 1000);
  EXPECT_EQ(std::set(ring.order.begin(), ring.order.end()).size(), size_t{kDevices});
}

}  // namespace
}  // namespace placewright
