// Where a description of machines that a command made goes.
#ifndef PLACEWRIGHT_CLI_COMMANDS_CLUSTER_OUTPUT_H_
#define PLACEWRIGHT_CLI_COMMANDS_CLUSTER_OUTPUT_H_

#include <string>
#include <vector>

#include "cli/terminal/console.h"
#include "cluster/cluster_builder.h"
#include "cluster/peer_matrix.h"

namespace placewright {

// The cluster file to `path`, or to standard output where that is empty; with --json the resolved
// cluster goes to standard output instead. The file is read back first, so that what is given out
// can be used. Errors: those of the reader, kFileUnwritable.
Status PutCluster(const ClusterBuilder& builder, const std::vector<std::string>& notes,
                  const std::string& path, Console& console);

// The kind of GPU that an option names. Errors: kUnknownName with near names.
Result<const DeviceKind*> FindGpuKind(const std::string& name);
// What was printed of pairs of GPUs. Errors name the file: those of reading and of ParsePeerMatrix.
Result<PeerMatrix> ReadPeerMatrix(const std::string& path);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_CLUSTER_OUTPUT_H_
