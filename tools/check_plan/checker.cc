#include "check_plan/checker.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "check_plan/memory_check.h"
#include "check_plan/placement_check.h"
#include "check_plan/replay.h"
#include "check_plan/search_check.h"
#include "check_plan/step.h"
#include "check_plan/summary_check.h"
#include "check_plan/timing_check.h"
#include "check_plan/waits.h"
#include "formats/plan/plan_json.h"

namespace placewright::check {
namespace {

// A cost graph on its own devices brings its costs along, a profile its times on whichever device
// may run it.
MaybeViolation CheckGivenCosts(const PlanInputs& inputs) {
  const Graph& graph = inputs.graph.graph;
  const bool own = inputs.graph.costs && inputs.plan.cluster.path == kClusterInGraph;
  if (!own && !inputs.graph.times) return std::nullopt;
  for (OpId op : graph.ops()) {
    for (DeviceId device : inputs.cluster.cluster.devices()) {
      const Nanos stated = inputs.costs.time(op, device);
      if (inputs.costs.source(op, device) != CostSource::kGiven) continue;
      if (!own && stated == CostTable::kUnsupported) continue;
      const Nanos given = own ? inputs.graph.costs->time(op, device) : (*inputs.graph.times)[op];
      if (stated == given) continue;
      return Violation{
          ViolationKind::kGivenCosts,
          fmt::format("{} ns on {} are stated as given, the graph has {}", stated.count,
                      inputs.cluster.cluster.device(device).name, given.count),
          fmt::format("costs: ops[{}] ({})", op.value(), Printable(graph.op(op).name, 80))};
    }
  }
  return std::nullopt;
}

// Homes that the graph file gives are devices of its own list; another cluster may have fewer.
MaybeViolation CheckGivenHomes(const Graph& graph, const Cluster& cluster) {
  for (StorageId id : graph.storages()) {
    const DeviceId home = graph.given_home(id);
    if (!home.valid() || home.index() < cluster.device_count()) continue;
    return Violation{ViolationKind::kCoverage,
                     fmt::format("the graph puts \"{}\" on its device {}, the cluster has only {}",
                                 Printable(graph.tensor(graph.storage(id).first).name, 80),
                                 home.value(), cluster.device_count()),
                     ""};
  }
  return std::nullopt;
}

MaybeViolation CheckScheduleDevices(const PlanInputs& inputs, const Placement& placement) {
  const Cluster& cluster = inputs.cluster.cluster;
  for (OpId op : inputs.graph.graph.ops()) {
    const DeviceId device = inputs.schedule.placement[op];
    if (device == placement[op]) continue;
    return Violation{ViolationKind::kScheduleDevice,
                     fmt::format("runs on {}, but is placed on {}", cluster.device(device).name,
                                 cluster.device(placement[op]).name),
                     fmt::format("schedule: ops[{}] ({})", op.value(),
                                 Printable(inputs.graph.graph.op(op).name, 80))};
  }
  return std::nullopt;
}

MaybeViolation CheckDigest(const Json& document) {
  const Result<std::string> stated = GetString(document, "digest", "");
  if (stated.ok() && stated.value() == PlanDigest(document)) return std::nullopt;
  return Violation{ViolationKind::kDigest, "the file is not as it was written: its digest differs",
                   "digest"};
}

}  // namespace

MaybeViolation CheckPlan(const PlanInputs& inputs) {
  const Graph& graph = inputs.graph.graph;
  const Cluster& cluster = inputs.cluster.cluster;
  const Plan& plan = inputs.plan;
  Placement placement;
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckNames(plan, graph, cluster));
  CHECK_PLAN_RETURN_IF_VIOLATED(
      CheckCoverage(plan.placement, graph, cluster, inputs.costs, placement));
  CHECK_PLAN_RETURN_IF_VIOLATED(
      CheckColocation(graph, cluster, placement, plan.space != PlanSpace::kPlaced));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckGivenHomes(graph, cluster));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckGivenCosts(inputs));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckScheduleDevices(inputs, placement));

  Step step({graph, cluster, inputs.costs, placement, inputs.schedule.schedule, plan.policy});
  CHECK_PLAN_RETURN_IF_VIOLATED(step.MatchTransfers());
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckDurations(step));
  const Waits waits(step);
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckPrecedence(step, waits));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckExclusivity(step));
  Replay replay(step, waits);
  CHECK_PLAN_RETURN_IF_VIOLATED(replay.Run());

  CHECK_PLAN_RETURN_IF_VIOLATED(CheckFigures(plan, step));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckMemory(plan, step, waits, replay.stamps()));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckDistributionFigures(plan, inputs.document, step));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckBound(plan, inputs.document, step));
  CHECK_PLAN_RETURN_IF_VIOLATED(CheckSearch(plan));
  return CheckDigest(inputs.document);
}

}  // namespace placewright::check
