#include "cluster/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
              {12, BytesPerSecond(25 * kGB),
               "NVLink 3: 25 GB/s a lane (NVIDIA A100 data sheet, nominal)"}},
    NvlinkRow{"H100",
              {18, BytesPerSecond(20'900'000'000),
               "NVLink 4: 376 of 450 GB/s measured (github.com/NVIDIA/nccl/issues/1264)"}},
    NvlinkRow{"H200",
              {18, BytesPerSecond(20'900'000'000),
               "NVLink 4: as the H100, 376 of 450 GB/s (github.com/NVIDIA/nccl/issues/1264)"}},
    NvlinkRow{"B200",
              {18, BytesPerSecond(50 * kGB),
               "NVLink 5: 50 GB/s a lane (NVIDIA Blackwell data sheet, nominal)"}},
    NvlinkRow{"A40",
              {4, BytesPerSecond(14'062'500'000),
               "NVLink 3 bridge: 56.25 GB/s over 4 lanes (NVIDIA A40 data sheet, nominal)", true}},
    NvlinkRow{
        "RTX-A6000",
        {4, BytesPerSecond(14'062'500'000),
         "NVLink 3 bridge: 56.25 GB/s over 4 lanes (NVIDIA GA102 white paper, nominal)", true}},
    NvlinkRow{
        "RTX-3090",
        {4, BytesPerSecond(14'062'500'000),
         "NVLink 3 bridge: 56.25 GB/s over 4 lanes (NVIDIA GA102 white paper, nominal)", true}},
};

// Lanes between GPU a < b of the eight-GPU board of the DGX-1 and its cloud twins (hybrid cube
// mesh) for six lanes a GPU (V100); with four lanes (P100) each of these pairs has one.
struct LanePair {
  int8_t a, b, lanes;
};
constexpr std::array<LanePair, 16> kCubeMesh = {{{0, 1, 1},
                                                 {0, 2, 1},
                                                 {0, 3, 2},
                                                 {0, 4, 2},
                                                 {1, 2, 2},
                                                 {1, 3, 1},
                                                 {1, 5, 2},
                                                 {2, 3, 2},
                                                 {2, 6, 1},
                                                 {3, 7, 1},
                                                 {4, 5, 1},
                                                 {4, 6, 1},
                                                 {4, 7, 2},
                                                 {5, 6, 2},
                                                 {5, 7, 1},
                                                 {6, 7, 2}}};

LinkFigure PcieOf(const HostSpec& host) {
  switch (host.interconnect) {
    case Interconnect::kPcie3: return PcieFigure(3);
    case Interconnect::kPcie4: return PcieFigure(4);
    case Interconnect::kPcie5: return PcieFigure(5);
    case Interconnect::kNvlink:
    case Interconnect::kNvswitch: break;
  }
  return PcieFigure(PcieGenerationOf(host.gpus.front().kind));
}

// The slot that a NIC of this speed needs: the first generation whose nominal rate holds it.
LinkFigure NicSlot(BytesPerSecond bandwidth) {
  LinkFigure slot = kPcie3;
  if (bandwidth.count > 15'750'000'000) slot = kPcie4;
  if (bandwidth.count > 31'500'000'000) slot = kPcie5;
  if (bandwidth.count > 63 * kGB) slot.bandwidth = bandwidth;  // several NICs side by side
  slot.latency = kNicLatency;
  return slot;
}

Status Join(ClusterBuilder& builder, const std::string& a, const std::string& b,
            const LinkFigure& figure) {
  return builder.Connect(a, b, figure.bandwidth, figure.latency, Duplex::kFull,
                         std::string(figure.source));
}

Result<int32_t> KindIndex(ClusterBuilder& builder, const DeviceKind& kind) {
  const int32_t known = builder.FindKindIndex(kind.name);
  if (known >= 0) return known;
  return builder.AddKind(kind);
}

std::string Name(const HostSpec& host, std::string_view part, int32_t index) {
  return fmt::format("host{}/{}{}", host.index, part, index);
}

Status AddSockets(ClusterBuilder& builder, const HostSpec& host) {
  const int32_t trees = std::max(host.sockets, 1);
  for (int32_t s = 0; s < trees; ++s) {
    if (host.sockets > 0) {
      PW_ASSIGN(const int32_t kind, KindIndex(builder, host.cpu));
      const Bytes share(host.memory.count / host.sockets - host.reserve.count);
      PW_RETURN_IF_ERROR(
          builder.AddDevice({Name(host, "cpu", s), kind, host.index, share, host.reserve}));
    }
    PW_RETURN_IF_ERROR(builder.AddForwarder(Name(host, "pcie", s)));
    if (host.sockets > 0) {
      const LinkFigure memory{host.cpu.memory_bandwidth, kDramLatency, host.cpu.source};
      PW_RETURN_IF_ERROR(Join(builder, Name(host, "cpu", s), Name(host, "pcie", s), memory));
    }
    for (int32_t other = 0; other < s; ++other) {
      PW_RETURN_IF_ERROR(Join(builder, Name(host, "pcie", other), Name(host, "pcie", s),
                              SocketFigure(host.cpu.architecture)));
    }
  }
  return Ok();
}

int32_t GpuCount(const HostSpec& host) {
  int32_t count = 0;
  for (const GpuSlot& slot : host.gpus) count += slot.count;
  return count;
}

Status AddGpus(ClusterBuilder& builder, const HostSpec& host) {
  int32_t index = 0;
  for (const GpuSlot& slot : host.gpus) {
    PW_ASSIGN(const int32_t kind, KindIndex(builder, slot.kind));
    const Bytes memory = slot.memory.count > 0 ? slot.memory : slot.kind.memory;
    for (int32_t i = 0; i < slot.count; ++i, ++index) {
      PW_RETURN_IF_ERROR(builder.AddDevice(
          {Name(host, "gpu", index), kind, host.index, memory - slot.reserve, slot.reserve}));
    }
  }
  return Ok();
}

Status JoinPcie(ClusterBuilder& builder, const HostSpec& host) {
  const int32_t trees = std::max(host.sockets, 1), count = GpuCount(host);
  LinkFigure slot = PcieOf(host);
  const bool own = host.bandwidth.count > 0 && host.interconnect < Interconnect::kNvlink;
  if (own) {
    slot.bandwidth = host.bandwidth;
    slot.source = host.link_source;
  }
  LinkFigure uplink = slot;
  uplink.latency = kPcieSwitchLatency;
  for (int32_t s = 0; s < trees; ++s) {
    // GPU g belongs to socket g * trees / count, rounded down.
    const int32_t first = (s * count + trees - 1) / trees;
    const int32_t end = ((s + 1) * count + trees - 1) / trees;
    const bool switched = end - first > 2;
    for (int32_t k = 0; switched && k < 2; ++k) {
      const std::string name = fmt::format("{}.{}", Name(host, "pcie", s), k);
      PW_RETURN_IF_ERROR(builder.AddForwarder(name));
      PW_RETURN_IF_ERROR(Join(builder, Name(host, "pcie", s), name, uplink));
    }
    for (int32_t g = first; g < end; ++g) {
      std::string parent = Name(host, "pcie", s);
      if (switched) parent += fmt::format(".{}", (g - first) * 2 / (end - first));
      PW_RETURN_IF_ERROR(Join(builder, Name(host, "gpu", g), parent, slot));
    }
  }
  return Ok();
}

Result<Nvlink> NvlinkOf(const HostSpec& host) {
  if (host.gpus.size() == 1) {
    if (const Nvlink* known = FindNvlink(host.gpus.front().kind)) return *known;
    if (host.bandwidth.count > 0) return Nvlink{3, BytesPerSecond(1), "given"};
  }
  return MakeError(ErrorCode::kField,
                   fmt::format("the GPUs of host{} are of several kinds or of one whose NVLink "
                               "figures are unknown",
                               host.index),
                   "", "State their links one by one, or the bandwidth of the interconnect.");
}

Status JoinMesh(ClusterBuilder& builder, const HostSpec& host, const Nvlink& nvlink) {
  const int32_t count = GpuCount(host);
  const auto join = [&](int32_t a, int32_t b, int32_t lanes) {
    const BytesPerSecond bandwidth =
        host.bandwidth.count > 0 ? host.bandwidth : BytesPerSecond(lanes * nvlink.lane.count);
    return Join(builder, Name(host, "gpu", a), Name(host, "gpu", b),
                {bandwidth, kNvlinkLatency, nvlink.source});
  };
  if (nvlink.bridge) {
    if (count == 2) return join(0, 1, nvlink.lanes);
    return MakeError(ErrorCode::kField,
                     fmt::format("an NVLink bridge joins two {}, and host{} has {}",
                                 host.gpus.front().kind.name, host.index, count),
                     "", "State the bridged pairs one by one (examples/clusters).");
  }
  if (count == 8 && host.bandwidth.count == 0 && nvlink.lanes > 6) {
    return MakeError(ErrorCode::kField,
                     fmt::format("eight {} are not wired to each other by NVLink but to nvswitch",
                                 host.gpus.front().kind.name));
  }
  if (count == 8) {
    for (const LanePair& pair : kCubeMesh) {
      PW_RETURN_IF_ERROR(join(pair.a, pair.b, nvlink.lanes < 6 ? 1 : pair.lanes));
    }
    return Ok();
  }
  if (count < 2 || count > 4) {
    return MakeError(
        ErrorCode::kField,
        fmt::format("host{} has {} GPUs: NVLink boards have 2 to 4 or 8", host.index, count), "",
        "State the links one by one, or use nvswitch.");
  }
  // Two or three GPUs are wired as on the board of four: a third of the lanes to each peer.
  for (int32_t a = 0; a < count; ++a) {
    for (int32_t b = a + 1; b < count; ++b) PW_RETURN_IF_ERROR(join(a, b, nvlink.lanes / 3));
  }
  return Ok();
}

Status JoinNvswitch(ClusterBuilder& builder, const HostSpec& host, const Nvlink& nvlink) {
  const std::string center = fmt::format("host{}/nvswitch", host.index);
  PW_RETURN_IF_ERROR(builder.AddForwarder(center));
  const BytesPerSecond bandwidth =
      host.bandwidth.count > 0 ? host.bandwidth : BytesPerSecond(nvlink.lanes * nvlink.lane.count);
  for (int32_t g = 0; g < GpuCount(host); ++g) {
    PW_RETURN_IF_ERROR(Join(builder, Name(host, "gpu", g), center,
                            {bandwidth, Nanos(kNvlinkLatency.count / 2), nvlink.source}));
  }
  return Ok();
}

}  // namespace

std::string_view ToString(Interconnect interconnect) {
  switch (interconnect) {
    case Interconnect::kPcie3: return "pcie3";
    case Interconnect::kPcie4: return "pcie4";
    case Interconnect::kPcie5: return "pcie5";
    case Interconnect::kNvlink: return "nvlink";
    case Interconnect::kNvswitch: return "nvswitch";
  }
  return "?";
}

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

int32_t PcieGenerationOf(const DeviceKind& kind) {
  for (const std::string_view four : {"ampere", "ada", "ada-72w", "cdna", "cdna2"}) {
    if (kind.architecture == four) return 4;
  }
  for (const std::string_view five : {"hopper", "blackwell", "cdna3"}) {
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

std::optional<Interconnect> FindInterconnect(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Interconnect::kNvswitch); ++i) {
    if (ToString(static_cast<Interconnect>(i)) == name) return static_cast<Interconnect>(i);
  }
  return std::nullopt;
}

Status AddHost(ClusterBuilder& builder, const HostSpec& host) {
  PW_RETURN_IF_ERROR(AddGpus(builder, host));
  PW_RETURN_IF_ERROR(AddSockets(builder, host));
  if (host.gpus.empty()) return Ok();
  PW_RETURN_IF_ERROR(JoinPcie(builder, host));
  if (host.interconnect < Interconnect::kNvlink) return Ok();
  PW_ASSIGN(const Nvlink nvlink, NvlinkOf(host));
  if (host.interconnect == Interconnect::kNvlink) return JoinMesh(builder, host, nvlink);
  return JoinNvswitch(builder, host, nvlink);
}

Status AddNetwork(ClusterBuilder& builder, int32_t hosts, BytesPerSecond bandwidth, Nanos latency,
                  std::string source) {
  const std::vector<BytesPerSecond> bandwidths(static_cast<size_t>(hosts), bandwidth);
  return AddNetwork(builder, bandwidths, latency, std::move(source));
}

Status AddNetwork(ClusterBuilder& builder, const std::vector<BytesPerSecond>& bandwidths,
                  Nanos latency, std::string source) {
  PW_RETURN_IF_ERROR(builder.AddForwarder("network"));
  for (size_t h = 0; h < bandwidths.size(); ++h) {
    const std::string nic = fmt::format("host{}/nic", h);
    PW_RETURN_IF_ERROR(builder.AddForwarder(nic));
    const LinkFigure slot = NicSlot(bandwidths[h]);
    PW_RETURN_IF_ERROR(Join(builder, fmt::format("host{}/pcie0", h), nic, slot));
    PW_RETURN_IF_ERROR(
        builder.Connect(nic, "network", bandwidths[h], latency, Duplex::kFull, source));
  }
  return Ok();
}

}  // namespace placewright
