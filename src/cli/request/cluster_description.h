// A cluster before its routes are made: what amends or changes a description starts from.
#ifndef PLACEWRIGHT_CLI_REQUEST_CLUSTER_DESCRIPTION_H_
#define PLACEWRIGHT_CLI_REQUEST_CLUSTER_DESCRIPTION_H_

#include <string>

#include "base/result.h"
#include "cluster/cluster_builder.h"

namespace placewright {

// A file (YAML, JSON, NCCL's topology; "-": standard input) or a preset; `gpu`: what every GPU of an XML file is.
// Errors: those of the reader.
Result<ClusterBuilder> DescribeFileOrPreset(const std::string& path_or_preset,
                                            const DeviceKind* gpu = nullptr);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_CLUSTER_DESCRIPTION_H_
