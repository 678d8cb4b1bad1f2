// Whole machines from a few words: what presets and the short form of cluster files are made of.
//
// A host is one tree per CPU socket:
//
//   hostN/cpuS -- hostN/pcieS -- hostN/gpuG           up to two GPUs a socket
//   hostN/cpuS -- hostN/pcieS -- hostN/pcieS.K -- hostN/gpuG   else two PCIe switches a socket
//
// Root complexes of one host are joined by the socket interconnect; "hostN/nic" hangs on the first
// one, and all NICs on the forwarder "network". GPUs go to sockets in order, evenly. NVLink joins
// GPUs directly, NVSwitch through the forwarder "hostN/nvswitch". Every link is full duplex.
// Figures and their sources: docs/formats/cluster.md.
#ifndef PLACEWRIGHT_CLUSTER_MACHINE_H_
#define PLACEWRIGHT_CLUSTER_MACHINE_H_

#include <optional>
#include <string_view>
#include <vector>

#include "cluster/cluster_builder.h"

namespace placewright {

enum class Interconnect : uint8_t { kPcie3, kPcie4, kPcie5, kNvlink, kNvswitch };
std::string_view ToString(Interconnect interconnect);  // "pcie3", ..., "nvlink", "nvswitch"
std::optional<Interconnect> FindInterconnect(std::string_view name);

// Some GPUs of one kind.
struct GpuSlot {
  DeviceKind kind;
  int32_t count = 1;
  Bytes memory;   // of each; 0: the kind's
  Bytes reserve;  // of each
};

struct HostSpec {
  int32_t index = 0;  // N of hostN
  DeviceKind cpu;
  int32_t sockets = 2;  // 0: no CPU is a device
  Bytes memory;         // of the host; each socket has an equal share
  Bytes reserve;        // of each socket
  std::vector<GpuSlot> gpus;
  // NVLink and NVSwitch: of GPUs of one kind that has it. PCIe to the sockets is then of the GPU's
  // own generation.
  Interconnect interconnect = Interconnect::kPcie3;
  BytesPerSecond bandwidth;  // of a GPU's link of that interconnect; 0: the known figure
  std::string_view link_source = "given";  // of `bandwidth`, where it is not 0
};

// Adds the host's kinds (where new), devices and links. Errors: those of the builder; kField (a
// GPU kind without NVLink, a number of GPUs that no NVLink board has).
Status AddHost(ClusterBuilder& builder, const HostSpec& host);

// Joins the NICs of hosts 0 .. hosts-1 through one switch; `latency` is that of one NIC's link. The
// second form gives each host's NIC a bandwidth of its own.
Status AddNetwork(ClusterBuilder& builder, int32_t hosts, BytesPerSecond bandwidth, Nanos latency,
                  std::string source);
Status AddNetwork(ClusterBuilder& builder, const std::vector<BytesPerSecond>& bandwidths,
                  Nanos latency, std::string source);

// One direction of a link, and where the figures come from.
struct LinkFigure {
  BytesPerSecond bandwidth;
  Nanos latency;
  std::string_view source;
};
// x16 of that generation (3 stands for older ones, 5 for newer); two such hops make a copy between
// GPUs. Of an architecture's own generation where a machine does not say.
LinkFigure PcieFigure(int32_t generation);
int32_t PcieGenerationOf(const DeviceKind& kind);
// Between two sockets of that architecture; one that is not listed as Broadwell.
LinkFigure SocketFigure(std::string_view architecture);

struct Nvlink {
  int32_t lanes = 0;    // of one GPU
  BytesPerSecond lane;  // one direction of one lane
  std::string_view source;
  bool bridge = false;  // joins two neighbouring boards with all lanes
};
// nullptr: none, or none that is known.
const Nvlink* FindNvlink(const DeviceKind& kind);
inline constexpr Nanos kNvlinkLatency(2'000);
inline constexpr Nanos kDramLatency(100);        // the order of one access to DRAM
inline constexpr Nanos kPcieSwitchLatency(500);  // on top of the slot's 3 us: an estimate

// Half of the least application-to-application time over 10 Gb/s Ethernet, 10 us (Larsen,
// Sarangam, Huggahalli, "Architectural breakdown of end-to-end latency in a TCP/IP network",
// SBAC-PAD 2007), less the PCIe hop: a route crosses two such links.
inline constexpr Nanos kNetworkLatency(4'000);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_MACHINE_H_
