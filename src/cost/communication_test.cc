#include "cost/communication.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <thread>

#include "cost/communication/test_clusters.h"
#include "graph/graph_builder.h"

namespace placewright {
namespace {

using enum CollectiveKind;
constexpr int64_t kMB = 1'000'000;

CollectiveRequest EvenRequest(CollectiveKind kind, int64_t bytes, size_t devices) {
  const int64_t n = static_cast<int64_t>(devices);
  return {kind, Bytes(bytes), Bytes((bytes + n - 1) / n)};
}

CollectiveEstimate EstimateOf(const Communication& communication, CollectiveKind kind,
                              int64_t bytes, const std::vector<DeviceId>& devices) {
  auto estimate = communication.Estimate(EvenRequest(kind, bytes, devices.size()), devices);
  EXPECT_TRUE(estimate.ok()) << estimate.error().ToString();
  return estimate.Take();
}

double GigabytesPerSecond(double bytes, Nanos time) {
  return bytes / static_cast<double>(time.count);
}

// Four devices on a switch, 100 ns, a byte a nanosecond; 4000 bytes of a tensor.
TEST(Communication, RingsByHand) {
  const Cluster cluster = SwitchedDevices(4, 1'000'000'000, 100);
  const Communication communication(cluster);
  const std::vector<DeviceId> devices = AllDevicesOf(cluster);
  const DeviceSetPlan& plan = *communication.PlanOf(devices).Take();
  const auto ring = [&](CollectiveKind kind, Bytes largest) {
    return plan.NanosOf(CollectiveAlgorithm::kRing, {kind, Bytes(4000), largest});
  };
  // Six steps of 100 + 1000; three; three of the largest piece; three and more of chunks (one
  // chunk: 4000 bytes are fewer than 4 KiB).
  EXPECT_EQ(ring(kAllReduce, Bytes(1000)), 6600);
  EXPECT_EQ(ring(kAllGather, Bytes(1000)), 3300);
  EXPECT_EQ(ring(kReduceScatter, Bytes(1900)), 6000);
  EXPECT_EQ(ring(kBroadcast, Bytes(4000)), 12300);
  // Two rounds: 2 * (100 + 4000).
  EXPECT_EQ(plan.NanosOf(CollectiveAlgorithm::kTree, {kBroadcast, Bytes(4000), Bytes(4000)}), 8200);
  // Three transfers share the root's link: 100 + 3 * 4000.
  const auto direct = [&](CollectiveKind kind) {
    return plan.NanosOf(CollectiveAlgorithm::kDirect, {kind, Bytes(4000), Bytes(1000)});
  };
  EXPECT_EQ(direct(kBroadcast), 12100);
  EXPECT_EQ(direct(kAllGather), std::numeric_limits<double>::infinity());
  // Bruck: 1 piece, then 2.
  EXPECT_EQ(plan.NanosOf(CollectiveAlgorithm::kTree, {kAllGather, Bytes(4000), Bytes(1000)}), 3200);
}

// One queue for all: two pairs that share no link hold the communicator, and the ring's links as ever.
TEST(Communication, OneCommunicatorIsHeldByAll) {
  TestDevices made(4);
  made.Join("d0", "d1", 1'000'000'000, 10);
  made.Join("d2", "d3", 1'000'000'000, 10);
  made.Collectives({.one_communicator = true});
  const Cluster cluster = made.Build();
  const Communication communication(cluster);
  const CollectiveEstimate first =
      EstimateOf(communication, kAllReduce, 4000, {DeviceId(0), DeviceId(1)});
  const CollectiveEstimate second =
      EstimateOf(communication, kBroadcast, 4000, {DeviceId(2), DeviceId(3)});
  EXPECT_EQ(std::vector(first.links.begin(), first.links.end()),
            (std::vector{LinkId(0), LinkId(1), cluster.communicator()}));
  EXPECT_EQ(second.links.back(), cluster.communicator());
  EXPECT_GT(second.links.size(), 1u);
  // As without: two steps of 10 + 2000.
  EXPECT_EQ(first.time, Nanos(4020));
  EXPECT_EQ(first.algorithm, CollectiveAlgorithm::kRing);
}

// Lines: 100 ns + a byte a nanosecond, 2000 ns + 10 bytes a nanosecond, at 1 GB/s. Over d0 and d1 as measured; over all
// three half as fast, as the narrowest route is. No link but the communicator is held.
TEST(Communication, StatedLinesCountBesideTheLinks) {
  TestDevices made(3);
  made.Join("d0", "d1", 1'000'000'000, 10);
  made.Join("d0", "d2", 2'000'000'000, 10);
  made.Join("d1", "d2", 500'000'000, 10);
  made.Collectives({.one_communicator = true,
                    .lines = {{Nanos(100), BytesPerSecond(1'000'000'000)},
                              {Nanos(2000), BytesPerSecond(10'000'000'000)}},
                    .measured_at = BytesPerSecond(1'000'000'000),
                    .source = "here"});
  const Cluster cluster = made.Build();
  const std::vector<DeviceId> two = {DeviceId(0), DeviceId(1)};
  const Communication communication(cluster);
  const CollectiveEstimate estimate = EstimateOf(communication, kAllReduce, 4000, two);
  EXPECT_EQ(estimate.time, Nanos(4100));
  EXPECT_EQ(estimate.algorithm, CollectiveAlgorithm::kStated);
  EXPECT_EQ(estimate.source, CostSource::kGiven);
  EXPECT_EQ(std::vector(estimate.links.begin(), estimate.links.end()),
            std::vector{cluster.communicator()});
  EXPECT_EQ(EstimateOf(communication, kBroadcast, 4, two).time, Nanos(2001));
  EXPECT_EQ(EstimateOf(communication, kAllGather, 3000, AllDevicesOf(cluster)).time, Nanos(6200));
  EXPECT_EQ(EstimateOf(communication, kAllReduce, 4000, {DeviceId(1)}).time, Nanos(0));
  // What was measured with these very devices counts before.
  const Communication measured(cluster,
                               {{"nccl",
                                 MeasuredCollectiveKey(kAllReduce, cluster, two),
                                 {{Bytes(1000), Nanos(5000), 3}, {Bytes(9000), Nanos(9000), 3}}}});
  const CollectiveEstimate fitted = EstimateOf(measured, kAllReduce, 5000, two);
  EXPECT_EQ(fitted.time, Nanos(7000));
  EXPECT_EQ(fitted.source, CostSource::kMeasured);
  EXPECT_EQ(std::vector(fitted.links.begin(), fitted.links.end()),
            std::vector{cluster.communicator()});
}

// From d0, which is near: 10 + 4000; from d2, which is not: 1000 + 4000.
TEST(Communication, DirectTransfersDependOnTheRoot) {
  TestDevices made(3);
  made.Join("d0", "d1", 1'000'000'000, 10);
  made.Join("d0", "d2", 1'000'000'000, 10);
  made.Join("d1", "d2", 1'000'000'000, 1000);
  const Cluster cluster = made.Build();
  const Communication communication(cluster);
  const std::vector<DeviceId> devices = AllDevicesOf(cluster);
  const DeviceSetPlan& plan = *communication.PlanOf(devices).Take();
  const auto direct = [&](int32_t root) {
    return plan.NanosOf(CollectiveAlgorithm::kDirect,
                        {kBroadcast, Bytes(4000), Bytes(4000), DeviceId(root)});
  };
  EXPECT_EQ(direct(0), 4010);
  EXPECT_EQ(direct(2), 5000);
  const auto links = [&](int32_t root) {
    return plan.LinksOf(CollectiveAlgorithm::kDirect, kBroadcast, DeviceId(root));
  };
  EXPECT_EQ(links(0).size(), 2u);
  EXPECT_NE(links(0), links(2));
  const CollectiveEstimate estimate =
      communication.Estimate({kBroadcast, Bytes(4000), Bytes(4000), DeviceId(0)}, devices).Take();
  EXPECT_EQ(estimate.algorithm, CollectiveAlgorithm::kDirect);
  EXPECT_EQ(estimate.time, Nanos(4010));
  EXPECT_EQ(std::vector(estimate.links.begin(), estimate.links.end()), links(0));
}

// Two machines of two devices each. Inside a byte a nanosecond and 10 ns, across 0.1 and 1000 ns.
Cluster TwoMachinesOfTwo() {
  TestDevices made(4, /*per_host=*/2);
  made.Join("d0", "d1", 1'000'000'000, 10);
  made.Join("d2", "d3", 1'000'000'000, 10);
  for (const char* const name : {"s0", "s1"}) made.Forwarder(name);
  for (const auto& [device, over] : {std::pair("d0", "s0"), std::pair("d1", "s0"),
                                     std::pair("d2", "s1"), std::pair("d3", "s1")}) {
    made.Join(device, over, 1'000'000'000, 0);
  }
  made.Join("s0", "s1", 100'000'000, 1000);
  return made.Build();
}

TEST(Communication, HierarchiesByHand) {
  const Cluster cluster = TwoMachinesOfTwo();
  const Communication communication(cluster);
  const std::vector<DeviceId> devices = AllDevicesOf(cluster);
  const DeviceSetPlan& plan = *communication.PlanOf(devices).Take();
  // d0 reaches d1 directly. Inside: one step of 10 + 4000 each way. Across: two slices of 4000
  // bytes in halves share the link s0>s1, two steps of 1000 + 2 * 2000 * 10.
  EXPECT_EQ(
      plan.NanosOf(CollectiveAlgorithm::kHierarchical, {kAllReduce, Bytes(8000), Bytes(2000)}),
      2 * 4010 + 2 * 41000);
  // One step across of both devices' pieces, then one inside of half of everything.
  EXPECT_EQ(
      plan.NanosOf(CollectiveAlgorithm::kHierarchical, {kAllGather, Bytes(8000), Bytes(2000)}),
      41000 + 4010);
  // The ring crosses six times with a quarter: 6 * (1000 + 20000).
  EXPECT_EQ(plan.NanosOf(CollectiveAlgorithm::kRing, {kAllReduce, Bytes(8000), Bytes(2000)}),
            6 * 21000);
  const CollectiveEstimate chosen = EstimateOf(communication, kAllReduce, 8000, devices);
  EXPECT_NE(chosen.algorithm, CollectiveAlgorithm::kRing);
}

// What every route from the one machine to the other takes.
std::vector<LinkId> LinksBetween(const Cluster& cluster, std::span<const DeviceId> from,
                                 std::span<const DeviceId> to) {
  std::vector<LinkId> common;
  for (const LinkId link : cluster.route(from[0], to[0]).links) {
    const bool of_all = std::all_of(from.begin(), from.end(), [&](DeviceId a) {
      return std::all_of(to.begin(), to.end(), [&](DeviceId b) {
        const auto& links = cluster.route(a, b).links;
        return std::find(links.begin(), links.end(), link) != links.end();
      });
    });
    if (of_all) common.push_back(link);
  }
  return common;
}

// 4000 bytes are one chunk. The ring d1 d0 d2 d3: three steps, each as slow as the one across, 1000
// + 4000 * 10. The tree: d1 to d0, 10 + 4000; d1 to d2 and d0 to d3 share s0>s1, 1000 + 80000. The
// hierarchy: d1 to d2, then one step inside. Directly: d2 and d3 share s0>s1.
TEST(Communication, BroadcastsByHand) {
  const Cluster cluster = TwoMachinesOfTwo();
  const Communication communication(cluster);
  const DeviceSetPlan& plan = *communication.PlanOf(AllDevicesOf(cluster)).Take();
  const auto time = [&](CollectiveAlgorithm way) {
    return plan.NanosOf(way, {kBroadcast, Bytes(4000), Bytes(4000), DeviceId(1)});
  };
  EXPECT_EQ(time(CollectiveAlgorithm::kRing), 3 * 41000);
  EXPECT_EQ(time(CollectiveAlgorithm::kTree), 4010 + 81000);
  EXPECT_EQ(time(CollectiveAlgorithm::kHierarchical), 41000 + 4010);
  EXPECT_EQ(time(CollectiveAlgorithm::kDirect), 81000);
}

// Whichever device of a machine is the root: the network's links out of its machine, none into it;
// out of the root itself, none into it.
TEST(Communication, BroadcastsHoldTheDirectionsFromTheirRoot) {
  for (const Cluster& cluster :
       {TwoMachinesOfTwo(), GpuMachines("V100-16GB", {4, 4}, Interconnect::kNvlink)}) {
    std::vector<DeviceId> devices = GpusOf(cluster);
    if (devices.empty()) devices = AllDevicesOf(cluster);
    const Communication communication(cluster);
    const DeviceSetPlan& plan = *communication.PlanOf(devices).Take();
    const size_t half = devices.size() / 2;
    for (const DeviceId root : devices) {
      std::span<const DeviceId> own(devices.data(), half), others(devices.data() + half, half);
      if (cluster.device(root).host != cluster.device(own[0]).host) std::swap(own, others);
      const std::vector<LinkId> out = LinksBetween(cluster, own, others);
      const std::vector<LinkId> in = LinksBetween(cluster, others, own);
      ASSERT_FALSE(out.empty());
      ASSERT_EQ(out.size(), in.size());
      for (const CollectiveAlgorithm way :
           {CollectiveAlgorithm::kRing, CollectiveAlgorithm::kTree,
            CollectiveAlgorithm::kHierarchical, CollectiveAlgorithm::kDirect}) {
        const std::vector<LinkId>& held = plan.LinksOf(way, kBroadcast, root);
        const auto holds = [&](LinkId link) {
          return std::binary_search(held.begin(), held.end(), link);
        };
        const std::string what = std::string(ToString(way)) + " from " + cluster.device(root).name;
        EXPECT_TRUE(std::all_of(out.begin(), out.end(), holds)) << what;
        EXPECT_TRUE(std::none_of(in.begin(), in.end(), holds)) << what;
        EXPECT_TRUE(std::any_of(devices.begin(), devices.end(), [&](DeviceId to) {
          return to != root && holds(cluster.route(root, to).links.front());
        })) << what;
        EXPECT_TRUE(std::none_of(others.begin(), others.end(), [&](DeviceId from) {
          return holds(cluster.route(from, root).links.back());
        })) << what;
      }
    }
  }
}

// nccl-tests on a DGX-1 with eight V100 report bus bandwidths of about 130 GB/s; six lanes of 23.95
// GB/s make 143.7, less the latencies of fourteen steps.
// Four devices on a switch, 100 ns, a byte a nanosecond, each with 4000 bytes: three transfers of 1000 share each link.
TEST(Communication, AllToAllsByHand) {
  const Cluster cluster = SwitchedDevices(4, 1'000'000'000, 100);
  const Communication communication(cluster);
  const std::vector<DeviceId> devices = AllDevicesOf(cluster);
  const auto request = [](int64_t before, int64_t behind) {
    return RequestOfMembers(kAllToAll, Bytes(before), Bytes(behind), DeviceId());
  };
  const CollectiveEstimate even = communication.Estimate(request(4000, 4000), devices).Take();
  EXPECT_EQ(even.time, Nanos(3100));
  EXPECT_EQ(even.algorithm, CollectiveAlgorithm::kDirect);
  EXPECT_EQ(even.links.size(), 8u);
  EXPECT_EQ(communication.Estimate(request(4000, 6000), devices).Take().time, Nanos(4600));
  EXPECT_EQ(communication.Estimate(request(0, 0), devices).Take().time, Nanos(0));
  const DeviceSetPlan& plan = *communication.PlanOf(devices).Take();
  EXPECT_EQ(plan.NanosOf(CollectiveAlgorithm::kRing, request(4000, 4000)),
            std::numeric_limits<double>::infinity());
}

// Four devices in pairs behind NICs of a byte a nanosecond: s = (3/4) / ((1/2) (1 - 0.44 / 2)) = 1.923 times the bytes of
// four pairs of devices each way. Each sends 1000 bytes to each other one: 4 * 1923.08 over a NIC, 200 ns away.
TEST(Communication, AllToAllsAcrossMachinesLoseSome) {
  TestDevices made(4, 2);
  for (const char* const forwarder : {"s0", "s1"}) made.Forwarder(forwarder);
  for (int32_t d = 0; d < 4; ++d) {
    made.Join("d" + std::to_string(d), d < 2 ? "s0" : "s1", 1'000'000'000'000, 50);
  }
  made.Join("s0", "s1", 1'000'000'000, 100);
  const Cluster cluster = made.Build();
  const Communication communication(cluster);
  const std::vector<DeviceId> devices = AllDevicesOf(cluster);
  const CollectiveRequest request{kAllToAll, Bytes(4000), Bytes(4000)};
  EXPECT_EQ(communication.Estimate(request, devices).Take().time, Nanos(200 + 7693));
}

// Per GPU of 8 H100 on NVSwitch, of a gigabyte each: 380 GB/s are published. A send and a receive for each peer.
TEST(Communication, AllToAllsOfEightH100) {
  const Cluster cluster = GpuMachines("H100", {8}, Interconnect::kNvswitch);
  const Communication communication(cluster);
  const std::vector<DeviceId> gpus = GpusOf(cluster);
  const auto time = [&](int64_t bytes) {
    return communication.Estimate({kAllToAll, Bytes(bytes), Bytes(bytes)}, gpus).Take().time;
  };
  EXPECT_NEAR(GigabytesPerSecond(1e9 * 7 / 8, time(1'000 * kMB)), 375, 10);
  EXPECT_GT(time(8), Nanos(37'000));
  EXPECT_LT(time(8), Nanos(50'000));
}

TEST(Communication, EightV100AreNearTheirLanes) {
  const Cluster cluster = GpuMachines("V100-16GB", {8}, Interconnect::kNvlink);
  const Communication communication(cluster);
  const CollectiveEstimate estimate =
      EstimateOf(communication, kAllReduce, 100 * kMB, GpusOf(cluster));
  EXPECT_EQ(estimate.algorithm, CollectiveAlgorithm::kRing);
  const double bus = GigabytesPerSecond(2 * 7.0 / 8 * 100e6, estimate.time);
  EXPECT_GT(bus, 125);
  EXPECT_LT(bus, 143.7);
  EXPECT_EQ(estimate.links.size(), 32u);  // both directions of the mesh's 16 pairs
}

// Over 100 Gb/s between two machines each tensor has to leave each machine once: 12 GB/s, the rate
// of the PCIe links to the NIC.
TEST(Communication, TwoMachinesAreNearTheirNetwork) {
  const Cluster cluster = GpuMachines("V100-16GB", {8, 8}, Interconnect::kNvlink);
  const Communication communication(cluster);
  const CollectiveEstimate estimate =
      EstimateOf(communication, kAllReduce, 400 * kMB, GpusOf(cluster));
  EXPECT_EQ(estimate.algorithm, CollectiveAlgorithm::kHierarchical);
  const double rate = GigabytesPerSecond(400e6, estimate.time);
  EXPECT_GT(rate, 10);
  EXPECT_LT(rate, 12.5);
}

TEST(Communication, FewBytesTakeTreesAndManyRings) {
  const Cluster cluster = SwitchedDevices(32, 10'000'000'000, 5000);
  const Communication communication(cluster);
  const std::vector<DeviceId> devices = AllDevicesOf(cluster);
  EXPECT_EQ(EstimateOf(communication, kAllReduce, 1000, devices).algorithm,
            CollectiveAlgorithm::kTree);
  EXPECT_EQ(EstimateOf(communication, kAllReduce, 1000 * kMB, devices).algorithm,
            CollectiveAlgorithm::kRing);
}

// More bytes never take less, and no algorithm beats what each device must receive: (n - 1) / n of
// the bytes, twice in an all-reduce (Patarasuk and Yuan 2009), over all links that lead to it.
TEST(Communication, TimesGrowAndStayAboveTheBound) {
  for (const std::vector<int32_t>& counts :
       {std::vector<int32_t>{8}, {4, 2, 3}, {1, 1, 1}, {2, 2, 2, 2}}) {
    const Interconnect way = counts[0] == 1 ? Interconnect::kPcie3 : Interconnect::kNvlink;
    const Cluster cluster = GpuMachines("V100-32GB", counts, way);
    const Communication communication(cluster);
    const std::vector<DeviceId> gpus = GpusOf(cluster);
    const double n = static_cast<double>(gpus.size());
    double incoming = 0;  // of the first device: NVLink and PCIe
    std::vector<LinkId> last;
    for (const DeviceId from : gpus) {
      if (from != gpus[0]) last.push_back(cluster.route(from, gpus[0]).links.back());
    }
    std::sort(last.begin(), last.end());
    last.erase(std::unique(last.begin(), last.end()), last.end());
    for (const LinkId link : last) {
      incoming += static_cast<double>(cluster.link(link).bandwidth.count) / 1e9;
    }
    for (const CollectiveKind kind : kCollectiveKinds) {
      Nanos before;
      for (int64_t bytes = 1; bytes < 4'000 * kMB; bytes = bytes * 3 + 1) {
        const Nanos time = EstimateOf(communication, kind, bytes, gpus).time;
        EXPECT_GE(time, before) << ToString(kind) << ", " << bytes << " bytes";
        before = time;
        const double received = static_cast<double>(bytes) * (n - 1) / n;
        double bound = (kind == kAllReduce ? 2 : 1) * received / incoming;
        if (kind == kBroadcast) bound = static_cast<double>(bytes) / incoming;
        if (kind == kAllToAll) bound = received / n / incoming;
        EXPECT_GE(static_cast<double>(time.count), bound) << ToString(kind);
      }
    }
  }
}

TEST(Communication, NothingMovesWithOneDeviceOrNoBytes) {
  const Cluster cluster = SwitchedDevices(2, 1000, 10);
  const Communication communication(cluster);
  for (const CollectiveEstimate& nothing :
       {EstimateOf(communication, kAllReduce, 1000, {DeviceId(1)}),
        EstimateOf(communication, kAllGather, 0, AllDevicesOf(cluster))}) {
    EXPECT_EQ(nothing.algorithm, CollectiveAlgorithm::kNone);
    EXPECT_EQ(nothing.time, Nanos(0));
    EXPECT_TRUE(nothing.links.empty());
  }
}

TEST(Communication, LaunchesOnce) {
  const Cluster cluster = GpuMachines("V100-16GB", {2}, Interconnect::kNvlink);
  const Communication communication(cluster);
  const std::vector<DeviceId> gpus = GpusOf(cluster);
  const DeviceSetPlan& plan = *communication.PlanOf(gpus).Take();
  const CollectiveRequest request = EvenRequest(kAllReduce, kMB, 2);
  EXPECT_EQ(EstimateOf(communication, kAllReduce, kMB, gpus).time,
            plan.Fastest(request).time + cluster.kind(gpus[0]).launch_overhead);
}

TEST(Communication, RejectsWhatCannotCommunicate) {
  TestDevices made(3);
  made.Join("d0", "d1", 1000, 10);
  const Cluster cluster = made.Build();
  const Communication communication(cluster);
  const std::vector<DeviceId> all = AllDevicesOf(cluster);
  const auto error = [&](const std::vector<DeviceId>& devices) {
    return communication.Estimate(EvenRequest(kAllReduce, 8, devices.size() + 1), devices).error();
  };
  EXPECT_EQ(error(all).code, ErrorCode::kUnreachable);
  EXPECT_NE(error(all).message.find("d0 and d2"), std::string::npos) << error(all).message;
  EXPECT_EQ(error({DeviceId(0), DeviceId(1), DeviceId(0)}).code, ErrorCode::kField);
  EXPECT_EQ(error({}).code, ErrorCode::kField);
}

// Whatever the order of the devices and whichever thread asks first.
TEST(Communication, SetsHaveOnePlan) {
  const Cluster cluster = GpuMachines("V100-16GB", {8, 8}, Interconnect::kNvlink);
  const std::vector<DeviceId> gpus = GpusOf(cluster);
  const Communication alone(cluster), shared(cluster);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 20; ++i) {
        std::vector<DeviceId> some = gpus;
        std::shuffle(some.begin(), some.end(), random);
        some.resize(2 + random() % 8);
        EXPECT_EQ(EstimateOf(shared, kAllReduce, kMB, some).time,
                  EstimateOf(alone, kAllReduce, kMB, some).time);
        const CollectiveRequest from_root = {kBroadcast, Bytes(kMB), Bytes(kMB),
                                             some[static_cast<size_t>(i % 2)]};
        const CollectiveEstimate one = shared.Estimate(from_root, some).Take();
        const Communication other(cluster);
        const CollectiveEstimate same = other.Estimate(from_root, some).Take();
        EXPECT_EQ(one.time, same.time);
        EXPECT_TRUE(
            std::equal(one.links.begin(), one.links.end(), same.links.begin(), same.links.end()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<DeviceId> backwards(gpus.rbegin(), gpus.rend());
  EXPECT_EQ(shared.PlanOf(gpus).Take(), shared.PlanOf(backwards).Take());
}

TEST(Communication, MeasuredTimesReplaceModelledOnes) {
  const Cluster cluster = GpuMachines("V100-16GB", {4}, Interconnect::kNvlink);
  const std::vector<DeviceId> gpus = GpusOf(cluster);
  MeasuredCollectives measured{"nccl", "all-reduce 4xV100-16GB/1", {}};
  for (int64_t bytes = 1024; bytes <= 64 * kMB; bytes *= 4) {
    measured.sizes.push_back({Bytes(bytes), Nanos(20'000 + bytes / 50), 10});
  }
  const Communication communication(cluster, {measured}), modelled(cluster);
  const CollectiveEstimate estimate = EstimateOf(communication, kAllReduce, kMB, gpus);
  EXPECT_NEAR(static_cast<double>(estimate.time.count), 40'000, 40);
  EXPECT_EQ(estimate.source, CostSource::kMeasured);
  EXPECT_EQ(std::vector(estimate.links.begin(), estimate.links.end()).size(),
            EstimateOf(modelled, kAllReduce, kMB, gpus).links.size());
  // Beyond what was measured, of another collective, of other devices.
  EXPECT_EQ(EstimateOf(communication, kAllReduce, 1000 * kMB, gpus).source, CostSource::kModelled);
  EXPECT_EQ(EstimateOf(communication, kBroadcast, kMB, gpus).time,
            EstimateOf(modelled, kBroadcast, kMB, gpus).time);
  const std::vector<DeviceId> pair(gpus.begin(), gpus.begin() + 2);
  EXPECT_EQ(EstimateOf(communication, kAllReduce, kMB, pair).source, CostSource::kModelled);
}

// Two members each: an all-reduce of 400 bytes and an all-gather of 100 and 300.
struct GraphWithCollectives {
  Graph graph;
  IdVector<OpId, DeviceId> device_of;
};

GraphWithCollectives CollectivesOf(const std::vector<std::string>& types) {
  GraphBuilder builder("g", "aten");
  IdVector<OpId, DeviceId> device_of;
  const auto add = [&](const std::string& name, const std::string& type, int64_t in, int64_t out,
                       int32_t device) {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    spec.inputs = {builder.AddInput(name + ".in", TensorKind::kInput, DType::kU8, {in}).Take()};
    spec.outputs = {{.name = name, .dtype = DType::kU8, .shape = {out}}};
    const TensorId made = builder.AddOp(std::move(spec)).Take().front();
    device_of.push_back(DeviceId(device));
    return builder.added().tensors[made].producer;
  };
  const OpId r0 = add("r0", types[0], 400, 400, 0), r1 = add("r1", types[1], 400, 400, 1);
  const OpId g0 = add("g0", "placewright.all_gather.default", 100, 400, 0);
  const OpId g1 = add("g1", "placewright.all_gather.default", 300, 400, 1);
  EXPECT_TRUE(builder.AddCollective("reduce", {r0, r1}).ok());
  EXPECT_TRUE(builder.AddCollective("gather", {g0, g1}).ok());
  return {std::move(builder).Build().Take(), std::move(device_of)};
}

// A reduce-scatter of 400 bytes into 100 and 300, and a broadcast of 400 from d1.
TEST(CollectiveCosts, OfPartsAndRoots) {
  const Cluster cluster = SwitchedDevices(2, 1'000'000'000, 50);
  const Communication communication(cluster);
  GraphBuilder builder("g", "aten");
  IdVector<OpId, DeviceId> device_of;
  const auto add = [&](const std::string& name, const std::string& type, int64_t in, int64_t out,
                       int32_t device) {
    OpSpec spec;
    spec.name = name;
    spec.type = type;
    if (in > 0) {
      spec.inputs = {builder.AddInput(name + ".in", TensorKind::kInput, DType::kU8, {in}).Take()};
    }
    if (out > 0) spec.outputs = {{.name = name, .dtype = DType::kU8, .shape = {out}}};
    EXPECT_TRUE(builder.AddOp(std::move(spec)).ok());
    device_of.push_back(DeviceId(device));
    return OpId(device_of.size() - 1);
  };
  const OpId s0 = add("s0", "placewright.reduce_scatter.default", 400, 100, 0);
  const OpId s1 = add("s1", "placewright.reduce_scatter.default", 400, 300, 1);
  const OpId b1 = add("b1", "placewright.broadcast.default", 400, 0, 1);
  const OpId b0 = add("b0", "placewright.broadcast.default", 0, 400, 0);
  ASSERT_TRUE(builder.AddCollective("scatter", {s0, s1}).ok());
  ASSERT_TRUE(builder.AddCollective("broadcast", {b1, b0}).ok());
  const Graph graph = std::move(builder).Build().Take();
  const auto costs = CollectiveCosts(graph, device_of, communication).Take();
  EXPECT_EQ(costs[CollectiveId(0)].time, Nanos(350));  // one step of the larger piece
  EXPECT_EQ(costs[CollectiveId(1)].time, Nanos(450));
  EXPECT_EQ(costs[CollectiveId(0)].links.size(), 4u);
}

TEST(CollectiveCosts, FollowFromTheMembers) {
  const Cluster cluster = SwitchedDevices(2, 1'000'000'000, 50);
  const Communication communication(cluster);
  const std::string reduce = "placewright.all_reduce.default";
  const GraphWithCollectives with = CollectivesOf({reduce, reduce});
  const auto costs = CollectiveCosts(with.graph, with.device_of, communication).Take();
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[CollectiveId(0)].time, Nanos(2 * 250));  // two steps of 50 + 200
  EXPECT_EQ(costs[CollectiveId(1)].time, Nanos(350));      // one of the larger piece
  EXPECT_EQ(costs[CollectiveId(0)].links.size(), 4u);
  for (const std::vector<std::string>& types :
       {std::vector<std::string>{"aten.mm.default", "aten.mm.default"},
        {reduce, "placewright.all_gather.default"}}) {
    const GraphWithCollectives wrong = CollectivesOf(types);
    EXPECT_EQ(CollectiveCosts(wrong.graph, wrong.device_of, communication).error().code,
              ErrorCode::kField);
  }
}

}  // namespace
}  // namespace placewright
