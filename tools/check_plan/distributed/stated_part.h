// The arguments of ops that cut and join pieces, as parts (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_STATED_PART_H_
#define CHECK_PLAN_DISTRIBUTED_STATED_PART_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "check_plan/distributed/part.h"
#include "graph/graph.h"
#include "plan/distributed_step.h"

namespace placewright::check {

// The integers among the arguments behind the first, which is what the op reads.
std::vector<int64_t> NumbersOf(const Op& op);

// "dimension, outer, size, from, to" as an op states them for a tensor of that shape, or for a dimension of
// `length`. Nothing: it states something else, or no interval of an axis of that tensor.
std::optional<AxisPart> StatedPartOf(const std::vector<int64_t>& numbers,
                                     const std::vector<int64_t>& shape);
std::optional<AxisPart> StatedPartOf(const std::vector<int64_t>& numbers, int64_t length);

// Of what is itself a part. Nothing where that is no interval of one axis of the original's tensor.
std::optional<Part> PartWithin(const Part& piece, const AxisPart& part);

// collective_movement.cc: of the members of a collective.
bool IsCollectiveType(std::string_view type);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_STATED_PART_H_
