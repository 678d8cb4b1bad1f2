// `simulate --objective throughput|latency`: a split of a dnn-partitioning workload under the
// workload's own objectives, in its own unit.
#ifndef PLACEWRIGHT_CLI_REQUEST_OBJECTIVE_H_
#define PLACEWRIGHT_CLI_REQUEST_OBJECTIVE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/terminal/console.h"

namespace placewright {

enum class Objective : uint8_t { kStepTime, kThroughput, kLatency };

// "step-time", "throughput" or "latency". Errors: kUsage with near names.
Result<Objective> ParseObjective(std::string_view text);

// Evaluates the placement in the file `placement` (a split, a plan, a map from op to device) and
// prints the result, text or `placewright.objective/1`. Errors: those of the readers; kUsage where
// the graph is no workload or the placement is missing; those of MaxLoad and SampleLatency.
Status PrintObjective(Objective objective, const std::string& graph, const std::string& placement,
                      Console& console);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_OBJECTIVE_H_
