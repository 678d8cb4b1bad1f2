// Whole machines from a few words: what presets and the short form of cluster files are made of.
//
// A host is one tree per CPU socket:
//
//   hostN/cpuS -- hostN/pcieS -- hostN/gpuG           up to two GPUs a socket
//   hostN/cpuS -- hostN/pcieS -- hostN/pcieS.K -- hostN/gpuG   else two PCIe switches a socket
//
// Root complexes of one host are joined by the socket interconnect; "hostN/nic" hangs on the first
// one, and all NICs on the forwarder "network". Several NICs, "hostN/nic0", ..., go to sockets in
// order, evenly; a socket with more than one has a PCIe switch for each, which its GPUs share, so
// that each GPU's shortest way out is the NIC beside it. GPUs go to sockets in order, evenly.
// NVLink joins GPUs directly, NVSwitch through the forwarder "hostN/nvswitch". Every link is full
// duplex. Figures and their sources: docs/formats/cluster.md.
#ifndef PLACEWRIGHT_CLUSTER_MACHINE_H_
#define PLACEWRIGHT_CLUSTER_MACHINE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/cluster_builder.h"
#include "cluster/link_figures.h"

namespace placewright {

enum class Interconnect : uint8_t { kPcie3, kPcie4, kPcie5, kNvlink, kNvswitch };
std::string_view ToString(Interconnect interconnect);  // "pcie3", ..., "nvlink", "nvswitch"
std::optional<Interconnect> FindInterconnect(std::string_view name);

// Some GPUs of one kind.
struct GpuSlot {
  DeviceKind kind;
  int32_t count = 1;
  Bytes memory;                          // of each; 0: the kind's
  std::optional<MemoryReserve> reserve;  // of each; not stated: the kind's
};

struct HostSpec {
  int32_t index = 0;  // N of hostN
  DeviceKind cpu;
  int32_t sockets = 2;                   // 0: no CPU is a device
  Bytes memory;                          // of the host; each socket has an equal share
  std::optional<MemoryReserve> reserve;  // of each socket; not stated: the kind's
  std::vector<GpuSlot> gpus;
  // NVLink and NVSwitch: of GPUs of one kind that has it. PCIe to the sockets is then of the GPU's
  // own generation.
  Interconnect interconnect = Interconnect::kPcie3;
  int32_t nics = 1;
  BytesPerSecond bandwidth;  // of a GPU's link of that interconnect; 0: the known figure
  std::string_view link_source = "given";  // of `bandwidth`, where it is not 0
};

// Adds the host's kinds (where new), devices and links. Errors: those of the builder; kField (a
// GPU kind without NVLink, a number of GPUs that no NVLink board has).
Status AddHost(ClusterBuilder& builder, const HostSpec& host);

struct Nic {
  std::string name, parent;  // "host0/nic", "host0/pcie0"
  BytesPerSecond bandwidth;
};
// Of NIC 0 .. nics-1 of the host, without a bandwidth.
Nic NicOf(const HostSpec& host, int32_t nic);

// Joins NICs through one switch; `latency` is that of one NIC's link. The other forms join one NIC
// of each of the hosts 0, 1, ...
Status AddNetwork(ClusterBuilder& builder, const std::vector<Nic>& nics, Nanos latency,
                  std::string source);
Status AddNetwork(ClusterBuilder& builder, int32_t hosts, BytesPerSecond bandwidth, Nanos latency,
                  std::string source);
Status AddNetwork(ClusterBuilder& builder, const std::vector<BytesPerSecond>& bandwidths,
                  Nanos latency, std::string source);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_MACHINE_H_
