// What a planner's result comes to: its schedule, and the plan that says all of it.
#ifndef PLACEWRIGHT_PLANNING_REPLAY_H_
#define PLACEWRIGHT_PLANNING_REPLAY_H_

#include "base/result.h"
#include "plan/plan.h"
#include "planning/prepared_problem.h"
#include "sim/simulator.h"

namespace placewright {

// The result simulated once more with schedule and feedback. A step time other than the planner's
// is a defect of ours and stops the program. Errors: kTooLarge (CheckNotSaturated).
Result<SimResult> Replay(const PreparedProblem& prepared, const PlannerResult& result);

// Any step with a placement, without feedback of a planner to compare with. Errors: kTooLarge.
Result<SimResult> Replay(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                         const Placement& placement, SchedulingPolicy policy);

// Everything that a plan says but for the files it was made of. `seconds`: of the search, since the
// start.
Plan MakePlan(const PreparedProblem& prepared, const PlannerResult& result, const SimResult& replay,
              uint64_t seed, double seconds);

// What a plan is of: the problem's graph, or the compiled step of a plan that splits or copies ops.
struct PlannedGraph {
  const Graph& graph;
  const Cluster& cluster;
  const CostTable& costs;
  const Placement& placement;
  SchedulingPolicy policy;
};
// The same of any of them, without a bound. The bound space is the plan's.
Plan MakePlan(const PlannerResult& result, const SimResult& replay, const PlannedGraph& planned,
              uint64_t seed, double seconds);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_REPLAY_H_
