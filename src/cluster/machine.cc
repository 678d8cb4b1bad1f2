#include "cluster/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace placewright {
namespace {

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

// A device with all that memory, less what the description keeps in reserve.
Device MakeDevice(std::string name, int32_t kind_index, const DeviceKind& kind, int32_t host,
                  Bytes memory, const std::optional<MemoryReserve>& stated) {
  const std::optional<MemoryReserve>& reserve = stated ? stated : kind.reserve;
  const Bytes kept = reserve ? ReserveOf(*reserve, memory) : Bytes(0);
  return {std::move(name), kind_index, host, memory - kept, kept, reserve.has_value()};
}

Status AddSockets(ClusterBuilder& builder, const HostSpec& host) {
  const int32_t trees = std::max(host.sockets, 1);
  for (int32_t s = 0; s < trees; ++s) {
    if (host.sockets > 0) {
      PW_ASSIGN(const int32_t kind, KindIndex(builder, host.cpu));
      const Bytes share(host.memory.count / host.sockets);
      PW_RETURN_IF_ERROR(builder.AddDevice(
          MakeDevice(Name(host, "cpu", s), kind, host.cpu, host.index, share, host.reserve)));
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
          MakeDevice(Name(host, "gpu", index), kind, slot.kind, host.index, memory, slot.reserve)));
    }
  }
  return Ok();
}

// What hangs on one socket's root complex: the items first .. end-1 of all, and its NICs.
struct SocketShare {
  int32_t gpus_begin, gpus_end, nics_begin, nics_end;
  int32_t gpus() const { return gpus_end - gpus_begin; }
  int32_t nics() const { return nics_end - nics_begin; }
  // PCIe switches below the root complex; a single NIC hangs on the root complex itself.
  int32_t switches() const { return gpus() > 0 && nics() > 1 ? nics() : gpus() > 2 ? 2 : 0; }
};

// Item i of n belongs to socket i * trees / n, rounded down.
SocketShare ShareOf(const HostSpec& host, int32_t socket) {
  const int32_t trees = std::max(host.sockets, 1), gpus = GpuCount(host);
  const auto begin = [&](int32_t s, int32_t n) { return (s * n + trees - 1) / trees; };
  return {begin(socket, gpus), begin(socket + 1, gpus), begin(socket, host.nics),
          begin(socket + 1, host.nics)};
}

Status JoinPcie(ClusterBuilder& builder, const HostSpec& host) {
  LinkFigure slot = PcieOf(host);
  const bool own = host.bandwidth.count > 0 && host.interconnect < Interconnect::kNvlink;
  if (own) {
    slot.bandwidth = host.bandwidth;
    slot.source = host.link_source;
  }
  LinkFigure uplink = slot;
  uplink.latency = kPcieSwitchLatency;
  for (int32_t s = 0; s < std::max(host.sockets, 1); ++s) {
    const SocketShare share = ShareOf(host, s);
    for (int32_t k = 0; k < share.switches(); ++k) {
      const std::string name = fmt::format("{}.{}", Name(host, "pcie", s), k);
      PW_RETURN_IF_ERROR(builder.AddForwarder(name));
      PW_RETURN_IF_ERROR(Join(builder, Name(host, "pcie", s), name, uplink));
    }
    for (int32_t g = share.gpus_begin; g < share.gpus_end; ++g) {
      std::string parent = Name(host, "pcie", s);
      if (share.switches() > 0) {
        parent += fmt::format(".{}", (g - share.gpus_begin) * share.switches() / share.gpus());
      }
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
  std::vector<Nic> nics;
  for (size_t h = 0; h < bandwidths.size(); ++h) {
    nics.push_back({fmt::format("host{}/nic", h), fmt::format("host{}/pcie0", h), bandwidths[h]});
  }
  return AddNetwork(builder, nics, latency, std::move(source));
}

Nic NicOf(const HostSpec& host, int32_t nic) {
  if (host.nics == 1) {
    return {fmt::format("host{}/nic", host.index), Name(host, "pcie", 0), BytesPerSecond()};
  }
  const int32_t socket = nic * std::max(host.sockets, 1) / host.nics;
  const SocketShare share = ShareOf(host, socket);
  std::string parent = Name(host, "pcie", socket);
  if (share.switches() > 0 && share.nics() > 1) {
    parent += fmt::format(".{}", nic - share.nics_begin);
  }
  return {Name(host, "nic", nic), std::move(parent), BytesPerSecond()};
}

Status AddNetwork(ClusterBuilder& builder, const std::vector<Nic>& nics, Nanos latency,
                  std::string source) {
  PW_RETURN_IF_ERROR(builder.AddForwarder("network"));
  for (const Nic& nic : nics) {
    PW_RETURN_IF_ERROR(builder.AddForwarder(nic.name));
    PW_RETURN_IF_ERROR(Join(builder, nic.parent, nic.name, NicSlot(nic.bandwidth)));
    PW_RETURN_IF_ERROR(
        builder.Connect(nic.name, "network", nic.bandwidth, latency, Duplex::kFull, source));
  }
  return Ok();
}

}  // namespace placewright
