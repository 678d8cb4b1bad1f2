// A machine's description from what its system, its GPU driver and its user say.
#ifndef PLACEWRIGHT_CLUSTER_DISCOVERY_DETECT_H_
#define PLACEWRIGHT_CLUSTER_DISCOVERY_DETECT_H_

#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster_builder.h"
#include "cluster/discovery/gpu_library.h"
#include "cluster/discovery/host_topology.h"

namespace placewright {

struct DetectInput {
  HostTopology host;                      // pci_sockets of the inventory's GPUs
  std::optional<GpuInventory> inventory;  // empty: no driver was asked, or none answered
  std::optional<TopoMatrix> table;        // --topo: instead of the driver's paths
  std::optional<PeerMatrix> measured;     // --pairs: instead of what the driver says of pairs
  const DeviceKind* gpu = nullptr;        // --gpu: what every GPU is
  // --split-cpu: cores of each CPU device; empty: a device for each socket.
  std::vector<int64_t> cpu_cores;
};

// Paths, NUMA affinities and the number of GPUs are the table's where there is one. A kind that
// stands for another, and figures that are estimates, are said in `notes`. Errors: kUnknownName (a
// GPU that the catalogue lacks), kMissingRuntime (a table of GPUs without names), kUsage (`gpu`
// without any GPU; more cores than the sockets have), kField (a table of another machine).
Result<ClusterBuilder> DetectMachine(const DetectInput& input, std::vector<std::string>& notes);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_DISCOVERY_DETECT_H_
