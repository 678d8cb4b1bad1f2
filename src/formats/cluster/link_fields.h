// The parts of a cluster file that join devices: `links` and `routes` of the long form, `collectives`.
#ifndef PLACEWRIGHT_FORMATS_CLUSTER_LINK_FIELDS_H_
#define PLACEWRIGHT_FORMATS_CLUSTER_LINK_FIELDS_H_

#include "cluster/cluster_builder.h"
#include "formats/text/yaml.h"

namespace placewright {

// Once all devices and switches are there. Errors carry a place: those of the builder, kField,
// kUnknownName with near names.
Status ReadLinks(const YamlNode& root, ClusterBuilder& builder);
// Once all links are there.
Status ReadRoutes(const YamlNode& root, ClusterBuilder& builder);
// `collectives`: how they run. Errors as above.
Status ReadCollectives(const YamlNode& root, ClusterBuilder& builder);
// Derived figures that a file repeats must be right. Errors: kField.
Status CheckStatedFigures(const YamlNode& root, const Cluster& cluster);

}  // namespace placewright

#endif  // PLACEWRIGHT_FORMATS_CLUSTER_LINK_FIELDS_H_
