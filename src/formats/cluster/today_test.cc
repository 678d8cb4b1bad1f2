// Descriptions as people write them: of ../shared/data/today, and of a few words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "formats/cluster/cluster_reader.h"
#include "formats/text/file.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Cluster Described(std::string_view text) {
  auto result = ParseCluster(text);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString()) << "\n" << text;
  return result.Take();
}

std::string TodaysFile(const char* name) {
  const std::string path = PLACEWRIGHT_SOURCE_DIR "/../shared/data/today/" + std::string(name);
  return std::filesystem::exists(path) ? ReadFile(path).Take() : "";
}

int64_t BandwidthOf(const Cluster& c, const char* from, const char* to) {
  return c.route(c.FindDevice(from), c.FindDevice(to)).bandwidth.count;
}

struct Today {
  const char* file;
  std::map<std::string, int> kinds;
  const char *from, *to;
  int64_t bandwidth;  // of the route between them
  bool through_host;
};

TEST(TodaysClusters, AreReadAsTheyAreMeant) {
  const Today all[] = {
      // Four modules of twelve lanes of 19.2 GB/s, a third of them to each peer.
      {"a100v100.yaml",
       {{"A100-80GB", 4}, {"V100-32GB", 8}, {"EPYC-7742", 2}, {"Xeon-E5-2698v4", 2}},
       "host0/gpu0",
       "host0/gpu3",
       4 * 19'200'000'000,
       false},
      // Over 400 Gb/s in a PCIe 5 slot of 48 GB/s.
      {"h100x32.yaml",
       {{"H100", 32}, {"Xeon-Platinum-8480+", 8}},
       "host0/gpu0",
       "host3/gpu0",
       48'000'000'000,
       false},
      {"h100x8.yaml",
       {{"H100", 8}, {"Xeon-Platinum-8480+", 2}},
       "host0/gpu0",
       "host0/gpu7",
       18 * 20'900'000'000,
       false},
      {"h100x8nocpu.yaml", {{"H100", 8}}, "host0/gpu0", "host0/gpu7", 18 * 20'900'000'000, false},
      {"laptop.yaml",
       {{"RTX-4070-Laptop", 1}, {"Core-i7-13700H", 1}},
       "host0/gpu0",
       "host0/cpu0",
       24'000'000'000,
       false},
      // xGMI: 48 GB/s to each peer.
      {"mi300x.yaml",
       {{"MI300X", 8}, {"EPYC-9654", 2}},
       "host0/gpu0",
       "host0/gpu7",
       48'000'000'000,
       false},
      // PCIe 4, by way of host memory.
      {"mixed4090.yaml",
       {{"RTX-4090", 2}, {"RTX-3090", 1}, {"Ryzen-9-7950X", 1}},
       "host0/gpu0",
       "host0/gpu1",
       24'000'000'000,
       true},
      // 10 Gb/s.
      {"unequal10g.yaml",
       {{"RTX-3090", 2},
        {"RTX-4090", 1},
        {"GTX-1080Ti", 4},
        {"Ryzen-9-5950X", 1},
        {"Ryzen-9-7950X", 1},
        {"Xeon-E5-2650v4", 2}},
       "host0/gpu0",
       "host2/gpu3",
       1'250'000'000,
       true},
  };
  for (const Today& each : all) {
    const std::string text = TodaysFile(each.file);
    if (text.empty()) GTEST_SKIP() << "no ../shared/data/today";
    const Cluster c = Described(text);
    std::map<std::string, int> kinds;
    for (const DeviceId id : c.devices()) ++kinds[c.kind(id).name];
    EXPECT_EQ(kinds, each.kinds) << each.file;
    EXPECT_EQ(BandwidthOf(c, each.from, each.to), each.bandwidth) << each.file;
    EXPECT_EQ(c.route(c.FindDevice(each.from), c.FindDevice(each.to)).through_host,
              each.through_host)
        << each.file;
  }
}

// Every file of the folder is in the table above.
TEST(TodaysClusters, NoneIsLeftOut) {
  const std::filesystem::path folder = PLACEWRIGHT_SOURCE_DIR "/../shared/data/today";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no ../shared/data/today";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_TRUE(ParseCluster(ReadFile(entry.path().string()).Take()).ok()) << entry.path();
  }
}

