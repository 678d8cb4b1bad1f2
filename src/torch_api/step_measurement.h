// What executed steps take: times without those that warm up, and a step to look at.
#ifndef PLACEWRIGHT_TORCH_API_STEP_MEASUREMENT_H_
#define PLACEWRIGHT_TORCH_API_STEP_MEASUREMENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "base/units.h"
#include "plan/placement.h"
#include "plan/schedule.h"
#include "torch_api/execution_service.h"

namespace placewright {

struct StepMeasurement {
  int64_t steps = 0, dropped = 0;             // with, and of those the first that warm up
  std::vector<int64_t> times_ns;              // without these, ascending
  std::vector<std::optional<double>> losses;  // of all steps
  std::vector<double> busy;        // by device: share of the time of the steps behind `times_ns`
  std::vector<int64_t> peaks;      // by device: bytes of tensors, over all steps
  Schedule schedule;               // of a step near the median: nearest to that of the steps so far
  Nanos schedule_time;             // that step's time
  std::optional<bool> long_turns;  // of the last step: as Execution::Step has it
  bool abandoned = false;          // a step took longer than the limit; it is the last one
  std::optional<Error> failure;    // of a step behind those that are measured here

  // Of the times, nearest rank; 0 without any.
  int64_t Quantile(double share) const;
  Nanos median() const { return Nanos(Quantile(0.5)); }
};

struct StepMeasurementOptions {
  // Mars, section 4.1: 15 steps, of which the first 5 are dropped. Of fewer, all but one at the most.
  int64_t steps = 15, warm_up = 5;
  // A step behind those that warm up ends it if it takes longer; of those all but the first, if ten times as
  // long.
  Nanos abandon_above = Nanos(kMaxQuantity);
  StopToken stop;  // ends it after the step that runs
  // Before each step: a batch for it, say. May be empty; its error ends the run.
  std::function<Status(int64_t step)> prepare;
  // Before each step behind those that warm up. Whether it used the machine: a step more then warms up,
  // which nothing is said of. May be empty; its error ends the run.
  std::function<Result<bool>()> interlude;
  std::function<void()> warm;  // behind that step; may be empty
  // After each step; may be empty.
  std::function<void(int64_t step, const Execution::Step& taken)> progress;
  // What is executed: members of its collectives keep no device busy. May be left out without collectives.
  const Graph* graph = nullptr;
};

// `placement` is what `execution` was started with, on as many `devices`. Errors: Execution::Run's and those
// of the options' functions, where no step has ended before; behind that they are the result's `failure`.
Result<StepMeasurement> MeasureSteps(Execution& execution, const Placement& placement,
                                     size_t devices, const StepMeasurementOptions& options);

// For how long at least one collective is under way.
Nanos TimeInCollectives(const Schedule& schedule);

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_STEP_MEASUREMENT_H_
