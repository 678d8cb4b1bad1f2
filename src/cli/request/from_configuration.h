// `plan --from`: a configuration of another program as a strategy, and the best strategy beside it.
#ifndef PLACEWRIGHT_CLI_REQUEST_FROM_CONFIGURATION_H_
#define PLACEWRIGHT_CLI_REQUEST_FROM_CONFIGURATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "cli/terminal/console.h"
#include "cli/terminal/options.h"
#include "formats/engines/training_configuration.h"
#include "formats/text/json.h"
#include "plan/strategy.h"

namespace placewright {

struct FromConfiguration {
  std::string file;
  TrainingConfiguration configuration;
  ConfiguredStrategy made;
  int64_t gpus = 0, hosts = 0;  // of the cluster that it was read for
};
// For the GPUs of `cluster`. Errors: those of the readers and of StrategyOfConfiguration, naming the file; kUsage (a cluster
// without GPUs).
Result<FromConfiguration> ReadFromConfiguration(const std::string& file,
                                                const std::string& cluster);

// One line of the configuration changed to that of the best strategy, all others as they are.
struct ConfigurationChange {
  std::string line;       // "activation_checkpoint.mode = "none""
  StrategyResult result;  // with that change alone
};
struct BesideConfiguration {
  StrategyResult configured;
  std::optional<StrategyResult> best;
  std::vector<ConfigurationChange> changes;  // what gains most first
  int64_t batch = 0;
};
// Errors: those of StrategyTrier.
Result<BesideConfiguration> CompareWithBest(const FromConfiguration& from,
                                            const InputOptions& input, const StopToken& stop);

std::string DescribeFrom(const FromConfiguration& from, const BesideConfiguration& beside,
                         const Style& style);
// {file, program, batch, read[], ignored[], notes[], configured, best, changes[{line, strategy, gain,
// memory_change_bytes}]}
Json FromToJson(const FromConfiguration& from, const BesideConfiguration& beside);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_FROM_CONFIGURATION_H_
