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
// that each GPU's shortest way out is the NIC beside it. So it is unless the host states its
// switches. GPUs go to sockets in order, evenly. NVLink and xGMI join GPUs directly, NVSwitch
// through the forwarder "hostN/nvswitch"; a host with a single GPU has neither. Every link is full
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

// kPcie: every slot of the generation that its GPU and the host's CPU both have. kXgmi: every pair of
// AMD's GPUs by Infinity Fabric.
enum class Interconnect : uint8_t { kPcie, kPcie3, kPcie4, kPcie5, kNvlink, kNvswitch, kXgmi };
std::string_view ToString(Interconnect interconnect);  // "pcie", "pcie3", ..., "nvswitch", "xgmi"
std::optional<Interconnect> FindInterconnect(std::string_view name);
std::vector<std::string> InterconnectNames();

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
  // NVLink, NVSwitch and xGMI: of GPUs of one kind that has it. PCIe to the sockets is then of the
  // GPU's own generation.
  Interconnect interconnect = Interconnect::kPcie3;
  int32_t nics = 1;
  // PCIe switches of each socket; 0: all slots are the CPU's own. Not stated: as above.
  std::optional<int32_t> switches;
  BytesPerSecond bandwidth;  // of a GPU's link of that interconnect; 0: the known figure
  std::string_view link_source = "given";  // of `bandwidth`, where it is not 0
};

// What joins a host's GPUs where nothing is stated: NVLink or NVSwitch on the boards that their kind is
// made for (SXM modules), xGMI between MI300X and later, else PCIe. `why` is a sentence to be said.
struct UsualInterconnect {
  Interconnect interconnect = Interconnect::kPcie;
  std::string why;
};
UsualInterconnect UsualInterconnectOf(const HostSpec& host);

// Adds the host's kinds (where new), devices and links. Errors: those of the builder; kField (a
// GPU kind without NVLink, a number of GPUs that no NVLink board has).
Status AddHost(ClusterBuilder& builder, const HostSpec& host);

struct Nic {
  std::string name, parent;  // "host0/nic", "host0/pcie0"
  BytesPerSecond bandwidth;
};
// Of NIC 0 .. nics-1 of the host, without a bandwidth.
Nic NicOf(const HostSpec& host, int32_t nic);

// The network between hosts.
struct NetworkSpec {
  Nanos latency;          // of one NIC's link
  std::string source;     // of the NICs' bandwidth
  double efficiency = 1;  // the share of a NIC's bandwidth that is left for what is sent, in (0, 1]
  // How much more the ports of a leaf switch carry than its uplinks, >= 1.
  double oversubscription = 1;
};

// Joins the NICs of each host by rails: NIC r of every host hangs on the leaf switch "railR", all
// leaves on "spine". A NIC's port ("host0/nic0.port") has a way to its leaf, which never blocks, and an
// uplink of its own to the spine. Two NICs of one rail are 2 * latency apart, others two switches more.
Status AddRails(ClusterBuilder& builder, const std::vector<std::vector<Nic>>& hosts,
                const NetworkSpec& network);

// Every `per_leaf` >= 1 hosts hang on a leaf switch "leafK", and it by one uplink for all of them on
// "network".
Status AddLeaves(ClusterBuilder& builder, const std::vector<std::vector<Nic>>& hosts,
                 int32_t per_leaf, const NetworkSpec& network);

// Joins NICs through one switch, which never blocks. The other forms join one NIC of each of the hosts
// 0, 1, ...
Status AddNetwork(ClusterBuilder& builder, const std::vector<Nic>& nics,
                  const NetworkSpec& network);
Status AddNetwork(ClusterBuilder& builder, int32_t hosts, BytesPerSecond bandwidth, Nanos latency,
                  std::string source);
Status AddNetwork(ClusterBuilder& builder, const std::vector<BytesPerSecond>& bandwidths,
                  Nanos latency, std::string source);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_MACHINE_H_
