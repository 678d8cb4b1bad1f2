// Which reductions over parts of a row make, together, that over all of it (internal to the checker).
#ifndef CHECK_PLAN_DISTRIBUTED_NORMS_JOINED_REDUCTIONS_H_
#define CHECK_PLAN_DISTRIBUTED_NORMS_JOINED_REDUCTIONS_H_

#include <string_view>

namespace placewright::check {

inline constexpr std::string_view kLogSum = "aten.logsumexp.default", kSum = "aten.sum.dim_IntList",
                                  kMax = "aten.amax.default", kMin = "aten.amin.default";

// What is made over parts of a row, and of what parts make that over all.
struct Joined {
  std::string_view reduction, as;
  bool adds;  // by sums; else the reduction of all, behind one another
};
inline constexpr Joined kJoined[] = {{kSum, "sum(", true},
                                     {kLogSum, "logsumexp(", false},
                                     {kMax, "amax(", false},
                                     {kMin, "amin(", false}};

}  // namespace placewright::check

#endif  // CHECK_PLAN_DISTRIBUTED_NORMS_JOINED_REDUCTIONS_H_
