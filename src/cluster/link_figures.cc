#include "cluster/link_figures.h"

#include <array>
#include <string>

namespace placewright {
namespace {

constexpr int64_t kGB = 1'000'000'000;

// Two PCIe hops make a GPU-to-GPU copy of 6 us.
constexpr LinkFigure kPcie3{BytesPerSecond(12 * kGB), Nanos(3'000),
                            "PCIe 3.0 x16: 12 of 15.75 GB/s as bandwidthTest measures; latency: "
                            "github.com/NVIDIA/cuda-samples/issues/230"};
constexpr LinkFigure kPcie4{BytesPerSecond(24 * kGB), Nanos(3'000),
                            "PCIe 4.0 x16: twice PCIe 3.0; latency: "
                            "github.com/NVIDIA/cuda-samples/issues/230"};
constexpr LinkFigure kPcie5{BytesPerSecond(48 * kGB), Nanos(3'000),
                            "PCIe 5.0 x16: four times PCIe 3.0; latency: "
                            "github.com/NVIDIA/cuda-samples/issues/230"};
constexpr Nanos kSocketLatency(500);  // an estimate: some cache misses across the sockets
constexpr Nanos kNicLatency(1'000);   // with kNetworkLatency: 10 us from NIC to NIC

// One direction of one link between two sockets. The first row stands for what is not listed.
struct SocketRow {
  std::string_view architecture;
  BytesPerSecond bandwidth;
  std::string_view source;
};
constexpr std::array kSocketRows = {
    SocketRow{"broadwell", BytesPerSecond(19'200'000'000),
              "one QPI link at 9.6 GT/s, 2 bytes (Intel ARK, Xeon E5-2650 v4); latency estimated"},
    SocketRow{"skylake", BytesPerSecond(20'800'000'000),
              "one UPI link at 10.4 GT/s, 2 bytes (Intel ARK, Xeon Gold 6148); latency estimated"},
    SocketRow{"icelake", BytesPerSecond(22'400'000'000),
              "one UPI link at 11.2 GT/s, 2 bytes (Intel ARK, Xeon Platinum 8380); latency "
              "estimated"},
    SocketRow{"sapphirerapids", BytesPerSecond(32 * kGB),
              "one UPI link at 16 GT/s, 2 bytes (Intel ARK, Xeon Platinum 8480+); latency "
              "estimated"},
    SocketRow{"zen2", BytesPerSecond(36 * kGB),
              "one xGMI-2 link: 16 lanes at 18 GT/s (AMD EPYC 7002 series); latency estimated"},
    SocketRow{"zen3", BytesPerSecond(36 * kGB),
              "one xGMI-2 link: 16 lanes at 18 GT/s (AMD EPYC 7003 series); latency estimated"},
    SocketRow{"zen4", BytesPerSecond(64 * kGB),
              "one xGMI-3 link: 16 lanes at 32 GT/s (AMD EPYC 9004 series); latency estimated"},
};

// Lanes of one GPU and what one lane carries in one direction.
struct NvlinkRow {
  std::string_view kind_prefix;
  Nvlink figures;
};
constexpr std::array kNvlinks = {
    NvlinkRow{"P100-SXM2",
              {4, BytesPerSecond(18'310'000'000),
               "NVLink 1: 18.31 of 20 GB/s a lane (Dell HPC, p2pBandwidthLatencyTest on C4130)"}},
    NvlinkRow{"V100",
              {6, BytesPerSecond(23'950'000'000),
               "NVLink 2: 23.95 of 25 GB/s a lane (Dell HPC, p2pBandwidthLatencyTest on C4130)"}},
    NvlinkRow{"A100",
              {12, BytesPerSecond(19'200'000'000),
               "NVLink 3: 230 of 300 GB/s over 12 lanes (nccl-tests issue 149)"}},
    NvlinkRow{
        "H100-NVL",
        {12, BytesPerSecond(25 * kGB),
         "NVLink 4 bridges: 300 GB/s over 12 lanes (NVIDIA H100 data sheet, NVL, nominal)", true}},
    NvlinkRow{"H100",
              {18, BytesPerSecond(20'900'000'000),
               "NVLink 4: 376 of 450 GB/s measured (github.com/NVIDIA/nccl/issues/1264)"}},
    NvlinkRow{"H200",
              {18, BytesPerSecond(20'900'000'000),
               "NVLink 4: as the H100, 376 of 450 GB/s (github.com/NVIDIA/nccl/issues/1264)"}},
    // Behind H200, which begins with it, too.
    NvlinkRow{"H20",
              {18, BytesPerSecond(20'900'000'000),
               "NVLink 4: as the H100, 376 of 450 GB/s (github.com/NVIDIA/nccl/issues/1264)"}},
    NvlinkRow{"H800",
              {8, BytesPerSecond(20'900'000'000),
               "NVLink 4: 8 of the H100's 18 lanes (NVIDIA H800 data sheet: 400 GB/s both ways)"}},
    NvlinkRow{"A800",
              {8, BytesPerSecond(19'200'000'000),
               "NVLink 3: 8 of the A100's 12 lanes (NVIDIA A800 data sheet: 400 GB/s both ways)"}},
    NvlinkRow{"B300",
              {18, BytesPerSecond(50 * kGB),
               "NVLink 5: 50 GB/s a lane (NVIDIA HGX B300 data sheet, nominal)"}},
    NvlinkRow{"GB200",
              {18, BytesPerSecond(50 * kGB),
               "NVLink 5: 50 GB/s a lane (NVIDIA GB200 NVL72 data sheet, nominal)"}},
    NvlinkRow{"GB300",
              {18, BytesPerSecond(50 * kGB),
               "NVLink 5: 50 GB/s a lane (NVIDIA GB300 NVL72 data sheet, nominal)"}},
    NvlinkRow{"A30",
              {4, BytesPerSecond(25 * kGB),
               "NVLink 3 bridge: 100 GB/s over 4 lanes (NVIDIA A30 data sheet, nominal)", true}},
    NvlinkRow{"TITAN-RTX",
              {2, BytesPerSecond(25 * kGB),
               "NVLink 2 bridge: 50 GB/s over 2 lanes (NVIDIA TITAN RTX, nominal)", true}},
    NvlinkRow{
        "Quadro-RTX",
        {2, BytesPerSecond(25 * kGB),
         "NVLink 2 bridge: 50 GB/s over 2 lanes (NVIDIA Quadro RTX data sheets, nominal)", true}},
    NvlinkRow{"RTX-2080Ti",
              {2, BytesPerSecond(25 * kGB),
               "NVLink 2 bridge: 50 GB/s over 2 lanes (NVIDIA Turing white paper, nominal)", true}},
    NvlinkRow{"B200",
              {18, BytesPerSecond(50 * kGB),
               "NVLink 5: 50 GB/s a lane (NVIDIA Blackwell data sheet, nominal)"}},
    NvlinkRow{"A40",
              {4, BytesPerSecond(14'062'500'000),
               "NVLink 3 bridge: 56.25 GB/s over 4 lanes (NVIDIA A40 data sheet, nominal)", true}},
    NvlinkRow{
        "RTX-A5000",
        {4, BytesPerSecond(14'062'500'000),
         "NVLink 3 bridge: 56.25 GB/s over 4 lanes (NVIDIA RTX A5000 data sheet, nominal)", true}},
    NvlinkRow{
        "RTX-A6000",
        {4, BytesPerSecond(14'062'500'000),
         "NVLink 3 bridge: 56.25 GB/s over 4 lanes (NVIDIA GA102 white paper, nominal)", true}},
    NvlinkRow{
        "RTX-3090",
        {4, BytesPerSecond(14'062'500'000),
         "NVLink 3 bridge: 56.25 GB/s over 4 lanes (NVIDIA GA102 white paper, nominal)", true}},
};

// A link of 16 lanes to each of seven peers.
constexpr std::array kXgmi = {
    NvlinkRow{
        "MI300X",
        {7, BytesPerSecond(48 * kGB),
         "xGMI: 48 of 64 GB/s a peer (AMD, \"Understanding RCCL bandwidth and xGMI performance "
         "on MI300X\", rocm.blogs.amd.com)"}},
    NvlinkRow{"MI325X",
              {7, BytesPerSecond(48 * kGB),
               "xGMI: as the MI300X, 48 of 64 GB/s a peer (rocm.blogs.amd.com)"}},
    NvlinkRow{"MI350X",
              {7, BytesPerSecond(57'600'000'000),
               "xGMI: three quarters of 76.8 GB/s a peer (AMD Instinct MI350X data sheet), as the "
               "MI300X"}},
    NvlinkRow{"MI355X",
              {7, BytesPerSecond(57'600'000'000),
               "xGMI: three quarters of 76.8 GB/s a peer (AMD Instinct MI355X data sheet), as the "
               "MI300X"}},
};

}  // namespace

const Nvlink* FindNvlink(const DeviceKind& kind) {
  if (kind.name.find("PCIe") != std::string::npos) return nullptr;
  for (const NvlinkRow& row : kNvlinks) {
    if (kind.name.starts_with(row.kind_prefix)) return &row.figures;
  }
  return nullptr;
}

LinkFigure PcieFigure(int32_t generation) {
  if (generation <= 3) return kPcie3;
  return generation == 4 ? kPcie4 : kPcie5;
}

const Nvlink* FindXgmi(const DeviceKind& kind) {
  for (const NvlinkRow& row : kXgmi) {
    if (kind.name == row.kind_prefix) return &row.figures;
  }
  return nullptr;
}

int32_t PcieGenerationOfCpu(std::string_view architecture) {
  for (const std::string_view three : {"broadwell", "skylake"}) {
    if (architecture == three) return 3;
  }
  for (const std::string_view four : {"icelake", "zen2", "zen3"}) {
    if (architecture == four) return 4;
  }
  return 5;
}

int32_t PcieGenerationOf(const DeviceKind& kind) {
  for (const std::string_view four :
       {"ampere", "ada", "ada-72w", "ada-laptop", "cdna", "cdna2", "rdna3", "xe-hpg", "xe2"}) {
    if (kind.architecture == four) return 4;
  }
  for (const std::string_view five :
       {"hopper", "blackwell", "blackwell-laptop", "cdna3", "cdna4", "rdna4"}) {
    if (kind.architecture == five) return 5;
  }
  return 3;
}

LinkFigure SocketFigure(std::string_view architecture) {
  for (const SocketRow& row : kSocketRows) {
    if (row.architecture == architecture) return {row.bandwidth, kSocketLatency, row.source};
  }
  return {kSocketRows[0].bandwidth, kSocketLatency, kSocketRows[0].source};
}

LinkFigure NicSlot(BytesPerSecond bandwidth) {
  LinkFigure slot = kPcie3;
  if (bandwidth.count > 15'750'000'000) slot = kPcie4;
  if (bandwidth.count > 31'500'000'000) slot = kPcie5;
  if (bandwidth.count > 63 * kGB) slot.bandwidth = bandwidth;  // several NICs side by side
  slot.latency = kNicLatency;
  return slot;
}

}  // namespace placewright
