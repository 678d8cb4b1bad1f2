// One rank's end of what moves between devices in collectives. A rank is a device: of this process,
// or of another one on whatever machine.
//
// A member starts its collective and goes on; once all members have started it, it is carried out,
// and each of them hears of it (docs/execution.md). Members meet by the collective's name, so that
// ranks may start several in different orders. An engine that wants one order on all ranks (NCCL,
// Gloo) keeps back what is not next.
#ifndef PLACEWRIGHT_RUNTIME_TRANSPORT_TRANSPORT_H_
#define PLACEWRIGHT_RUNTIME_TRANSPORT_TRANSPORT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/stop.h"
#include "runtime/transport/collective_spec.h"

namespace placewright {

class Transport {
 public:
  struct Outcome {
    // Contiguous, in the memory of the rank's device: one, or of several tensors each; undefined for the root of a
    // broadcast.
    std::vector<at::Tensor> tensors;
    Clock::time_point ready, start, end;  // ready: the last member has come
  };
  // Called once for every Start, on whatever thread; it throws nothing and waits for nothing.
  using Done = std::function<void(Result<Outcome>)>;

  virtual ~Transport() = default;
  virtual int32_t rank() const = 0;

  // `tensors`, in the memory of the rank's device, are computed; they are held, and must not be written,
  // until `done` is called: one, or one for each of spec.tensors. Who gives nothing (a broadcast's members but its root) has
  // none, or an undefined one. `spec` lives as long, too. Returns at once, but for small tensors,
  // which the last member may move itself. Errors, by `done`: kDeviceMemory; kExecution (members
  // that state different things; members that do not come within the transport's time, by name;
  // Abort).
  virtual void Start(const CollectiveSpec& spec, std::vector<at::Tensor> tensors, Done done) = 0;

  // From any rank: what has not begun, and what is started from now on, ends with `error` on all
  // ranks.
  virtual void Abort(const Error& error) = 0;
  // Returns when nothing of this rank's is carried out or about to be; what waits for members
  // stays.
  virtual void Drain() = 0;
  // After Abort and Drain on all ranks: collectives may be started again.
  virtual void Reset() = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_TRANSPORT_TRANSPORT_H_
