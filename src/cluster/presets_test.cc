#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cluster/catalogue.h"
#include "cluster/random_topology.h"

namespace placewright {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

Cluster Make(std::string_view name) { return MakePreset(name).Take(); }

std::map<std::string, int> CountKinds(const Cluster& c) {
  std::map<std::string, int> counts;
  for (const DeviceId id : c.devices()) ++counts[c.kind(id).name];
  return counts;
}

TEST(Presets, Unknown) {
  const auto result = MakePreset("4xP10");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnknownName);
  EXPECT_THAT(result.error().message, testing::HasSubstr("4xP100"));
}

TEST(Presets, Hardware) {
  using M = std::map<std::string, int>;
  const std::string xeon = "Xeon-E5-2650v4";
  EXPECT_EQ(CountKinds(Make("4xP100")), (M{{"P100-12GB", 4}, {xeon, 2}}));
  EXPECT_EQ(CountKinds(Make("4xP100-tf")), (M{{"P100-12GB", 4}, {"2x-" + xeon, 1}}));
  EXPECT_EQ(CountKinds(Make("8xP100")), (M{{"P100-16GB", 8}, {xeon, 1}}));
  EXPECT_EQ(CountKinds(Make("4xP100-16GB")), (M{{"P100-16GB", 4}, {xeon, 1}}));
  EXPECT_EQ(CountKinds(Make("2xP100-16GB")), (M{{"P100-16GB", 2}, {xeon, 1}}));
  EXPECT_EQ(CountKinds(Make("tag-testbed")),
            (M{{"V100-32GB", 4}, {"GTX-1080Ti", 8}, {"P100-12GB", 4}, {xeon, 14}}));
  EXPECT_EQ(CountKinds(Make("tag-cloud")), (M{{"V100-16GB", 16}, {"T4", 16}, {xeon, 12}}));
  EXPECT_EQ(CountKinds(Make("2xV100")), (M{{"V100-16GB", 2}, {xeon, 2}}));
  EXPECT_EQ(CountKinds(Make("dgx-a100")), (M{{"A100-40GB", 8}, {"EPYC-7742", 2}}));
  EXPECT_EQ(CountKinds(Make("mixed-lab")),
            (M{{"V100-32GB", 1}, {"GTX-1080Ti", 2}, {"T4", 1}, {xeon, 6}}));
  EXPECT_EQ(CountKinds(Make("dgx-2")), (M{{"V100-32GB", 16}, {"Xeon-Platinum-8168", 2}}));
  EXPECT_EQ(CountKinds(Make("p2.8xlarge")), (M{{"K80", 8}, {"Xeon-E5-2686v4", 1}}));
}

