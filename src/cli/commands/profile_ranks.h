// `profile --ranks`: what the machines of a cluster take to exchange tensors, measured between the processes
// of a run.
#ifndef PLACEWRIGHT_CLI_COMMANDS_PROFILE_RANKS_H_
#define PLACEWRIGHT_CLI_COMMANDS_PROFILE_RANKS_H_

#include <atomic>
#include <chrono>
#include <string>

#include "base/result.h"
#include "cli/commands/command.h"
#include "cluster/cluster.h"

namespace placewright {

struct RankProfileOptions {
  std::string store;                      // written by rank 0
  Bytes largest{int64_t{64} << 20};       // less where the devices' memory ends
  std::chrono::seconds rank_timeout{20};  // as `run --rank-timeout`
  bool no_nccl = false;                   // as `run --no-nccl`
};

// Called by all ranks; each exchange is stored once it is measured. Returns the exit status. Errors: kUsage (one
// process; devices of one machine alone), RunRanks::Join's, ProfilingService::ProfileExchange's, CostStore's.
Result<int> ProfileBetweenRanks(const Cluster& cluster, const RankProfileOptions& options,
                                const std::atomic<bool>& interrupted, Context& context);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_PROFILE_RANKS_H_
