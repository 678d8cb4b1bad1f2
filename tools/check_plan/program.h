// The order of the program (rule 17), worked out anew from graph and placement.
#ifndef CHECK_PLAN_PROGRAM_H_
#define CHECK_PLAN_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "check_plan/step.h"

namespace placewright::check {

struct Program {
  IdVector<OpId, int32_t> turn;  // of each op among those of its device, from 0; -1: it takes none
  IdVector<CollectiveId, CollectiveId>
      before;  // that of the same communicator which must have ended, or none
};

// Equal for collectives of one communicator (rule 17): the set of their devices, or of a copy who sends and who gets it.
std::vector<DeviceId> CommunicatorOf(const Step& step, CollectiveId id);

// O(ops log ops + waits).
Program ProgramOf(const Step& step);

}  // namespace placewright::check

#endif  // CHECK_PLAN_PROGRAM_H_