TEST(Presets, TagsTestbedAsMeasured) {
  const Cluster c = Make("tag-testbed-measured");
  EXPECT_EQ(CountKinds(c), CountKinds(Make("tag-testbed")));
  const auto bandwidth = [&](const char* a, const char* b) {
    return c.route(c.FindDevice(a), c.FindDevice(b)).bandwidth;
  };
  EXPECT_EQ(bandwidth("host0/gpu0", "host0/gpu3"), BytesPerSecond(8'000'000'000));
  EXPECT_EQ(bandwidth("host1/gpu0", "host1/gpu1"), BytesPerSecond(3'000'000'000));
  EXPECT_EQ(bandwidth("host0/gpu0", "host6/gpu1"), BytesPerSecond(2'810'000'000));
  EXPECT_TRUE(c.communicator().valid());
  EXPECT_EQ(c.collectives().lines.size(), 2u);
  const Cluster two = Make("tag-two-1080ti-measured");
  EXPECT_EQ(two.FindDevice("host1/gpu1"), DeviceId());
  EXPECT_EQ(two.route(two.FindDevice("host0/gpu0"), two.FindDevice("host1/gpu0")).bandwidth,
            BytesPerSecond(2'810'000'000));
  EXPECT_EQ(two.collectives(), c.collectives());
}

TEST(Presets, OneCommunicatorBehindAnyName) {
  const Cluster one = Make("tag-testbed+one-communicator"), without = Make("tag-testbed");
  EXPECT_EQ(one.name(), "tag-testbed+one-communicator");
  EXPECT_EQ(one.link_count(), without.link_count() + 1);
  EXPECT_TRUE(one.collectives().lines.empty());
  EXPECT_FALSE(without.communicator().valid());
  EXPECT_TRUE(Make("2x dgx-1+one-communicator").communicator().valid());
  EXPECT_EQ(Make("tag-testbed-measured+one-communicator").collectives(),
            Make("tag-testbed-measured").collectives());
  EXPECT_FALSE(MakePreset("+one-communicator").ok());
}

// The topology that `cluster random` draws, by its seed.
TEST(Presets, MachinesAreDrawnByASeed) {
  const Cluster drawn = std::move(DrawTopology({}, 7).Take()).Build().Take();
  EXPECT_EQ(Make("random:7").DeviceNames(), drawn.DeviceNames());
  EXPECT_NE(Make("random:8").DeviceNames(), drawn.DeviceNames());
  EXPECT_FALSE(MakePreset("random:").ok());
  EXPECT_FALSE(MakePreset("random:-1").ok());
  EXPECT_FALSE(MakePreset("random:1x").ok());
}

TEST(Presets, SeveralMachines) {
  using M = std::map<std::string, int>;
  EXPECT_EQ(CountKinds(Make("4x dgx-1")), (M{{"V100-16GB", 32}, {"Xeon-E5-2698v4", 8}}));
  EXPECT_EQ(CountKinds(Make("1x dgx-1")), CountKinds(Make("dgx-1")));
  const Cluster two = Make("2x dgx-1");
  EXPECT_EQ(two.name(), "2x dgx-1");
  const auto between = [&](const char* a, const char* b) {
    return two.route(two.FindDevice(a), two.FindDevice(b));
  };
  // Each pair of GPUs has a switch with a NIC of 12.5 GB/s in a slot of 12:
  // GPU > switch > NIC > network > NIC > switch > GPU: 3 + 1 + 4 + 4 + 1 + 3 us.
  const Route pair = between("host0/gpu7", "host1/gpu6");
  EXPECT_EQ(pair.links.size(), 6u);
  EXPECT_EQ(pair.bandwidth, BytesPerSecond(12'000'000'000));
  EXPECT_EQ(pair.latency, Nanos(16'000));
  EXPECT_EQ(between("host1/gpu0", "host1/gpu3").bandwidth, BytesPerSecond(47'900'000'000));
  for (const char* wrong : {"0x dgx-1", "01x dgx-1", "129x dgx-1", "-1x dgx-1", "x dgx-1",
                            "2x 4xP100", "2x4xP100", "2 x dgx-1", "2x  dgx-1", "99999999999x dgx-1",
                            "17xH100", "0xH100", "8xP10", "2x4xP100-16GB"}) {
    EXPECT_FALSE(MakePreset(wrong).ok()) << wrong;
  }
}

TEST(Presets, WhatPeopleRentAndOwn) {
  using M = std::map<std::string, int>;
  EXPECT_EQ(CountKinds(Make("8xH100")), (M{{"H100", 8}, {"Xeon-Platinum-8480+", 2}}));
  EXPECT_EQ(CountKinds(Make("8xH200")), (M{{"H200", 8}, {"Xeon-Platinum-8480+", 2}}));
  EXPECT_EQ(CountKinds(Make("8xB200")), (M{{"B200", 8}, {"Xeon-Platinum-8570", 2}}));
  EXPECT_EQ(CountKinds(Make("8xA100-80GB")), (M{{"A100-80GB", 8}, {"EPYC-7742", 2}}));
  EXPECT_EQ(CountKinds(Make("2x4090")), (M{{"RTX-4090", 2}, {"EPYC-7763", 1}}));
  EXPECT_EQ(CountKinds(Make("4x3090")), (M{{"RTX-3090", 4}, {"EPYC-7763", 1}}));
  EXPECT_EQ(CountKinds(Make("p4d.24xlarge")), (M{{"A100-40GB", 8}, {"Xeon-Platinum-8275CL", 2}}));
  EXPECT_EQ(CountKinds(Make("p5.48xlarge")), (M{{"H100", 8}, {"EPYC-7R13", 2}}));
  EXPECT_EQ(CountKinds(Make("g6e.48xlarge")), (M{{"L40S", 8}, {"EPYC-7R13", 2}}));
  EXPECT_EQ(CountKinds(Make("a3-highgpu-8g"))["H100"], 8);
  EXPECT_EQ(CountKinds(Make("Standard_ND96isr_H100_v5"))["H100"], 8);
  EXPECT_EQ(CountKinds(Make("nd96amsr-a100-v4"))["A100-80GB"], 8);
  EXPECT_EQ(CountKinds(Make("ND96isr_H100_v5"))["Xeon-Platinum-8480C-48-cores"], 2);
  // NVSwitch, 18 lanes of 20.9 GB/s; xGMI, one link a pair; none between cards in slots.
  const auto bandwidth = [](const Cluster& c, int a, int b) {
    return c.route(DeviceId(a), DeviceId(b)).bandwidth.count;
  };
  EXPECT_EQ(bandwidth(Make("8xH100"), 0, 7), 376'200'000'000);
  EXPECT_EQ(bandwidth(Make("8xMI300X"), 0, 7), 48'000'000'000);
  EXPECT_EQ(bandwidth(Make("4x3090"), 0, 3), 24'000'000'000);
  // A g5.xlarge has 2 of 48 cores: 2 x 2.8 GHz x 32.
  const Cluster small = Make("g5.xlarge");
  EXPECT_DOUBLE_EQ(small.kind(DeviceId(1)).peak.f32, 2 * 2.8e9 * 32);
  EXPECT_EQ(small.device(DeviceId(1)).capacity, Bytes(16 * kGiB));
}

TEST(Presets, GpusOfAnyKindAreAMachineWithAssumptionsSaid) {
  const Cluster c = Make("4xL40S");
  EXPECT_EQ(CountKinds(c)["L40S"], 4);
  ASSERT_FALSE(c.notes().empty());
  EXPECT_THAT(c.notes().front(), testing::HasSubstr("assumed"));
  EXPECT_EQ(CountKinds(Make("16 x V100-32GB"))["V100-32GB"], 16);
  EXPECT_EQ(CountKinds(Make("1x RTX 4090"))["RTX-4090"], 1);
  EXPECT_THAT(Make("2x3080").notes().front(), testing::HasSubstr("10 GB"));
  EXPECT_TRUE(Make("8xH100").notes().empty());
}

// Four machines of eight, NIC r of each on rail r. Beside GPU 3 is NIC 3 of 50 GB/s, of which 94% are left.
TEST(Presets, SeveralMachinesByRail) {
  const Cluster c = Make("4x8xH100");
  EXPECT_EQ(c.name(), "4x8xH100");
  EXPECT_EQ(CountKinds(c), (std::map<std::string, int>{{"H100", 32}, {"Xeon-Platinum-8480+", 8}}));
  const auto names = [&](const char* from, const char* to) {
    std::vector<std::string> links;
    for (const LinkId id : c.route(c.FindDevice(from), c.FindDevice(to)).links) {
      links.push_back(c.link(id).name);
    }
    return links;
  };
  EXPECT_THAT(names("host0/gpu3", "host2/gpu3"),
              testing::ElementsAre("host0/gpu3>host0/pcie0.3", "host0/pcie0.3>host0/nic3",
                                   "host0/nic3>host0/nic3.port", "host0/nic3.port>rail3",
                                   "rail3>host2/nic3.port", "host2/nic3.port>host2/nic3",
                                   "host2/nic3>host2/pcie0.3", "host2/pcie0.3>host2/gpu3"));
  EXPECT_THAT(names("host0/gpu3", "host1/gpu5"), testing::Contains("host0/nic3.port>spine"));
  const Route& same = c.route(c.FindDevice("host0/gpu3"), c.FindDevice("host2/gpu3"));
  EXPECT_EQ(same.bandwidth, BytesPerSecond(47'000'000'000));
  // GPU > switch > NIC > port > rail > port > NIC > switch > GPU: 3 + 1 + 4 + 0 + 0 + 4 + 1 + 3 us;
  // over the spine half a microsecond more.
  EXPECT_EQ(same.latency, Nanos(16'000));
  EXPECT_EQ(c.route(c.FindDevice("host0/gpu3"), c.FindDevice("host1/gpu5")).latency, Nanos(16'500));
  EXPECT_EQ(CountKinds(Make("2xp5.48xlarge"))["H100"], 16);
  EXPECT_EQ(CountKinds(Make("2xdgx-1")), CountKinds(Make("2x dgx-1")));
  EXPECT_EQ(CountKinds(Make("2x2x4090"))["RTX-4090"], 4);
}

TEST(Presets, OneCpuOfBothSockets) {
  const Cluster one = Make("4xP100-tf"), two = Make("4xP100");
  const DeviceId cpu(4);
  EXPECT_EQ(one.device(cpu).capacity, Bytes(125 * kGiB));
  EXPECT_EQ(one.kind(cpu).peak.f32, 2 * two.kind(cpu).peak.f32);
  EXPECT_EQ(one.kind(cpu).memory_bandwidth.count, 2 * two.kind(cpu).memory_bandwidth.count);
}

TEST(Presets, FourP100) {
  const Cluster c = Make("4xP100");
  EXPECT_THAT(c.DeviceNames(), testing::ElementsAre("host0/gpu0", "host0/gpu1", "host0/gpu2",
                                                    "host0/gpu3", "host0/cpu0", "host0/cpu1"));
  EXPECT_EQ(c.device(DeviceId(0)).capacity, Bytes(12 * kGiB));
  // Each socket has half of 125 GiB.
  EXPECT_EQ(c.device(DeviceId(4)).capacity, Bytes(125 * kGiB / 2));
  // GPUs 0 and 1 share a socket: two PCIe hops of 12 GB/s and 3 us.
  const Route& near = c.route(DeviceId(0), DeviceId(1));
  EXPECT_EQ(near.links.size(), 2u);
  EXPECT_EQ(near.bandwidth, BytesPerSecond(12'000'000'000));
  EXPECT_EQ(near.latency, Nanos(6'000));
  // GPUs 0 and 2 do not: one more hop, over QPI, of 0.5 us.
  const Route& far = c.route(DeviceId(0), DeviceId(2));
  EXPECT_EQ(far.links.size(), 3u);
  EXPECT_EQ(far.latency, Nanos(6'500));
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(4)).links.size(), 2u);
  EXPECT_EQ(c.route(DeviceId(0), DeviceId(5)).links.size(), 3u);
}

TEST(Presets, FastLinks) {
  // Two lanes of 23.95 GB/s; pairs of the cube mesh without a lane go over PCIe.
  const Cluster two = Make("2xV100");
  EXPECT_EQ(two.route(DeviceId(0), DeviceId(1)).bandwidth, BytesPerSecond(47'900'000'000));
  const Cluster cloud = Make("tag-cloud");
  EXPECT_EQ(cloud.route(DeviceId(0), DeviceId(3)).bandwidth, BytesPerSecond(47'900'000'000));
  EXPECT_EQ(cloud.route(DeviceId(0), DeviceId(1)).bandwidth, BytesPerSecond(23'950'000'000));
  EXPECT_EQ(cloud.route(DeviceId(0), DeviceId(5)).bandwidth, BytesPerSecond(12'000'000'000));
  // 12 lanes of 19.2 GB/s to the switch and 12 from it; 1 + 1 us.
  const Cluster dgx = Make("dgx-a100");
  EXPECT_EQ(dgx.route(DeviceId(0), DeviceId(7)).bandwidth, BytesPerSecond(230'400'000'000));
  EXPECT_EQ(dgx.route(DeviceId(0), DeviceId(7)).latency, Nanos(2'000));
}

TEST(Presets, BetweenHosts) {
  // 10 Gb/s = 1.25 GB/s; GPU > root > NIC > network > NIC > root > GPU: 3 + 1 + 4 + 4 + 1 + 3 us.
  const Cluster lab = Make("mixed-lab");
  const DeviceId v100 = lab.FindDevice("host0/gpu0"), t4 = lab.FindDevice("host2/gpu0");
  EXPECT_EQ(lab.route(v100, t4).links.size(), 6u);
  EXPECT_EQ(lab.route(v100, t4).bandwidth, BytesPerSecond(1'250'000'000));
  EXPECT_EQ(lab.route(v100, t4).latency, Nanos(16'000));
  // 100 Gb/s is more than the NIC's PCIe 3 slot carries.
  const Cluster testbed = Make("tag-testbed");
  const DeviceId a = testbed.FindDevice("host0/gpu0"), b = testbed.FindDevice("host6/gpu1");
  EXPECT_EQ(testbed.route(a, b).bandwidth, BytesPerSecond(12'000'000'000));
}

TEST(Presets, EveryPairIsConnectedAndSymmetric) {
  for (const Preset& preset : Presets()) {
    const Cluster c = Make(preset.name);
    EXPECT_EQ(c.name(), preset.name);
    for (const DeviceId a : c.devices()) {
      for (const DeviceId b : c.devices()) {
        if (a == b) continue;
        ASSERT_TRUE(c.Connected(a, b)) << preset.name;
        const Route &there = c.route(a, b), &back = c.route(b, a);
        EXPECT_EQ(there.links.size(), back.links.size());
        EXPECT_EQ(there.bandwidth, back.bandwidth);
        EXPECT_EQ(there.latency, back.latency);
      }
    }
    for (const LinkId id : c.links()) EXPECT_FALSE(c.link(id).source.empty()) << c.link(id).name;
  }
}

}  // namespace
}  // namespace placewright
