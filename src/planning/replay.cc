#include "planning/replay.h"

#include "base/check.h"
#include "cost/cost_table.h"
#include "search/evaluation/group_placement.h"
#include "sim/device_use.h"
#include "sim/saturation_check.h"

namespace placewright {

Result<SimResult> Replay(const SimGraph& sim_graph, const Graph& graph, const Cluster& cluster,
                         const Placement& placement, SchedulingPolicy policy) {
  Simulator simulator(sim_graph);
  SimResult replay =
      simulator.Run(placement, {.policy = policy, .schedule = true, .feedback = true});
  PW_RETURN_IF_ERROR(CheckNotSaturated(sim_graph, graph, cluster, placement, replay));
  return replay;
}

Result<SimResult> Replay(const PreparedProblem& prepared, const PlannerResult& result) {
  const Problem& problem = prepared.problem();
  PW_ASSIGN(SimResult replay, Replay(problem.sim_graph, *problem.graph, *problem.cluster,
                                     PlacementOf(problem, result.plan), problem.policy));
  PW_CHECK_EQ(replay.step_time.count, result.step_time.count);
  PW_CHECK_EQ(replay.feasible, result.feasible);
  return replay;
}

Plan MakePlan(const PlannerResult& result, const SimResult& replay, const PlannedGraph& planned,
              uint64_t seed, double seconds) {
  Plan plan;
  plan.graph_name = planned.graph.name();
  plan.cluster_name = planned.cluster.name();
  plan.samples = planned.graph.batch();
  plan.policy = planned.policy;
  plan.algorithm = result.algorithm;
  plan.space = plan.bound_space = result.space;
  plan.feasible = replay.feasible;
  plan.step_time = replay.step_time;
  plan.devices = UseOfDevices(replay, planned.cluster);
  plan.baselines = result.baselines;
  const CostShares shares = SharesOf(planned.costs, planned.placement);
  plan.share_given = shares.given;
  plan.share_measured = shares.measured;
  plan.share_modelled = shares.modelled;
  plan.seed = seed;
  plan.iterations = result.iterations;
  plan.seconds = seconds;
  plan.first_feasible_seconds = result.first_feasible_seconds;
  plan.history = result.history;
  plan.placement = NamePlacement(planned.placement, planned.graph, planned.cluster);
  return plan;
}

Plan MakePlan(const PreparedProblem& prepared, const PlannerResult& result, const SimResult& replay,
              uint64_t seed, double seconds) {
  const Problem& problem = prepared.problem();
  const Placement placement = PlacementOf(problem, result.plan);
  Plan plan = MakePlan(
      result, replay, {*problem.graph, *problem.cluster, *problem.costs, placement, problem.policy},
      seed, seconds);
  plan.lower_bound = prepared.bound().value;
  plan.bound_space = prepared.bound().space;
  return plan;
}

}  // namespace placewright
