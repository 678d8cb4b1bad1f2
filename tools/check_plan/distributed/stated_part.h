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
// Of a collective of several tensors those of this one, a list.
std::vector<int64_t> NumbersOf(const Op& op, size_t tensor);

// "dimension, outer, size, from, to" as an op states them for a tensor of that shape. Nothing: it states something
// else, or no interval of an axis of that tensor.
std::optional<AxisPart> StatedPartOf(const std::vector<int64_t>& numbers,
                                     const std::vector<int64_t>& shape);

// Of what is itself a part, of a tensor with that shape, the part that lies at `part` there. Nothing where that is no
// intervals of factors of the tensor.
std::optional<Part> PartWithin(const std::vector<int64_t>& shape, const Part& piece,
                               const AxisPart& part);

// In that dimension of a tensor, where they differ, one behind the other. Nothing where they do not follow one another,
// or differ elsewhere. Precondition: there are some.
std::optional<Part> JoinedOf(const std::vector<int64_t>& shape, const std::vector<Part>& parts,
                             int32_t dimension);
// The first dimension in which they differ, by their places; -1: none.
int32_t WhereTheyDiffer(const Part& a, const Part& b);
// The place in a dimension of the first element that a part has of it.
int64_t FirstIn(const Part& part, int32_t dimension);

// collective_movement.cc: of the members of a collective.
bool IsCollectiveType(std::string_view type);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_STATED_PART_H_
