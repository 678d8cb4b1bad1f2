// Lower bounds on the step time.
#ifndef PLACEWRIGHT_SEARCH_PROOF_BOUND_H_
#define PLACEWRIGHT_SEARCH_PROOF_BOUND_H_

#include <string>

#include "base/units.h"
#include "plan/plan_space.h"
#include "search/problem/problem.h"

namespace placewright {

// A bound that no plan of `space` can beat under this cost model, and which argument gave it.
struct Bound {
  Nanos value;
  std::string argument;  // "critical path", "work", "memory spread", "enumeration"
  PlanSpace space = PlanSpace::kPlaced;
  friend bool operator==(const Bound&, const Bound&) = default;
};

// Of placed plans. Constraints never lower it.
Bound LowerBound(const Problem& problem);

// Whether a plan of `space` that takes `step_time` is proven optimal: bounds of another space prove
// nothing about it.
inline bool ProvesOptimal(const Bound& bound, PlanSpace space, Nanos step_time) {
  return bound.space == space && step_time <= bound.value;
}

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROOF_BOUND_H_
