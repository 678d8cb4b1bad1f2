// One planning problem: everything a planner may look at, built once and shared.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/engine/step_program.h"
#include "sim/simulator.h"

namespace placewright {

// --pin GLOB=DEVICE, --forbid GLOB=DEVICE, --colocate GLOB, --colocate-each GLOB; globs over module
// paths, devices by name or glob ("host0/gpu*").
struct ConstraintSpec {
  std::string glob;
  std::string device;  // empty for colocate
};
struct Constraints {
  std::vector<ConstraintSpec> pins, forbids;
  std::vector<std::string> colocate;       // all modules that match one, together
  std::vector<std::string> colocate_each;  // each module that matches one, by itself

  bool Empty() const {
    return pins.empty() && forbids.empty() && colocate.empty() && colocate_each.empty();
  }
};

// The unit of placement: a colocation group, possibly several joined by --colocate or
// --colocate-each.
struct PlacementUnit {
  std::vector<OpId> ops;          // ascending; views included
  std::vector<DeviceId> allowed;  // devices that support all its ops and that no constraint
                                  // forbids, ascending; never empty in a built Problem
  Bytes persistent;  // granule-rounded parameters, state, buffers whose home follows it
};

struct Problem {
  const Graph* graph = nullptr;
  const Cluster* cluster = nullptr;
  const CostTable* costs = nullptr;
  StepProgram program;
  Order order = Order::kFifo;
  Constraints constraints;
  std::vector<PlacementUnit> units;  // ordered by least op id
  IdVector<OpId, int32_t> unit_of;   // op -> unit
};

// Errors: kConstraint (a glob that matches nothing, a device that is not there, pins that
// contradict each other), kInfeasible (a group that no device can run: the message names the
// group's first op, what it needs and the smallest change that would fit).
Result<Problem> BuildProblem(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const Constraints& constraints, Order order);

// Proven infeasible by memory alone (kInfeasible), else Ok. The message says what is needed, what
// there is, the largest indivisible group, how much more is needed at least (proven), and the
// smallest change found that is enough (simulated). Where every unit has one device, simulating the
// only placement decides; where there are few placements, simulating all of them (enumeration.h).
Status ProveFits(const Problem& problem);

// A bound that no placed plan can beat under this cost model, and which argument gave it.
struct Bound {
  Nanos value;
  std::string argument;  // "critical path", "work", "memory spread"
};
// Constraints never lower it.
Bound LowerBound(const Problem& problem);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_
