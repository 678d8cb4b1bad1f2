// Threads that copy between devices, one for each destination.
//
// What crosses between cores of this machine and is small is copied by the worker that has made it: a
// thread that has to be woken on a busy core waits for longer than such a copy takes.
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

  // On the source's worker, in turn with others to the same device, or at once. A failure ends the step.
  void Copy(CopyId copy, std::vector<at::Tensor> tensors);
  // Returns when no copy is queued or under way.
  void Drain();

 private:
  // 50 us of copying at 10 GB/s.
  static constexpr int64_t kAtOnce = 512 << 10;

  class Lane;
  IdVector<DeviceId, std::unique_ptr<Lane>> lanes_;
  SharedStep& step_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_EXECUTOR_COPY_LANES_H_
