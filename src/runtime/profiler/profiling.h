// Ops measured where they run: in whole steps, executed on one device, so that what an op finds in the
// caches is what it finds when a plan is executed, and what it costs to call it is in its time.
#ifndef PLACEWRIGHT_RUNTIME_PROFILER_PROFILING_H_
#define PLACEWRIGHT_RUNTIME_PROFILER_PROFILING_H_

#include <vector>

#include "torch_api/profiling_service.h"

namespace placewright {

// As ProfilingService's.
Result<std::vector<DeviceProfile>> ProfileStep(const Graph& graph,
                                               const std::vector<ExecutionDevice>& devices,
                                               const std::vector<bool>& alone, bool loaded,
                                               const ProfilingOptions& options);
Result<std::vector<TransferSample>> ProfileTransfers(const ExecutionDevice& from,
                                                     const ExecutionDevice& to, Bytes max,
                                                     const ProfilingOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROFILER_PROFILING_H_
