// One planning problem: everything a planner may look at, built once and shared.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/plan_space.h"
#include "plan/schedule.h"
#include "search/problem/group_id.h"
#include "sim/engine/sim_graph.h"

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

// The group of placement: a colocation group, possibly several joined by --colocate or
// --colocate-each.
struct ColocationGroup {
  std::vector<OpId> ops;          // ascending; views included
  std::vector<DeviceId> allowed;  // devices that support all its ops and that no constraint
                                  // forbids, ascending; never empty in a built Problem
  Bytes persistent;  // granule-rounded parameters, state, buffers whose home follows it
};

struct Problem {
  const Graph* graph = nullptr;
  const Cluster* cluster = nullptr;
  const CostTable* costs = nullptr;
  SimGraph sim_graph;
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  Constraints constraints;
  IdVector<ColocationGroupId, ColocationGroup> groups;  // ordered by least op id
  IdVector<OpId, ColocationGroupId> group_of;

  IdRange<ColocationGroupId> group_ids() const { return IdRange<ColocationGroupId>(groups.size()); }
};

// Errors: kConstraint (a glob that matches nothing, a device that is not there, pins that
// contradict each other), kInfeasible (a group that no device can run: the message names the
// group's first op, what it needs and the smallest change that would fit).
Result<Problem> BuildProblem(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const Constraints& constraints, SchedulingPolicy policy);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_
