// Placements executed beside their prediction.
#ifndef PLACEWRIGHT_CLI_REQUEST_VALIDATION_RUN_H_
#define PLACEWRIGHT_CLI_REQUEST_VALIDATION_RUN_H_

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/request/measured_prediction.h"
#include "cli/request/validation.h"
#include "cli/request/validation_suite.h"
#include "cli/terminal/console.h"
#include "torch_api/execution_service.h"
#include "torch_api/profiling_service.h"

namespace placewright {

// Placements of one graph, and what they are executed and predicted with. All outlive the run.
struct ValidationSetting {
  const Graph& graph;
  const Cluster& cluster;
  const CostTable&
      costs;  // of the prediction where nothing measured is known, and of a policy's paths
  SchedulingPolicy policy;
  const MeasuredPrediction* measured;  // null where the costs are a plan's own
  std::optional<Nanos> as_planned;     // what a plan says that its step takes
};

struct ValidationRun {
  const ExecutionService& service;
  const ProfilingService& profiling;
  Console& console;
  const std::atomic<bool>& interrupted;
  int64_t steps = 10;  // of each placement and pass; the first 5 warm up
  int64_t passes =
      4;  // all placements one after the other, again in each: a machine's state changes
};

// Adds what it executes to `pairs`, and of each placement that could not be executed, or not in each pass,
// why to `errors`. Where the state of the machine is known (`setting.measured`), a pair's prediction is the
// median over its steps as its time is, of each step as the machine was between the looks before and behind
// it. Errors: those of ExecutionDevicesOf and ProfilingService::StartReference.
Status Validate(const ValidationSetting& setting, const std::vector<SuitePlacement>& placements,
                const ValidationRun& run, std::vector<ValidatedPair>& pairs,
                std::vector<Error>& errors);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_VALIDATION_RUN_H_
