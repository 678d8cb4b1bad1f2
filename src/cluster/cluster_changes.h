// A described cluster with something changed: more network, memory or links, devices left out.
#ifndef PLACEWRIGHT_CLUSTER_CLUSTER_CHANGES_H_
#define PLACEWRIGHT_CLUSTER_CLUSTER_CHANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster_builder.h"

namespace placewright {

struct ClusterChange {
  int64_t network_factor = 1;  // of the bandwidth of what joins hosts
  // GPUs of a host by NVLink where their kind can have it and they are not joined yet: neighbours by bridges, where it has
  // those, else all through a switch.
  bool nvlink = false;
  bool peer_to_peer = false;         // also of kinds of GPUs that have none
  Bytes more_memory;                 // of each GPU
  std::vector<std::string> without;  // devices, by name
};

// Whether there is something that the change would change.
bool HasNetwork(const Cluster& cluster);
bool CanHaveNvlink(const ClusterBuilder& described);
bool LacksPeerToPeer(const ClusterBuilder& described);

// Devices keep their names and their order. Errors: kUsage (a description that gives its routes one by one), kUnknownName,
// those of the builder.
Result<ClusterBuilder> ChangeCluster(const ClusterBuilder& described, const ClusterChange& change);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLUSTER_CLUSTER_CHANGES_H_
