// What an op that moves, cuts, joins or adds pieces says that it does it with (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_MOVED_ARGUMENTS_H_
#define CHECK_PLAN_DISTRIBUTED_MOVED_ARGUMENTS_H_

#include <optional>
#include <string>

#include "graph/graph.h"

namespace placewright::check {

// What is wrong with the arguments, as "has args[0] %1, where %0 is due"; nothing where they are right. Its inputs are
// each stated once and in their order: alone, or as a list where it joins or adds several. What numbers stand behind
// them is only counted: which they must be follows from what is read. Types that move nothing have none.
std::optional<std::string> WrongMovedArguments(const Op& op);

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_MOVED_ARGUMENTS_H_
