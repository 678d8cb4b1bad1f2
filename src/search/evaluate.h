// From devices of placement units to placements, scores and results.
#ifndef PLACEWRIGHT_SEARCH_EVALUATE_H_
#define PLACEWRIGHT_SEARCH_EVALUATE_H_

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "search/planner.h"
#include "search/problem/problem.h"
#include "sim/simulator.h"

namespace placewright {

// How good a plan is: what fits first, then less overflow, then less time.
struct Score {
  bool feasible = false;
  int64_t over = kMaxQuantity;  // bytes above capacity, summed over devices; 0 if feasible
  int64_t step_time = kMaxQuantity;
  friend bool operator<(const Score& a, const Score& b) {
    return std::tie(a.over, a.step_time) < std::tie(b.over, b.step_time);
  }
};

Placement ExpandUnits(const Problem& problem, const std::vector<int32_t>& device_of);

// The units' devices of a placement of every op. Units whose device is not allowed, or whose ops
// lie apart, take their first allowed device.
std::vector<int32_t> UnitsOf(const Problem& problem, const Placement& placement);

// Simulates. Errors: kUnreachable (two devices that must communicate are not connected).
Result<Score> EvaluateUnits(const Problem& problem, const std::vector<int32_t>& device_of,
                            Simulator& simulator);

// The result of a planner that made one plan.
PlannerResult MakeResult(const Problem& problem, std::string_view algorithm,
                         const std::vector<int32_t>& device_of, const Score& score,
                         const PlannerOptions& options);

// Seconds since the process started, as results report them.
double SecondsSince(Clock::time_point started);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATE_H_
