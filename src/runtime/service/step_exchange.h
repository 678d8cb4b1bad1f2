// What the ranks of a run exchange between steps: how long the slowest took, the loss, when things happened.
// All of it goes to rank 0, and what all need from there to the others.
#ifndef PLACEWRIGHT_RUNTIME_SERVICE_STEP_EXCHANGE_H_
#define PLACEWRIGHT_RUNTIME_SERVICE_STEP_EXCHANGE_H_

#include <vector>

#include "base/result.h"
#include "plan/schedule.h"
#include "runtime/process/channel.h"
#include "torch_api/execution_service.h"

namespace placewright {

// The slowest rank's time, the loss of the rank that has one, `stop` where any has it. `random_rank`: whose
// random generator's state all ranks have from now on; -1: each keeps its own. Errors: the channel's.
Result<Execution::Step> ExchangeStep(Channel& channel, const Execution::Step& own,
                                     int32_t random_rank);

// Rank 0 gets what each rank says of its own devices, in one schedule: each counts from its own begin of the
// step. The others keep theirs. Errors: the channel's.
Result<Schedule> GatherSchedule(Channel& channel, Schedule own);

// [device] on rank 0: what its rank says. Errors: the channel's.
Result<std::vector<int64_t>> GatherByDevice(Channel& channel, std::vector<int64_t> own,
                                            const IdVector<DeviceId, int32_t>& rank_of);

// Rank 0: the text of `from`; others: "". Errors: the channel's.
Result<std::string> BringToRankZero(Channel& channel, int32_t from, std::string text);

}  // namespace placewright

#endif  // PLACEWRIGHT_RUNTIME_SERVICE_STEP_EXCHANGE_H_
