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
IdVector<DeviceId, DevicePeaks> PeaksOfReplay(const SimGraph& sim_graph, const Graph& graph,
                                              const Cluster& cluster, const Placement& placement,
                                              const StepLanes* lanes, const Graph& recorded,
                                              std::string_view algorithm, const SimResult& replay) {
  const bool lasting_buckets = algorithm == "ddp";
  return JudgeMemory({sim_graph, graph, cluster, placement, *replay.schedule, lasting_buckets,
                      lanes, KeepsGradients(recorded)},
                     replay, CountsPeaks(recorded, cluster));
}

Result<IdVector<DeviceId, DevicePeaks>> PeaksOfPlan(const Problem& problem, Evaluator& evaluator,
                                                    const Graph& recorded,
                                                    const PlannerResult& plan) {
  const SchedulingPolicy policy = plan.plan.switches.order.value_or(problem.policy);
  const auto judge = [&](const SimGraph& sim_graph, const Graph& graph, const Placement& placement,
                         const StepLanes* lanes) {
    Simulator simulator(sim_graph);
    SimResult replay =
        simulator.Run(placement, {.policy = policy, .schedule = true, .feedback = true});
    if (lanes != nullptr) ExpandLanes(*lanes, replay);
    return PeaksOfReplay(sim_graph, graph, *problem.cluster, placement, lanes, recorded,
                         plan.algorithm, replay);
  };
  if (plan.space == PlanSpace::kPlaced) {
    return judge(problem.sim_graph, *problem.graph, PlacementOf(problem, plan.plan), nullptr);
  }
  PW_ASSIGN(const std::unique_ptr<CompiledStep> compiled, evaluator.Compile(plan.plan));
  return judge(compiled->sim_graph, compiled->step.graph, compiled->step.placement,
               compiled->lanes ? &*compiled->lanes : nullptr);
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
