// What a step needs on every device, by a sweep over its allocations and frees (rules 8 to 13).
#ifndef CHECK_PLAN_MEMORY_CHECK_H_
#define CHECK_PLAN_MEMORY_CHECK_H_

#include "check_plan/replay.h"
#include "check_plan/step.h"
#include "plan/plan.h"

namespace placewright::check {

// Largest occupancy by tensors, per device.
//   Before the step: persistent storages at home, inputs wherever an op reads them.
//   A produced storage: whole, from its maker's start until its last local user and the last
//   transfer of it have ended. A copy: its range, from the transfer's start until its last reader
//   there has ended. All sizes in granules of 512 bytes; at one stamp frees come first.
IdVector<DeviceId, Bytes> TensorPeaks(const Step& step, const Waits& waits, const Stamps& stamps);

// The plan's memory figures against the sweep, the costs and the cluster; and its `feasible`.
MaybeViolation CheckMemory(const Plan& plan, const Step& step, const Waits& waits,
                           const Stamps& stamps);

}  // namespace placewright::check

#endif  // CHECK_PLAN_MEMORY_CHECK_H_
