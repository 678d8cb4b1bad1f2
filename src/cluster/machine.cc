#include "cluster/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace placewright {
namespace {

constexpr bool kPeers = true;  // of a link: carries peer to peer

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
    case Interconnect::kPcie:
    case Interconnect::kNvlink:
    case Interconnect::kNvswitch:
    case Interconnect::kXgmi: break;
  }
  return PcieFigure(PcieGenerationOf(host.gpus.front().kind));
}

bool IsPcie(Interconnect interconnect) { return interconnect < Interconnect::kNvlink; }

// The generation that a GPU and the host's CPU both have.
int32_t CommonGeneration(const HostSpec& host, const DeviceKind& gpu) {
  const int32_t own = PcieGenerationOf(gpu);
  if (host.sockets == 0) return own;
  return std::min(own, PcieGenerationOfCpu(host.cpu.architecture));
}

// The kind of the host's GPU `index`.
const DeviceKind& KindOfGpu(const HostSpec& host, int32_t index) {
  for (const GpuSlot& slot : host.gpus) {
    if (index < slot.count) return slot.kind;
    index -= slot.count;
  }
  return host.gpus.back().kind;
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
    // Without a CPU the memory is still there, below the root complex.
    PW_RETURN_IF_ERROR(builder.AddForwarder(Name(host, "pcie", s), host.sockets == 0));
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
  std::optional<int32_t> stated;  // switches
  int32_t gpus() const { return gpus_end - gpus_begin; }
  int32_t nics() const { return nics_end - nics_begin; }
  // PCIe switches below the root complex; a single NIC hangs on the root complex itself.
  int32_t switches() const {
    if (stated) return gpus() > 0 ? *stated : 0;
    return gpus() > 0 && nics() > 1 ? nics() : gpus() > 2 ? 2 : 0;
  }
  bool nics_on_switches() const { return switches() > 0 && (nics() > 1 || stated); }
};

// Item i of n belongs to socket i * trees / n, rounded down.
SocketShare ShareOf(const HostSpec& host, int32_t socket) {
  const int32_t trees = std::max(host.sockets, 1), gpus = GpuCount(host);
  const auto begin = [&](int32_t s, int32_t n) { return (s * n + trees - 1) / trees; };
  return {begin(socket, gpus), begin(socket + 1, gpus), begin(socket, host.nics),
          begin(socket + 1, host.nics), host.switches};
}

Status JoinPcie(ClusterBuilder& builder, const HostSpec& host) {
  const auto slot_of = [&](int32_t gpu) {
    LinkFigure slot = host.interconnect == Interconnect::kPcie
                          ? PcieFigure(CommonGeneration(host, KindOfGpu(host, gpu)))
                          : PcieOf(host);
    if (host.bandwidth.count > 0 && IsPcie(host.interconnect)) {
      slot.bandwidth = host.bandwidth;
      slot.source = host.link_source;
    }
    return slot;
  };
  LinkFigure uplink = slot_of(0);  // the fastest slot's
  for (int32_t g = 1; g < GpuCount(host); ++g) {
    if (slot_of(g).bandwidth > uplink.bandwidth) uplink = slot_of(g);
  }
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
      PW_RETURN_IF_ERROR(Join(builder, Name(host, "gpu", g), parent, slot_of(g)));
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

// Every pair by one link.
Status JoinXgmi(ClusterBuilder& builder, const HostSpec& host) {
  const Nvlink* xgmi = host.gpus.size() == 1 ? FindXgmi(host.gpus.front().kind) : nullptr;
  const int32_t count = GpuCount(host);
  if (xgmi == nullptr && (host.bandwidth.count == 0 || host.gpus.size() > 1)) {
    return MakeError(ErrorCode::kField,
                     fmt::format("the GPUs of host{} are of several kinds or of one whose xGMI "
                                 "figures are unknown",
                                 host.index),
                     "", "State their links one by one, or the bandwidth of the interconnect.");
  }
  if (xgmi != nullptr && count > xgmi->lanes + 1) {
    return MakeError(ErrorCode::kField, fmt::format("host{} has {} GPUs: xGMI joins up to {}",
                                                    host.index, count, xgmi->lanes + 1));
  }
  const bool own = host.bandwidth.count > 0;
  const LinkFigure link{own ? host.bandwidth : xgmi->lane, kNvlinkLatency,
                        own ? host.link_source : xgmi->source};
  for (int32_t a = 0; a < count; ++a) {
    for (int32_t b = a + 1; b < count; ++b) {
      PW_RETURN_IF_ERROR(Join(builder, Name(host, "gpu", a), Name(host, "gpu", b), link));
    }
  }
  return Ok();
}

Status JoinNvswitch(ClusterBuilder& builder, const HostSpec& host, const Nvlink& nvlink) {
  const std::string center = fmt::format("host{}/nvswitch", host.index);
  PW_RETURN_IF_ERROR(builder.AddForwarder(center));
  const BytesPerSecond bandwidth =
      host.bandwidth.count > 0 ? host.bandwidth : BytesPerSecond(nvlink.lanes * nvlink.lane.count);
  for (int32_t g = 0; g < GpuCount(host); ++g) {
    PW_RETURN_IF_ERROR(builder.Connect(Name(host, "gpu", g), center, bandwidth,
                                       Nanos(kNvlinkLatency.count / 2), Duplex::kFull,
                                       std::string(nvlink.source), kPeers));
  }
  return Ok();
}

BytesPerSecond Scaled(BytesPerSecond bandwidth, double factor) {
  const double scaled = static_cast<double>(bandwidth.count) * factor;
  return BytesPerSecond(
      std::max(std::min<int64_t>(1, bandwidth.count), static_cast<int64_t>(scaled)));
}

// The NIC, its slot and its way to a switch.
Status JoinNic(ClusterBuilder& builder, const Nic& nic, const std::string& to,
               const NetworkSpec& network) {
  PW_RETURN_IF_ERROR(builder.AddForwarder(nic.name));
  PW_RETURN_IF_ERROR(Join(builder, nic.parent, nic.name, NicSlot(nic.bandwidth)));
  std::string source = network.source;
  if (network.efficiency < 1) {
    source += fmt::format("; {:.4g}% of it", 100 * network.efficiency);
  }
  return builder.Connect(nic.name, to, Scaled(nic.bandwidth, network.efficiency), network.latency,
                         Duplex::kFull, std::move(source));
}

}  // namespace

