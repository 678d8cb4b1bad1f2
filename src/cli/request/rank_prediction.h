// What a plan takes whose devices are cores of several processes.
#ifndef PLACEWRIGHT_CLI_REQUEST_RANK_PREDICTION_H_
#define PLACEWRIGHT_CLI_REQUEST_RANK_PREDICTION_H_

#include <optional>

#include "base/ids.h"
#include "base/units.h"
#include "formats/plan/plan_files.h"
#include "plan/placement.h"

namespace placewright {

// The plan simulated with its own times and links, where cores compute, send and receive by turns: of what goes
// on at the same time, ops and exchanges take longer (sim/contention.h). None where not all devices are CPUs, or
// nothing crosses between ranks beside ops. `rank_of` [device]; empty: one process.
std::optional<Nanos> PredictOverRanks(const PlanInputs& loaded, const Placement& placement,
                                      const IdVector<DeviceId, int32_t>& rank_of);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_RANK_PREDICTION_H_
