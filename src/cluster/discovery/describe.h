// From what was found on a machine to its description.
//
//   hostN/cpuS -- hostN/pcieS                     a socket and its root complex
//   hostN/cpuA -- hostN/cpuB                      parts of a socket's cores
//   hostN/pcieS -- hostN/pcieS.nodeK              where a socket's GPUs are of several NUMA nodes
//   .. -- hostN/bridgeK                           where GPUs of a node hang on several host bridges
//                                                 (NODE)
//   .. -- hostN/switchK -- hostN/switchK.J        GPUs that reach each other by PXB, and by PIX
//   .. -- hostN/gpuG
//   hostN/gpuA -- hostN/gpuB                      NVLink, all lanes of the pair as one link
//   hostN/gpuG -- hostN/nvswitch                  where the pairs' lanes are more than a GPU has
//
// Each class of paths is closed under transitivity, so that any table gives a tree. Figures and
// their sources: docs/formats/cluster.md, "Detection".
#ifndef PLACEWRIGHT_CLUSTER_DISCOVERY_DESCRIBE_H_
#define PLACEWRIGHT_CLUSTER_DISCOVERY_DESCRIBE_H_

#include <string>
#include <vector>

#include "cluster/cluster_builder.h"
#include "cluster/discovery/topo_matrix.h"

namespace placewright {

// A CPU device: a socket, or some of its cores.
struct FoundCpu {
  DeviceKind kind;
  Bytes memory;
};

struct FoundSocket {
  std::vector<FoundCpu> cpus;
  std::vector<int32_t> numa;  // numbers of its NUMA nodes
  std::string memory_source;  // of the kinds' memory bandwidth
};

struct FoundGpu {
  DeviceKind kind;
  Bytes memory;
  int32_t socket = -1;          // -1: by its NUMA affinity, or else evenly
  int32_t pcie_generation = 0;  // 0: its architecture's
  int32_t pcie_width = 0;       // 0: 16 lanes
};

struct FoundMachine {
  std::string name;
  std::vector<FoundSocket> sockets;  // at least one
  std::vector<FoundGpu> gpus;
  TopoMatrix topology;  // its GPUs are those, in order
};

// What was assumed goes to `notes`, a line each. Errors: kField where the table and the list of
// GPUs differ in number; those of the builder.
Result<ClusterBuilder> DescribeMachine(const FoundMachine& machine,
                                       std::vector<std::string>& notes);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_DISCOVERY_DESCRIBE_H_