std::string_view ToString(Interconnect interconnect) {
  switch (interconnect) {
    case Interconnect::kPcie: return "pcie";
    case Interconnect::kPcie3: return "pcie3";
    case Interconnect::kPcie4: return "pcie4";
    case Interconnect::kPcie5: return "pcie5";
    case Interconnect::kNvlink: return "nvlink";
    case Interconnect::kNvswitch: return "nvswitch";
    case Interconnect::kXgmi: return "xgmi";
  }
  return "?";
}

std::optional<Interconnect> FindInterconnect(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Interconnect::kXgmi); ++i) {
    if (ToString(static_cast<Interconnect>(i)) == name) return static_cast<Interconnect>(i);
  }
  return std::nullopt;
}

std::vector<std::string> InterconnectNames() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Interconnect::kXgmi); ++i) {
    names.emplace_back(ToString(static_cast<Interconnect>(i)));
  }
  return names;
}

UsualInterconnect UsualInterconnectOf(const HostSpec& host) {
  const int32_t count = GpuCount(host);
  if (host.gpus.empty()) return {};
  const DeviceKind& kind = host.gpus.front().kind;
  const bool mixed = host.gpus.size() > 1;
  const Nvlink* nvlink = mixed || count < 2 ? nullptr : FindNvlink(kind);
  if (nvlink != nullptr && !nvlink->bridge) {
    // Boards of V100 and P100 modules are wired directly; 16 V100 (DGX-2) and all later ones by
    // switches.
    const bool mesh = nvlink->lanes <= 6 && (count <= 4 || count == 8);
    if (mesh || nvlink->lanes > 4) {
      return {mesh ? Interconnect::kNvlink : Interconnect::kNvswitch,
              fmt::format("{} x {} without an interconnect: {} is taken, as between SXM modules "
                          "(interconnect: pcie for boards in slots)",
                          count, kind.name, mesh ? "NVLink" : "NVSwitch")};
    }
  }
  const Nvlink* xgmi = mixed || count < 2 ? nullptr : FindXgmi(kind);
  if (xgmi != nullptr && count <= xgmi->lanes + 1) {
    return {Interconnect::kXgmi,
            fmt::format("{} x {} without an interconnect: xGMI between every pair is taken, as on "
                        "AMD's boards of eight (interconnect: pcie for none)",
                        count, kind.name)};
  }
  int32_t oldest = 5, newest = 1;
  bool slower_cpu = false;
  std::string gpus;
  for (const GpuSlot& slot : host.gpus) {
    gpus += fmt::format("{}{} x {}", gpus.empty() ? "" : ", ", slot.count, slot.kind.name);
    const int32_t generation = CommonGeneration(host, slot.kind);
    oldest = std::min(oldest, generation);
    newest = std::max(newest, generation);
    slower_cpu = slower_cpu || generation < PcieGenerationOf(slot.kind);
  }
  const std::string generations =
      oldest == newest ? std::to_string(oldest) : fmt::format("{} to {}", oldest, newest);
  return {Interconnect::kPcie,
          fmt::format("{} without an interconnect: PCIe {} is taken, {}", gpus, generations,
                      slower_cpu ? fmt::format("the newest that {} has", host.cpu.name)
                                 : "the generation of the kind")};
}

