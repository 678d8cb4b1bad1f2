// Machines for people: devices, links, routes, and the presets and hardware that are known.
#ifndef PLACEWRIGHT_REPORT_CLUSTER_REPORT_H_
#define PLACEWRIGHT_REPORT_CLUSTER_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "report/table.h"

namespace placewright {

// Devices with their figures, links with theirs, and what routes between devices offer.
std::string RenderCluster(const Cluster& cluster, const Style& style);

// The presets and the catalogue, each figure with its source.
std::string RenderCatalogue(const Style& style);

// Ordered pairs of devices without a route.
std::vector<std::pair<DeviceId, DeviceId>> UnreachablePairs(const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_REPORT_CLUSTER_REPORT_H_
