#include "cluster/discovery/detect.h"

#include <gmock/gmock.h>

#include "cluster/catalogue.h"

namespace placewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FakeLibrary : public GpuLibrary {
 public:
  std::vector<GpuFacts> gpus;
  std::vector<TopoPath> paths;  // a < b, row by row

  Result<int32_t> Count() override { return static_cast<int32_t>(gpus.size()); }
  Result<GpuFacts> Describe(int32_t gpu) override { return gpus[static_cast<size_t>(gpu)]; }
  Result<TopoPath> PathBetween(int32_t a, int32_t b) override {
    size_t at = 0;
    for (int32_t row = 0; row < a; ++row) at += gpus.size() - 1 - static_cast<size_t>(row);
    return paths[at + static_cast<size_t>(b - a) - 1];
  }
};

HostTopology TwoSockets() {
  HostTopology host;
  host.sockets = {{64, Bytes(int64_t{512} << 30), {0}}, {64, Bytes(int64_t{512} << 30), {1}}};
  host.cpuinfo =
      "vendor_id: AuthenticAMD\ncpu family: 23\nmodel name: AMD EPYC 7742 64-Core Processor\n"
      "cpu MHz: 2250.000\nflags: sse2 avx avx2 fma\n";
  return host;
}

GpuFacts Facts(const char* name, int64_t gib, const char* pci) {
  return GpuFacts{name, Bytes(gib << 30), pci, 4, 16, {}};
}

Cluster Build(const DetectInput& input, std::vector<std::string>* notes = nullptr) {
  std::vector<std::string> own;
  Result<ClusterBuilder> builder = DetectMachine(input, notes != nullptr ? *notes : own);
  EXPECT_TRUE(builder.ok()) << builder.error().message;
  Result<Cluster> cluster = std::move(builder.value()).Build();
  EXPECT_TRUE(cluster.ok()) << cluster.error().message;
  return std::move(cluster.value());
}

Error Fail(const DetectInput& input) {
  std::vector<std::string> notes;
  Result<ClusterBuilder> builder = DetectMachine(input, notes);
  EXPECT_FALSE(builder.ok());
  return builder.ok() ? Error{} : builder.error();
}

std::vector<std::string> RouteOf(const Cluster& cluster, const char* from, const char* to) {
  std::vector<std::string> names;
  for (const LinkId id : cluster.route(cluster.FindDevice(from), cluster.FindDevice(to)).links) {
    names.push_back(cluster.link(id).name);
  }
  return names;
}

TEST(Detect, WithoutGpusTheSocketsAreTheMachine) {
  DetectInput input;
  input.host = TwoSockets();
  std::vector<std::string> notes;
  const Cluster cluster = Build(input, &notes);
  EXPECT_THAT(cluster.DeviceNames(), ElementsAre("host0/cpu0", "host0/cpu1"));
  EXPECT_EQ(cluster.kind(DeviceId(0)).name, "EPYC-7742");
  EXPECT_EQ(cluster.device(DeviceId(1)).capacity.count, int64_t{512} << 30);
  // Two memories and the xGMI link between the sockets: the minimum is 36 GB/s.
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(1)).bandwidth.count, 36'000'000'000);
  EXPECT_THAT(notes, ElementsAre());
}

// The arithmetic of its peaks says nothing of a socket's way to its memory.
TEST(Detect, TheMemoryOfAnUnknownSocketHasItsOwnSource) {
  DetectInput input;
  input.host = TwoSockets();
  input.host.cpuinfo = "model name: Odd CPU\ncpu MHz: 1000\nflags: sse2\n";
  const Cluster cluster = Build(input);
  EXPECT_THAT(cluster.kind(DeviceId(0)).source, HasSubstr("64 cores x 1000 MHz"));
  for (const LinkId id : cluster.links()) {
    const Link& link = cluster.link(id);
    if (link.name != "host0/cpu0>host0/pcie0") continue;
    EXPECT_EQ(link.source, "76.8 GB/s assumed (four channels of DDR4-2400)");
    return;
  }
  FAIL() << "no link of the first socket";
}

