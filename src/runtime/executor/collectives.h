// The collectives of an executable: where their members' tensors go, and when each took place.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_COLLECTIVES_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_COLLECTIVES_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "runtime/executor/worker.h"
#include "runtime/transport/transport.h"

namespace placewright {

class Collectives {
 public:
  // Between `step`'s devices, whose numbers are the ranks. `step` must outlive it.
  explicit Collectives(SharedStep& step);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  // From the member's device, once `tensors` have been computed there. What comes of it goes to the
  // device's mailbox; a failure ends the step.
  void Enter(TaskId member, std::vector<at::Tensor> tensors);
  // When the workers have ended: returns when nothing is under way. Of a step that has failed
  // nothing waits any longer.
  void EndStep();

 private:
  void Leave(TaskId member, Result<Transport::Outcome> outcome);

  SharedStep& step_;
  std::vector<std::unique_ptr<Transport>> transports_;  // by device
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_COLLECTIVES_H_
