// The short form of cluster files: whole hosts and the network between them.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_HOST_FIELDS_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_HOST_FIELDS_H_

#include <vector>

#include "cluster/machine.h"
#include "formats/cluster/kind_fields.h"
#include "formats/text/yaml.h"

namespace placewright {

// The hosts of a file so far.
struct HostsSoFar {
  int32_t count = 0;
  std::vector<Nic> nics;  // of all of them; bandwidth 0: the network's
};

// Adds what one entry of `hosts` describes, or the top of a file with a single host (`nics` there
// are names of the long form).
Status AddHosts(const YamlNode& map, bool top, const KindTable& kinds, ClusterBuilder& builder,
                HostsSoFar& hosts);

// network: 10 Gbps, or {bandwidth, latency, efficiency, rails, hosts_per_leaf, oversubscription}; nullptr: the NICs state their bandwidths.
Status AddNetworkOf(const YamlNode* node, const HostsSoFar& hosts, ClusterBuilder& builder);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_HOST_FIELDS_H_