// GPU 0 and 1 are a bridged pair below one switch of socket 0, GPU 2 hangs on socket 1 alone.
TEST(Detect, TheDriversPathsAndLanesBecomeLinks) {
  FakeLibrary library;
  library.gpus = {Facts("NVIDIA GeForce RTX 3090", 24, "00000000:01:00.0"),
                  Facts("NVIDIA GeForce RTX 3090", 24, "00000000:02:00.0"),
                  Facts("NVIDIA A10M", 22, "00000000:81:00.0")};
  library.gpus[0].nvlink_remotes.assign(4, "00000000:02:00.0");
  library.gpus[1].nvlink_remotes.assign(4, "00000000:01:00.0");
  library.gpus[2].pcie_width = 8;
  library.paths = {TopoPath::kPix, TopoPath::kSys, TopoPath::kSys};
  DetectInput input;
  input.host = TwoSockets();
  input.host.pci_sockets = {0, 0, 1};
  input.inventory = TakeInventory(library).Take();
  std::vector<std::string> notes;
  const Cluster cluster = Build(input, &notes);
  EXPECT_THAT(notes, ElementsAre("\"NVIDIA A10M\" is not in the catalogue: A10 is used for it"));
  EXPECT_THAT(RouteOf(cluster, "host0/gpu0", "host0/gpu1"), ElementsAre("host0/gpu0>host0/gpu1"));
  const auto bandwidth = [&](const char* a, const char* b) {
    return cluster.route(cluster.FindDevice(a), cluster.FindDevice(b)).bandwidth.count;
  };
  // 4 lanes of 14.0625 GB/s.
  EXPECT_EQ(bandwidth("host0/gpu0", "host0/gpu1"), 56'250'000'000);
  EXPECT_THAT(RouteOf(cluster, "host0/gpu0", "host0/gpu2"),
              ElementsAre("host0/gpu0>host0/switch0", "host0/switch0>host0/pcie0",
                          "host0/pcie0>host0/pcie1", "host0/pcie1>host0/gpu2"));
  // PCIe 4.0 is 24 GB/s at 16 lanes: half of it at 8.
  EXPECT_EQ(bandwidth("host0/gpu0", "host0/gpu2"), 12'000'000'000);
  EXPECT_EQ(cluster.device(cluster.FindDevice("host0/gpu2")).capacity.count, int64_t{22} << 30);
}

// Lanes that end at no GPU end at an NVSwitch.
TEST(Detect, LanesToASwitchJoinEveryPair) {
  FakeLibrary library;
  for (const char* pci : {"a", "b", "c"}) {
    library.gpus.push_back(Facts("NVIDIA H200", 140, pci));
    library.gpus.back().nvlink_remotes.assign(18, "switch");
  }
  library.paths.assign(3, TopoPath::kNode);
  DetectInput input;
  input.host = TwoSockets();
  input.inventory = TakeInventory(library).Take();
  EXPECT_EQ(input.inventory->topology.cell(0, 2).lanes, 18);
  const Cluster cluster = Build(input);
  EXPECT_THAT(RouteOf(cluster, "host0/gpu0", "host0/gpu2"),
              ElementsAre("host0/gpu0>host0/nvswitch", "host0/nvswitch>host0/gpu2"));
  // 18 * 20.9 GB/s.
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(2)).bandwidth.count, 376'200'000'000);
}

DetectInput OtherMachine(std::string_view table, const char* kind) {
  DetectInput input;
  input.host = TwoSockets();
  Result<TopoMatrix> parsed = ParseTopoMatrix(table);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  input.table = parsed.Take();
  input.gpu = FindKind(kind);
  return input;
}

// Every level of a PCIe tree. GPUs 0 and 1 share a switch, 2 reaches them over switches alone, 3
// over the host bridge, 4 over the node's fabric, 5 sits in the other NUMA node.
TEST(Detect, ATableOfPathsBecomesTheTree) {
  const Cluster cluster =
      Build(OtherMachine("     GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 CPU Affinity NUMA Affinity\n"
                         "GPU0  X   PIX  PXB  PHB  NODE SYS  0-63 0\n"
                         "GPU1 PIX   X   PXB  PHB  NODE SYS  0-63 0\n"
                         "GPU2 PXB  PXB   X   PHB  NODE SYS  0-63 0\n"
                         "GPU3 PHB  PHB  PHB   X   NODE SYS  0-63 0\n"
                         "GPU4 NODE NODE NODE NODE  X   SYS  0-63 0\n"
                         "GPU5 SYS  SYS  SYS  SYS  SYS   X   64-127 1\n",
                         "A100-PCIe-40GB"));
  EXPECT_THAT(RouteOf(cluster, "host0/gpu0", "host0/gpu1"),
              ElementsAre("host0/gpu0>host0/switch0.0", "host0/switch0.0>host0/gpu1"));
  EXPECT_THAT(RouteOf(cluster, "host0/gpu0", "host0/gpu2"),
              ElementsAre("host0/gpu0>host0/switch0.0", "host0/switch0.0>host0/switch0",
                          "host0/switch0>host0/gpu2"));
  EXPECT_THAT(RouteOf(cluster, "host0/gpu2", "host0/gpu3"),
              ElementsAre("host0/gpu2>host0/switch0", "host0/switch0>host0/bridge0",
                          "host0/bridge0>host0/gpu3"));
  EXPECT_THAT(RouteOf(cluster, "host0/gpu3", "host0/gpu4"),
              ElementsAre("host0/gpu3>host0/bridge0", "host0/bridge0>host0/pcie0",
                          "host0/pcie0>host0/bridge1", "host0/bridge1>host0/gpu4"));
  EXPECT_THAT(RouteOf(cluster, "host0/gpu4", "host0/gpu5"),
              ElementsAre("host0/gpu4>host0/bridge1", "host0/bridge1>host0/pcie0",
                          "host0/pcie0>host0/pcie1", "host0/pcie1>host0/gpu5"));
  // GPU, switch, switch, GPU: 3 + 0.5 + 3 us.
  EXPECT_EQ(cluster.route(cluster.FindDevice("host0/gpu0"), cluster.FindDevice("host0/gpu2"))
                .latency.count,
            6'500);
}

// As a DGX A100: 12 lanes to each of three others are more than the 12 that a GPU has.
TEST(Detect, TwelveLanesToEveryPeerAreASwitch) {
  std::vector<std::string> notes;
  const Cluster cluster =
      Build(OtherMachine(
                " GPU0 GPU1 GPU2 GPU3 NIC0\nGPU0 X NV12 NV12 NV12 SYS\nGPU1 NV12 X NV12 NV12 SYS\n"
                "GPU2 NV12 NV12 X NV12 SYS\nGPU3 NV12 NV12 NV12 X SYS\nNIC0 SYS SYS SYS SYS X\n",
                "A100-40GB"),
            &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("NICs")));
  EXPECT_THAT(RouteOf(cluster, "host0/gpu0", "host0/gpu3"),
              ElementsAre("host0/gpu0>host0/nvswitch", "host0/nvswitch>host0/gpu3"));
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(3)).bandwidth.count, 230'400'000'000);  // 12 * 19.2
}

