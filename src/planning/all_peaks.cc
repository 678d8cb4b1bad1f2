#include "planning/all_peaks.h"

#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "search/evaluation/compiled_step.h"
#include "search/evaluation/group_placement.h"
#include "sim/simulator.h"
#include "sim/step_in_lanes.h"
#include "transforms/precision.h"

namespace placewright {
namespace {

IdVector<DeviceId, DevicePeaks> Judge(const Problem& problem, const Graph& recorded,
                                      const SimGraph& sim_graph, const Graph& graph,
                                      const Placement& placement, const StepLanes* lanes,
                                      SchedulingPolicy policy, bool lasting_buckets) {
  Simulator simulator(sim_graph);
  SimResult replay =
      simulator.Run(placement, {.policy = policy, .schedule = true, .feedback = true});
  if (lanes != nullptr) ExpandLanes(*lanes, replay);
  const Cluster& cluster = *problem.cluster;
  return JudgeMemory({sim_graph, graph, cluster, placement, *replay.schedule, lasting_buckets,
                      lanes, KeepsGradients(recorded)},
                     replay, CountsPeaks(recorded, cluster));
}

}  // namespace

Result<IdVector<DeviceId, DevicePeaks>> PeaksOfPlan(const Problem& problem, Evaluator& evaluator,
                                                    const Graph& recorded,
                                                    const PlannerResult& plan) {
  const SchedulingPolicy policy = plan.plan.switches.order.value_or(problem.policy);
  const bool lasting_buckets = plan.algorithm == "ddp";  // as PlanSession::MeasurePeaks
  if (plan.space == PlanSpace::kPlaced) {
    return Judge(problem, recorded, problem.sim_graph, *problem.graph,
                 PlacementOf(problem, plan.plan), nullptr, policy, lasting_buckets);
  }
  PW_ASSIGN(const std::unique_ptr<CompiledStep> compiled, evaluator.Compile(plan.plan));
  return Judge(problem, recorded, compiled->sim_graph, compiled->step.graph,
               compiled->step.placement, compiled->lanes ? &*compiled->lanes : nullptr, policy,
               lasting_buckets);
}

Status CheckAllPeaks(const Problem& problem, Evaluator& evaluator, const Graph& recorded,
                     const PlannerResult& plan) {
  PW_ASSIGN(const auto peaks, PeaksOfPlan(problem, evaluator, recorded, plan));
  const DeviceId crowded = FindCrowded(peaks);
  if (!crowded.valid()) return Ok();
  const DevicePeaks& memory = peaks[crowded];
  return MakeError(ErrorCode::kNothingFound,
                   fmt::format("tensors fit, but not what is taken beside them: {} of {}",
                               FormatBytes(memory.Device()), FormatBytes(memory.offered)));
}

}  // namespace placewright
