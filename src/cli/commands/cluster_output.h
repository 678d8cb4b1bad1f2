// Where a description of machines that a command made goes.
#ifndef PLACEWRIGHT_CLI_COMMANDS_CLUSTER_OUTPUT_H_
#define PLACEWRIGHT_CLI_COMMANDS_CLUSTER_OUTPUT_H_

#include <string>
#include <vector>

#include "cli/terminal/console.h"
#include "cluster/cluster_builder.h"

namespace placewright {

// The cluster file to `path`, or to standard output where that is empty; with --json the resolved
// cluster goes to standard output instead. The file is read back first, so that what is given out
// can be used. Errors: those of the reader, kFileUnwritable.
Status PutCluster(const ClusterBuilder& builder, const std::vector<std::string>& notes,
                  const std::string& path, Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_CLUSTER_OUTPUT_H_
