// Cluster files: YAML (of which JSON is a part), NCCL's topology in XML, matrices of pairs of GPUs
// (p2pBandwidthLatencyTest). docs/formats/cluster.md.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_CLUSTER_READER_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_CLUSTER_READER_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/cluster.h"
#include "cluster/cluster_builder.h"
#include "formats/text/json.h"

namespace placewright {

// Every error carries "line L, column C". Errors: kSyntax, kField, kDuplicateName, kUnknownName
// with near names, kClusterInvalid (no devices, a route that cannot be), kUnreachable (two devices
// without a route, unless the file says `partial: true`), kFileTooLarge.
Result<Cluster> ParseCluster(std::string_view text);
// The same before routes are made: for what amends a description. `gpu`: what every GPU of an XML
// file is. A file's own `partial` is not part of it. Errors: as ParseCluster, except kUnreachable.
Result<ClusterBuilder> DescribeCluster(std::string_view text, const DeviceKind* gpu = nullptr);
// The cluster with all its derived figures (devices, links, routes, groups), for --json and hashes.
// It is a cluster file itself: ParseCluster(ClusterToJson(c).dump()) equals c.
Json ClusterToJson(const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_CLUSTER_READER_H_
