// Makes a placement fit that does not, with few evaluations: for methods that come to one placement
// in milliseconds and know nothing of memory. Local search finds better ones, in thousands.
#ifndef PLACEWRIGHT_SEARCH_LOCAL_MEMORY_REPAIR_H_
#define PLACEWRIGHT_SEARCH_LOCAL_MEMORY_REPAIR_H_

#include "base/stop.h"
#include "search/evaluation/group_placement.h"
#include "search/evaluator.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/group_info.h"
#include "search/problem/problem.h"

namespace placewright {

struct MemoryRepair {
  GroupPlacement devices;
  Evaluation evaluation;
  size_t moved = 0;  // groups that lie elsewhere than they were to
};

// `wanted` where it fits; else the best of some rounds, which may still not fit. In each round every
// device that is over hands groups to those with room, accelerators first: forward groups with all
// that accompanies them there (GroupInfo::leader), from the end of its part of the step
// that is nearer to the other's, until as many bytes have gone as it was over, by the static
// estimate that constructive planners use. It ends early where the budget does. O(rounds * (evaluation +
// devices^2 * groups log groups)).
MemoryRepair RepairMemory(const Problem& problem, const CandidateDevices& candidates,
                          const GroupInfos& groups, Evaluator& evaluator,
                          const GroupPlacement& wanted, const Budget& budget = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_LOCAL_MEMORY_REPAIR_H_