Status AddHost(ClusterBuilder& builder, const HostSpec& host) {
  PW_RETURN_IF_ERROR(AddGpus(builder, host));
  PW_RETURN_IF_ERROR(AddSockets(builder, host));
  if (host.gpus.empty()) return Ok();
  PW_RETURN_IF_ERROR(JoinPcie(builder, host));
  if (IsPcie(host.interconnect) || GpuCount(host) == 1) return Ok();  // one GPU has no peer
  if (host.interconnect == Interconnect::kXgmi) return JoinXgmi(builder, host);
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
  return AddNetwork(builder, nics, NetworkSpec{latency, std::move(source)});
}

Nic NicOf(const HostSpec& host, int32_t nic) {
  const int32_t socket = nic * std::max(host.sockets, 1) / host.nics;
  const SocketShare share = ShareOf(host, socket);
  std::string parent = Name(host, "pcie", socket);
  if (share.nics_on_switches() && host.nics > 1) {
    parent += fmt::format(".{}", (nic - share.nics_begin) * share.switches() / share.nics());
  }
  std::string name =
      host.nics == 1 ? fmt::format("host{}/nic", host.index) : Name(host, "nic", nic);
  return {std::move(name), std::move(parent), BytesPerSecond()};
}

Status AddRails(ClusterBuilder& builder, const std::vector<std::vector<Nic>>& hosts,
                const NetworkSpec& network) {
  PW_RETURN_IF_ERROR(builder.AddForwarder("spine"));
  std::set<size_t> rails;
  for (const std::vector<Nic>& nics : hosts) {
    for (size_t rail = 0; rail < nics.size(); ++rail) {
      const Nic& nic = nics[rail];
      const std::string leaf = fmt::format("rail{}", rail), port = nic.name + ".port";
      if (rails.insert(rail).second) PW_RETURN_IF_ERROR(builder.AddForwarder(leaf));
      PW_RETURN_IF_ERROR(builder.AddForwarder(port));
      PW_RETURN_IF_ERROR(JoinNic(builder, nic, port, network));
      // Before the spine's: of two ways alike the first described is taken.
      PW_RETURN_IF_ERROR(builder.Connect(port, leaf, nic.bandwidth, Nanos(0), Duplex::kFull,
                                         "the leaf switch of the rail, without blocking"));
      PW_RETURN_IF_ERROR(builder.Connect(
          port, "spine", Scaled(nic.bandwidth, 1 / network.oversubscription), kSpineLatency,
          Duplex::kFull,
          network.oversubscription > 1
              ? fmt::format("an uplink for each port, oversubscribed {} to 1; latency estimated",
                            network.oversubscription)
              : "an uplink for each port, without blocking; latency estimated"));
    }
  }
  return Ok();
}

Status AddLeaves(ClusterBuilder& builder, const std::vector<std::vector<Nic>>& hosts,
                 int32_t per_leaf, const NetworkSpec& network) {
  PW_RETURN_IF_ERROR(builder.AddForwarder("network"));
  const size_t size = static_cast<size_t>(per_leaf);
  for (size_t first = 0; first < hosts.size(); first += size) {
    const std::string leaf = fmt::format("leaf{}", first / size);
    PW_RETURN_IF_ERROR(builder.AddForwarder(leaf));
    BytesPerSecond ports;
    for (size_t host = first; host < std::min(first + size, hosts.size()); ++host) {
      for (const Nic& nic : hosts[host]) {
        PW_RETURN_IF_ERROR(JoinNic(builder, nic, leaf, network));
        ports = BytesPerSecond(SaturatingAdd(ports.count, nic.bandwidth.count));
      }
    }
    PW_RETURN_IF_ERROR(builder.Connect(
        leaf, "network", Scaled(ports, 1 / network.oversubscription), kSpineLatency, Duplex::kFull,
        fmt::format("the uplinks of a leaf switch, oversubscribed {} to 1; latency estimated",
                    network.oversubscription)));
  }
  return Ok();
}

Status AddNetwork(ClusterBuilder& builder, const std::vector<Nic>& nics,
                  const NetworkSpec& network) {
  PW_RETURN_IF_ERROR(builder.AddForwarder("network"));
  for (const Nic& nic : nics) PW_RETURN_IF_ERROR(JoinNic(builder, nic, "network", network));
  return Ok();
}

}  // namespace placewright
