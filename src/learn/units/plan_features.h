// What can be said of a plan without simulating it: numbers by which a policy may choose among plans,
// the same for any graph, cluster, and unit of time or bytes. Beyond GDP.
#ifndef PLACEWRIGHT_LEARN_UNITS_PLAN_FEATURES_H_
#define PLACEWRIGHT_LEARN_UNITS_PLAN_FEATURES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "learn/units/constructive_plans.h"
#include "search/problem/candidate_devices.h"
#include "search/problem/group_info.h"
#include "search/problem/op_graph.h"

namespace placewright {

// Features [kConstructivePlans, kPlanFeatures]. With W the shortest times of all ops summed:
//   log(B / W), B: time of the ops on the device that has the largest;
//   log(P / W), P: longest path, each op at its time on its device, and what it reads from elsewhere
//     with the time to bring it, as if nothing else was on the way;
//   log(1 + T / W), T: time of all transfers, of a slice one to each device;
//   log(1 + M / W), M: time of the transfers from, or to, the device that has the largest;
//   log(E / W), E: the step when P is cut into kWindows of a length, and each lasts as long as the
//     ops that stand in it on the device that has most of them, but no shorter: what devices wait for
//     one another;
//   log of max(1, bytes beside capacity) on the device where that is largest, the bytes those of
//     GroupInfo (persistent, live at the peak).
inline constexpr int64_t kPlanFeatures = 6, kWindows = 64;
at::Tensor PlanFeatures(const Problem& problem, const OpGraph& graph,
                        const CandidateDevices& candidates, const GroupInfos& groups,
                        const FollowablePlans& plans);

}  // namespace placewright

#endif  // PLACEWRIGHT_LEARN_UNITS_PLAN_FEATURES_H_
