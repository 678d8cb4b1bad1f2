// The references of a machine's state (cost/machine_state.h), executed as ops of a step are.
#ifndef PLACEWRIGHT_RUNTIME_PROFILER_MACHINE_REFERENCE_H_
#define PLACEWRIGHT_RUNTIME_PROFILER_MACHINE_REFERENCE_H_

#include <memory>
#include <vector>

#include "torch_api/profiling_service.h"

namespace placewright {

// As ProfilingService's. The product is of 256 x 256 matrices; the passes read and write 256 KiB, and
// 64 MiB or an eighth of the memory of the device that has least.
Result<std::unique_ptr<MachineReference>> StartReference(
    const std::vector<ExecutionDevice>& devices, const std::vector<bool>& alone, bool loaded);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROFILER_MACHINE_REFERENCE_H_
