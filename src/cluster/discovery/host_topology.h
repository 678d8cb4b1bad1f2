// CPU sockets, cores and memory of this machine, by hwloc.
#ifndef PLACEWRIGHT_CLUSTER_DISCOVERY_HOST_TOPOLOGY_H_
#define PLACEWRIGHT_CLUSTER_DISCOVERY_HOST_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace placewright {

struct Socket {
  int64_t cores = 0;          // that this process may use
  Bytes memory;               // of its NUMA nodes; an equal share where they are not its own
  std::vector<int32_t> numa;  // numbers of its NUMA nodes, ascending
};

struct HostTopology {
  std::vector<Socket> sockets;  // never empty
  // The socket of each PCI address that was asked for; -1: not known.
  std::vector<int32_t> pci_sockets;
  std::string cpuinfo;  // the start of /proc/cpuinfo; empty where there is none
};

// `pci` are addresses such as "00000000:17:00.0". Errors: kMissingRuntime where the system says
// nothing about its processors or memory.
Result<HostTopology> ReadHostTopology(const std::vector<std::string>& pci);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_DISCOVERY_HOST_TOPOLOGY_H_