// Without an interconnect: what the kind is made for, and it is said.
TEST(TodaysClusters, AnInterconnectThatIsNotStated) {
  const Cluster h100 = Described("gpus: 8 x H100\n");
  EXPECT_EQ(BandwidthOf(h100, "host0/gpu0", "host0/gpu7"), 18 * 20'900'000'000);
  EXPECT_THAT(h100.notes(), ElementsAre(HasSubstr("NVSwitch")));
  const Cluster v100 = Described("gpus: 8 x V100-16GB\n");
  EXPECT_EQ(BandwidthOf(v100, "host0/gpu0", "host0/gpu3"), 2 * 23'950'000'000);
  EXPECT_THAT(v100.notes(), ElementsAre(HasSubstr("NVLink")));
  const Cluster mi300x = Described("gpus: 8 x MI300X\n");
  EXPECT_THAT(mi300x.notes(), ElementsAre(HasSubstr("xGMI")));
  // The generation of the kind: PCIe 4, 5 and 3; of several kinds each its own.
  EXPECT_EQ(BandwidthOf(Described("gpus: 2 x L40S\n"), "host0/gpu0", "host0/gpu1"), 24'000'000'000);
  EXPECT_EQ(BandwidthOf(Described("gpus: 2 x RTX-5090\n"), "host0/gpu0", "host0/gpu1"),
            48'000'000'000);
  EXPECT_EQ(BandwidthOf(Described("gpus: 2 x T4\n"), "host0/gpu0", "host0/gpu1"), 12'000'000'000);
  const Cluster mixed = Described("gpus: [1 x L40S, 1 x T4]\ncpus: EPYC-7763\nmemory: 1 GiB\n");
  EXPECT_EQ(BandwidthOf(mixed, "host0/gpu0", "host0/cpu0"), 24'000'000'000);
  EXPECT_EQ(BandwidthOf(mixed, "host0/gpu1", "host0/cpu0"), 12'000'000'000);
  // No faster than the CPU's: a Broadwell has PCIe 3.
  const Cluster old = Described("gpus: 2 x L40S\ncpus: Xeon-E5-2650v4\nmemory: 1 GiB\n");
  EXPECT_EQ(BandwidthOf(old, "host0/gpu0", "host0/gpu1"), 12'000'000'000);
  EXPECT_THAT(old.notes(), ElementsAre(HasSubstr("Xeon-E5-2650v4")));
  // Of one that is stated nothing is said.
  EXPECT_THAT(Described("gpus: 8 x H100\ninterconnect: pcie5\n").notes(), IsEmpty());
  EXPECT_EQ(
      BandwidthOf(Described("gpus: 8 x H100\ninterconnect: pcie\n"), "host0/gpu0", "host0/gpu1"),
      48'000'000'000);
}

TEST(TodaysClusters, SpellingsAndSmallMachines) {
  EXPECT_EQ(Described("gpus: 2 x RTX 4090\n").kind(DeviceId(1)).name, "RTX-4090");
  EXPECT_EQ(Described("gpus: 2x NVIDIA GeForce RTX 4090\n").kind(DeviceId(1)).name, "RTX-4090");
  const Cluster nics = Described("hosts: [{gpus: 8xH100, count: 2, nics: 8x400Gb/s}]\n");
  EXPECT_EQ(BandwidthOf(nics, "host0/gpu5", "host1/gpu5"), 48'000'000'000);
  // One GPU has nothing to be joined with: no error.
  for (const char* text :
       {"gpus: A100-80GB\ninterconnect: nvlink\n", "gpus: 1 x RTX 4090\ninterconnect: nvlink\n",
        "gpus: H100\ninterconnect: nvswitch\n", "gpus: MI300X\ninterconnect: xgmi\n"}) {
    EXPECT_EQ(Described(text).device_count(), 1u) << text;
  }
  const Cluster open = Described("gpus: 2 x RTX 3080\ninterconnect: pcie4\n");
  EXPECT_EQ(open.kind(DeviceId(0)).name, "RTX-3080-10GB");
  EXPECT_THAT(open.notes(), testing::Contains(HasSubstr("10 GB")));
}

TEST(TodaysClusters, PeerToPeerOfKindsAndLinks) {
  const char* machine = "cpus: EPYC-7763\nmemory: 64 GiB\ninterconnect: pcie4\npcie_switches: 1\n";
  const auto pair = [&](const std::string& gpus) {
    const Cluster c = Described(gpus + machine);
    const Route route = c.route(c.FindDevice("host0/gpu0"), c.FindDevice("host0/gpu1"));
    EXPECT_EQ(route.links.size(), route.through_host ? 4u : 2u);
    // What is resolved reads back to the same.
    EXPECT_EQ(ClusterToJson(Described(ClusterToJson(c).dump())).dump(), ClusterToJson(c).dump());
    return route.through_host;
  };
  EXPECT_TRUE(pair("gpus: 2 x RTX-4090\n"));
  EXPECT_FALSE(pair("gpus: 2 x RTX-6000-Ada\n"));
  EXPECT_FALSE(pair("kinds: {Patched: {like: RTX-4090, p2p: true}}\ngpus: 2 x Patched\n"));
  EXPECT_TRUE(pair("kinds: {Hidden: {like: L40S, p2p: false}}\ngpus: 2 x Hidden\n"));
  // Two L40S on two sockets whose processors do not forward between them.
  const Cluster c = Described(R"(
devices:
  - {name: host0/gpu, kind: L40S, count: 4}
switches: [{name: host0/pcie0, host_memory: true}, {name: host0/pcie1, host_memory: true}]
links:
  - {between: ["host0/gpu[01]", host0/pcie0], bandwidth: 24 GB/s, latency: 3 us}
  - {between: ["host0/gpu[23]", host0/pcie1], bandwidth: 24 GB/s, latency: 3 us}
  - {between: [host0/pcie0, host0/pcie1], bandwidth: 30 GB/s, latency: 1 us, p2p: false}
)");
  EXPECT_FALSE(c.route(DeviceId(0), DeviceId(1)).through_host);
  EXPECT_TRUE(c.route(DeviceId(0), DeviceId(2)).through_host);
  EXPECT_FALSE(ParseCluster("kinds: {C: {like: EPYC-7763, p2p: false}}\ngpus: T4\n").ok());
}

}  // namespace
}  // namespace placewright
