// The model of costs, made to agree with one measured step of a plan.
#ifndef PLACEWRIGHT_CLI_REQUEST_CALIBRATION_H_
#define PLACEWRIGHT_CLI_REQUEST_CALIBRATION_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "formats/plan/plan_files.h"

namespace placewright {

struct MeasuredStep {
  Nanos step;
  std::optional<Nanos> compute;    // of it, what the busiest device computes
  std::vector<std::string> types;  // globs over types of ops, whose times are off; none: all
};

// Times as modelled, and with the times of those ops multiplied by `factor`.
struct Calibration {
  double factor = 1;
  Nanos modelled_step, step;
  std::string busiest;  // the device that computes longest, as modelled
  Nanos modelled_compute, compute;
  std::vector<std::string> kinds;  // of devices that run such ops
};

// Without `compute` the factor f for which the simulated step takes `step`, by bisection: communications take what they
// are modelled to take. With it the f for which f * (time of such ops on the busiest device) + (time of its others) is
// `compute`; what the step then takes says how far communications are off. Rounded to five digits.
// Errors: those of the readers; kUsage (times that no factor from 1/64 to 64 gives, a glob that matches no op that takes
// time); kPlanMismatch (times that are measured or given, or that the model no longer gives).
// Complexity: a few dozen simulations, of a plan in lanes in these.
Result<Calibration> Calibrate(const std::string& plan_path, const PlanInputOptions& options,
                              const MeasuredStep& measured);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_CALIBRATION_H_
