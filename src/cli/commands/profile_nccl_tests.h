// `profile --nccl-tests`: what others measured of a cluster's collectives, taken from their logs.
#ifndef PLACEWRIGHT_CLI_COMMANDS_PROFILE_NCCL_TESTS_H_
#define PLACEWRIGHT_CLI_COMMANDS_PROFILE_NCCL_TESTS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands/command.h"
#include "cluster/cluster.h"

namespace placewright {

// `logs`: FILE or COLLECTIVE=FILE each. All are read before anything is stored in `store`. Returns the exit status.
// Errors: kUsage (an unknown collective, two logs of one, a log of more machines or of other GPUs than `cluster` has),
// ParseNcclTestsLog's with the file, CostStore's.
Result<int> TakeNcclTests(const Cluster& cluster, const std::vector<std::string>& logs,
                          const std::string& store, Context& context);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_PROFILE_NCCL_TESTS_H_
