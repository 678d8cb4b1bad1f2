// Plans made from the simulator's results, for checking one against the other.
#ifndef TESTS_CHECKER_SIMULATED_PLAN_H_
#define TESTS_CHECKER_SIMULATED_PLAN_H_

#include <string>

#include "base/random.h"
#include "cluster/cluster.h"
#include "cost/cost_table.h"
#include "formats/input.h"
#include "graph/graph.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/schedule.h"

namespace placewright::tests {

// Colocation groups in order, over devices that support them: at random, or (spread < 1) each on
// the device of the group before it with probability 1 - spread.
Placement RandomPlacement(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                          double spread, Random& random);

struct SimulatedPlan {
  Plan plan;  // file references not filled in
  Schedule schedule;
};
// Everything that a plan states, from one simulated step; the bound is the longest of what is
// easily proven.
SimulatedPlan Simulate(const Graph& graph, const Cluster& cluster, const CostTable& costs,
                       const Placement& placement, SchedulingPolicy policy);

// What the checker says of it: "holds", or the first violation. The graph is lent for the time.
std::string Verdict(LoadedGraph& graph, const Cluster& cluster, const CostTable& costs,
                    const Placement& placement, SimulatedPlan simulated);

}  // namespace placewright::tests

#endif  // TESTS_CHECKER_SIMULATED_PLAN_H_
