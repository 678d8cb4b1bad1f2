// Steps executed beside what they were compiled from.
#ifndef TESTS_CHECKER_EXECUTED_STEP_H_
#define TESTS_CHECKER_EXECUTED_STEP_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

#include "compiled_step.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::tests {

// The same step with every float of 64 bits.
RecordedStep InDouble(const RecordedStep& step);
// A file's step likewise, with the laws of its batch.
RecordedStep FileInDouble(const std::string& path);

// A step on one device, executed once: from seeded values, in float64.
class ExecutedOriginal {
 public:
  // `graph` must outlive it. Its floats have 64 bits.
  explicit ExecutedOriginal(const Graph& graph);

  const std::string& failure() const { return failure_; }  // "": it ran
  // "": executed on simulated devices the step leaves the same parameters, buffers and states, to 1e-6 of each one's
  // magnitude, and its first output, where that is a number. Else what differs, or why it does not run.
  std::string Differs(const DistributedStep& step, size_t devices) const;

 private:
  const Graph& graph_;
  std::vector<std::pair<TensorId, at::Tensor>> inputs_;
  std::vector<at::Tensor> after_, outputs_;
  std::string failure_;
};

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_EXECUTED_STEP_H_
