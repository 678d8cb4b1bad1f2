// A plan's step executed beside the step on one device: `check --run`.
#ifndef PLACEWRIGHT_CLI_REQUEST_EXECUTED_CHECK_H_
#define PLACEWRIGHT_CLI_REQUEST_EXECUTED_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/plan/plan_files.h"

namespace placewright {

struct ExecutedCheck {
  // Of steps in 64 bits, and of those that compute in 16.
  static constexpr double kLimit = 1e-6, kHalfLimit = 2e-2;

  int64_t tensors = 0;  // compared: parameters, state and buffers, on every device that has them
  std::vector<std::string> other;  // not compared: of 16 bits

  // The largest difference, as a part of the tensor's largest magnitude or of a thousandth of that of all
  // tensors of its kind, whichever is more; and where.
  double difference = 0;
  std::string tensor;
  bool equal = true;  // every difference within the limit
};

// Executes one step of the plan over simulated devices and the graph's step on one, both with every float32 as
// float64 and from the same seeded values, and compares what they leave. LibTorch's default type is float64
// from then on. Errors: those of the readers and of ExecutionService; kField (no
// recorded step; a plan whose batch norms are local, which is another step).
Result<ExecutedCheck> ExecuteBesideOriginal(const PlanInputs& plan, const std::string& plan_path,
                                            const PlanInputOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_EXECUTED_CHECK_H_
