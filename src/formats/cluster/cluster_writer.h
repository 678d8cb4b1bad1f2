// Cluster files in the long form: docs/formats/cluster.md.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_CLUSTER_WRITER_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_CLUSTER_WRITER_H_

#include <string>
#include <vector>

#include "cluster/cluster_builder.h"

namespace placewright {

// The topology that was described to the builder, as YAML: kinds that are not the catalogue's,
// devices, switches and links, with amounts in the largest unit that states them exactly. `notes`
// become comment lines at the top. ParseCluster makes the cluster of it that the builder would
// build. Links and routes that were added by themselves (AddLink, AddRoute) are left out.
std::string ClusterToYaml(const ClusterBuilder& builder, const std::vector<std::string>& notes);

// The JSON Schema of cluster files, docs/formats/cluster.schema.json.
std::string_view ClusterSchema();

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_CLUSTER_WRITER_H_