// Two lanes to each of three peers are the six of a V100: direct links.
TEST(Detect, LanesThatAddUpAreDirect) {
  const Cluster cluster = Build(OtherMachine(
      " GPU0 GPU1 GPU2 GPU3\nGPU0 X NV2 NV2 NV2\nGPU1 NV2 X NV2 NV2\nGPU2 NV2 NV2 X NV2\n"
      "GPU3 NV2 NV2 NV2 X\n",
      "V100-32GB"));
  EXPECT_THAT(RouteOf(cluster, "host0/gpu1", "host0/gpu2"), ElementsAre("host0/gpu1>host0/gpu2"));
  EXPECT_EQ(cluster.route(DeviceId(1), DeviceId(2)).bandwidth.count, 47'900'000'000);  // 2 * 23.95
}

TEST(Detect, UnknownLanesAreSaidAloud) {
  std::vector<std::string> notes;
  Build(OtherMachine(" GPU0 GPU1\nGPU0 X NV1\nGPU1 NV1 X\n", "RTX-2080"), &notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("25 GB/s each")));
}

// The driver says of pairs of GPUs whether they reach each other.
class PeerLibrary : public FakeLibrary {
 public:
  std::optional<bool> PeerAccess(int32_t a, int32_t b) override {
    return peers[a == b ? 0 : a + b];
  }
  std::vector<std::optional<bool>> peers;  // by the sum of the two numbers
};

