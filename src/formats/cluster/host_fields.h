// The short form of cluster files: whole hosts and the network between them.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_HOST_FIELDS_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_HOST_FIELDS_H_

#include "cluster/machine.h"
#include "formats/cluster/kind_fields.h"
#include "formats/text/yaml.h"

namespace placewright {

// Adds what one entry of `hosts` (or the top of a file with a single host) describes; `hosts` is
// the number of hosts so far and grows by the entry's `count`.
Status AddHosts(const YamlNode& map, const KindTable& kinds, ClusterBuilder& builder,
                int32_t& hosts);

// network: 10 Gbps, or {bandwidth, latency}.
Status AddNetworkOf(const YamlNode& node, int32_t hosts, ClusterBuilder& builder);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_HOST_FIELDS_H_
