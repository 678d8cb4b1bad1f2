// Threads that copy between devices, one for each destination.
#ifndef PLACEWRIGHT_RUNTIME_EXECUTOR_COPY_LANES_H_
#define PLACEWRIGHT_RUNTIME_EXECUTOR_COPY_LANES_H_

#include <memory>
#include <vector>

#include "runtime/executor/worker.h"

namespace placewright {

class CopyLanes {
 public:
  // Lanes to devices to which there are copies. `step` must outlive them.
  explicit CopyLanes(SharedStep& step);
  ~CopyLanes();
  CopyLanes(const CopyLanes&) = delete;
  CopyLanes& operator=(const CopyLanes&) = delete;

  // From any thread, in turn with others to the same device. A failure ends the step.
  void Copy(CopyId copy, std::vector<at::Tensor> tensors);
  // Returns when no copy is queued or under way.
  void Drain();

 private:
  class Lane;
  IdVector<DeviceId, std::unique_ptr<Lane>> lanes_;
  SharedStep& step_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_COPY_LANES_H_
