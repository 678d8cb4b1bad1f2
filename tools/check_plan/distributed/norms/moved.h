// What is between the ops of a norm, brought from device to device (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_NORMS_MOVED_H_
#define CHECK_PLAN_DISTRIBUTED_NORMS_MOVED_H_

#include <optional>
#include <string_view>
#include <vector>

#include "check_plan/distributed/norms/value.h"
#include "graph/graph.h"

namespace placewright::check {

// AllReduce, AllGather; and these, or AddN and Concat of one device.
bool IsNormCollective(std::string_view type);
bool IsNormMovement(std::string_view type);

// What each member makes of what all of them read: sums, or vectors one behind the other, in the order of
// the intervals that the members of an AllGather state. One op: what it makes. Nothing where they do not fit.
// Precondition: ops of one type, each of which is IsNormMovement; one input of each member.
std::optional<NormValue> MovedNormValue(const std::vector<const Op*>& ops,
                                        const std::vector<const NormValue*>& values);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_NORMS_MOVED_H_
