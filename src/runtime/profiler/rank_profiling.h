// What transfers and collectives take between the processes of a run, as its steps make them: messages,
// the thread that works through them, and the workers that wait for what comes included.
#ifndef PLACEWRIGHT_RUNTIME_PROFILER_RANK_PROFILING_H_
#define PLACEWRIGHT_RUNTIME_PROFILER_RANK_PROFILING_H_

#include "torch_api/profiling_service.h"

namespace placewright {

// As ProfilingService's.
Result<ExchangeProfile> ProfileExchange(const RankDevices& ranks, const Exchange& exchange,
                                        Bytes max, const ProfilingOptions& options);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_PROFILER_RANK_PROFILING_H_
