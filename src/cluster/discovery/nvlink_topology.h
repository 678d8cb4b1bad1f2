// NVLink between the GPUs of a machine, from the lanes that a table of paths counts.
#ifndef PLACEWRIGHT_CLUSTER_DISCOVERY_NVLINK_TOPOLOGY_H_
#define PLACEWRIGHT_CLUSTER_DISCOVERY_NVLINK_TOPOLOGY_H_

#include <string>
#include <vector>

#include "cluster/discovery/describe.h"

namespace placewright {

// Joins every pair with lanes directly. Where a GPU's pairs together count more lanes than it has,
// they share them through an NVSwitch ("NV18" to each of seven others): then every GPU with lanes
// hangs on "host0/nvswitch" with the largest count of one of its pairs. A GPU whose lanes are not
// known is taken to have 18 of 25 GB/s, and a note says so.
Status WireNvlink(const FoundMachine& machine, ClusterBuilder& builder,
                  std::vector<std::string>& notes);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_DISCOVERY_NVLINK_TOPOLOGY_H_
