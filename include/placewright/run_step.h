// A placed step executed from C++: training, or forward passes, with batches of the caller's.
//
//   placewright::RunRequest request;
//   request.steps = 1000;
//   request.batch = [&](std::int64_t step, placewright::StepValues& values) {
//     return values.Set("x", BytesOf(data, step));
//   };
//   const auto run = placewright::RunStep(graph, cluster, planned.value().placement, request);
//
// The library that includes LibTorch is opened at the first call (PLACEWRIGHT_TORCH_LIBRARY in the
// environment, or where Placewright is installed). Nothing here throws but std::bad_alloc. One step runs at
// a time in a process: random ops draw from LibTorch's generator, of which a process has one.
#ifndef PLACEWRIGHT_TORCH_API_RUN_STEP_H_
#define PLACEWRIGHT_TORCH_API_RUN_STEP_H_

#include <placewright/base/result.h>
#include <placewright/base/stop.h>
#include <placewright/base/units.h>
#include <placewright/cluster/cluster.h>
#include <placewright/graph/graph.h>
#include <placewright/plan/placement.h>
#include <placewright/plan/schedule.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace placewright {

// What the step reads and keeps, by name: "x" or "input:x", "param:fc.weight", ... Bytes are elements in
// row-major order, little-endian.
class StepValues {
 public:
  virtual ~StepValues() = default;
  // It stays from step to step, with what ops write in it. Errors: kUnknownName, kField (another length
  // than its shape and dtype have), kDeviceMemory.
  virtual Status Set(std::string_view name, std::string_view bytes) = 0;
  // "" of what no op reads. Errors: kUnknownName.
  virtual Result<std::string> Get(std::string_view name) const = 0;
};

struct RunRequest {
  int64_t steps = 15;  // of more than one, up to five warm up
  uint64_t seed = 0;   // of all values that are not set, and of random ops
  // Before each step, from 0: the place for a batch, and before the first one for parameters. An error
  // ends the run. Without it there is one batch, from the seed.
  std::function<Status(int64_t step, StepValues& values)> batch{};
  // Behind each step; the loss is the graph's first output, where that is one number.
  std::function<void(int64_t step, Nanos time, std::optional<double> loss)> progress{};
  // Behind the last step, also where `stop` ended it: the place to take parameters out.
  std::function<Status(const StepValues& values)> finish{};
  StopToken stop{};                                      // ends it behind the step that runs
  SchedulingPolicy policy = SchedulingPolicy::kProgram;  // critical path: of modelled costs
  bool simulate_devices = false;  // every device on a core of this machine, whatever it is
};

struct StepRun {
  int64_t steps = 0, dropped = 0;             // executed; of those the first, which warm up
  Nanos median, p10, p90;                     // of the others
  std::vector<std::optional<double>> losses;  // of all steps
  struct Device {
    std::string name;
    double busy = 0;    // share of the steps' time
    Bytes peak_memory;  // of tensors
  };
  std::vector<Device> devices;
  Schedule schedule;  // of a step near the median
};

// Errors: kUsage (no steps), kPlanMismatch and kPlanInvalid (no placement of the graph on the cluster),
// kMissingRuntime (no LibTorch; devices that this machine has not), kField (no recorded step, or one that this
// LibTorch cannot run), kExecution, kDeviceMemory, those of the request's functions.
Result<StepRun> RunStep(const Graph& graph, const Cluster& cluster, const Placement& placement,
                        const RunRequest& request = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_RUN_STEP_H_
