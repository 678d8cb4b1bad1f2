// One planning problem: everything a planner may look at, built once and shared.
#ifndef PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_
#define PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/constraints.h"
#include "plan/schedule.h"
#include "search/problem/group_id.h"
#include "sim/engine/sim_graph.h"

namespace placewright {

// Ops that lie together: a colocation group of the graph, possibly several joined by --colocate or
// --colocate-each. What planners place.
struct ColocationGroup {
  std::vector<OpId> ops;          // ascending; views included
  std::vector<DeviceId> allowed;  // devices that support all its ops and that no constraint
                                  // forbids, ascending; never empty in a built Problem
  Bytes persistent;  // granule-rounded parameters, state, buffers whose home follows it
};

struct LayoutProblem;

struct Problem {
  const Graph* graph = nullptr;
  const Cluster* cluster = nullptr;
  const CostTable* costs = nullptr;
  SimGraph sim_graph;
  SchedulingPolicy policy = SchedulingPolicy::kFifo;
  Constraints constraints;
  IdVector<ColocationGroupId, ColocationGroup> groups;  // ordered by smallest op id
  IdVector<OpId, ColocationGroupId> group_of;
  // Where ops may be split or copied (search/problem/layout_problem.h); nullptr: they are placed.
  const LayoutProblem* layouts = nullptr;

  IdRange<ColocationGroupId> group_ids() const { return IdRange<ColocationGroupId>(groups.size()); }
};

// Errors: kConstraint (a glob that matches nothing, a device that is not there, pins that
// contradict each other), kInfeasible (a group that no device can run: the message names the
// group's first op, what it needs and the smallest change that would fit),
// kGraphOrder (CheckProgramOrder, where the order is the program's).
Result<Problem> BuildProblem(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                             const Constraints& constraints, SchedulingPolicy policy);

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_PROBLEM_PROBLEM_H_