// Two RTX 4090 behind one switch: by their kind without peer to peer; a patched driver offers it.
TEST(Detect, PeerToPeerIsWhatTheDriverSays) {
  for (const bool offered : {false, true}) {
    PeerLibrary library;
    library.gpus = {Facts("NVIDIA GeForce RTX 4090", 24, "a"),
                    Facts("NVIDIA GeForce RTX 4090", 24, "b")};
    library.paths = {TopoPath::kPix};
    library.peers = {std::nullopt, offered};
    DetectInput input;
    input.host = TwoSockets();
    input.host.pci_sockets = {0, 0};
    input.inventory = TakeInventory(library).Take();
    const Cluster cluster = Build(input);
    const Route& route =
        cluster.route(cluster.FindDevice("host0/gpu0"), cluster.FindDevice("host0/gpu1"));
    EXPECT_EQ(route.through_host, !offered);
    EXPECT_EQ(route.links.size(), offered ? 2u : 4u);
  }
  // Two T4 of a virtual machine that hides it: by kind they would have it.
  PeerLibrary library;
  library.gpus = {Facts("Tesla T4", 15, "a"), Facts("Tesla T4", 15, "b")};
  library.paths = {TopoPath::kPix};
  library.peers = {std::nullopt, false};
  DetectInput input;
  input.host = TwoSockets();
  input.inventory = TakeInventory(library).Take();
  const Cluster cluster = Build(input);
  EXPECT_TRUE(cluster.route(cluster.FindDevice("host0/gpu0"), cluster.FindDevice("host0/gpu1"))
                  .through_host);
}

TEST(Detect, WhatDoesNotFitTogetherIsRefused) {
  DetectInput input = OtherMachine(" GPU0\nGPU0 X\n", "T4");
  input.gpu = nullptr;
  EXPECT_EQ(Fail(input).code, ErrorCode::kMissingRuntime);
  FakeLibrary library;
  library.gpus = {Facts("Tesla T4", 15, "a"), Facts("Tesla T4", 15, "b")};
  library.paths = {TopoPath::kPhb};
  input.inventory = TakeInventory(library).Take();
  EXPECT_EQ(Fail(input).code, ErrorCode::kField);  // two GPUs, a table of one
  input.table.reset();
  input.inventory->gpus[1].name = "Voodoo2";
  EXPECT_EQ(Fail(input).code, ErrorCode::kUnknownName);
  input.gpu = FindKind("T4");
  EXPECT_EQ(Build(input).device_count(), 4u);
  input.inventory.reset();
  EXPECT_EQ(Fail(input).code, ErrorCode::kUsage);  // a kind, and no GPU
}

// Two CPU devices of a socket of 64 cores: shares of its figures, and a link between them.
TEST(Detect, SplitsSockets) {
  DetectInput input;
  input.host = TwoSockets();
  input.cpu_cores = {48, 64, 16};
  const Cluster cluster = Build(input);
  ASSERT_EQ(cluster.device_count(), 3u);
  // In order of the sockets: 48 and 16 of the first, the whole second.
  const std::vector<int64_t> cores = {48, 16, 64}, gib = {384, 128, 512};
  for (const DeviceId device : cluster.devices()) {
    EXPECT_EQ(cluster.kind(device).cores, cores[device.index()]);
    EXPECT_EQ(cluster.device(device).capacity, Bytes(gib[device.index()] << 30));
  }
  EXPECT_EQ(cluster.kind(DeviceId(0)).memory_bandwidth.count,
            3 * cluster.kind(DeviceId(1)).memory_bandwidth.count);
  EXPECT_THAT(RouteOf(cluster, "host0/cpu0", "host0/cpu1"), ElementsAre("host0/cpu0>host0/cpu1"));
  EXPECT_EQ(cluster.route(DeviceId(0), DeviceId(1)).bandwidth.count,
            cluster.kind(DeviceId(1)).memory_bandwidth.count / 2);
  EXPECT_EQ(RouteOf(cluster, "host0/cpu0", "host0/cpu2").size(), 3u);

  input.cpu_cores = {48, 48, 48};
  EXPECT_EQ(Fail(input).code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace placewright
