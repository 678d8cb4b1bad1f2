#include "check_plan/distributed/distribution_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "check_plan/distributed/collective_check.h"
#include "check_plan/distributed/counted_draws.h"
#include "check_plan/distributed/group_layouts.h"
#include "check_plan/distributed/instance_check.h"
#include "check_plan/distributed/layout_check.h"
#include "check_plan/distributed/share_check.h"
#include "sharding/named_axes.h"

namespace placewright::check {
namespace {

// What shares a storage, by view or by writing in place, is on one device.
MaybeViolation CheckStorages(const Graph& original, const DistributedStep& step) {
  IdVector<StorageId, OpId> first(step.graph.storage_count());
  const auto check = [&](OpId op, TensorId tensor) -> MaybeViolation {
    OpId& before = first[step.graph.tensor(tensor).storage];
    if (!before.valid()) before = op;
    if (step.placement[before] == step.placement[op]) return std::nullopt;
    return Violation{
        ViolationKind::kWrongDevice,
        fmt::format("{} is on another device than the storage of \"{}\", which it "
                    "views or writes in place",
                    NameOf(original, step, op), Printable(step.graph.tensor(tensor).name, 80)),
        PlaceOf(step, op)};
  };
  for (const OpId op : step.graph.ops()) {
    for (const TensorId output : step.graph.op(op).outputs) {
      CHECK_PLAN_RETURN_IF_VIOLATED(check(op, output));
    }
    for (const TensorId written : step.graph.op(op).writes) {
      CHECK_PLAN_RETURN_IF_VIOLATED(check(op, written));
    }
  }
  return std::nullopt;
}

// Draws count where the plan states that they do, and only there.
MaybeViolation CheckTransforms(const DistributedStep& step, const DistributionSpec& spec) {
  if (!spec.transforms) return std::nullopt;
  const Transform counted{Transform::kCountedDraws};
  const bool stated = std::find(spec.transforms->begin(), spec.transforms->end(), counted) !=
                      spec.transforms->end();
  if (stated == CountsDraws(step.graph)) return std::nullopt;
  return Violation{
      ViolationKind::kWrongArgument,
      fmt::format("the plan {} {}, and {} random draw of the step counts",
                  stated ? "states" : "leaves out", ToString(counted.kind), stated ? "no" : "a"),
      "transforms"};
}

}  // namespace

Findings CheckDistribution(const Graph& original, const DistributedStep& step,
                           const Cluster& cluster, const DistributionSpec& spec) {
  Findings findings = Interpret(original, step, spec.switches.local_batch_norm);
  if (!findings.violation) findings.violation = CheckStorages(original, step);
  if (!findings.violation) findings.violation = CheckCollectiveOrder(step);
  if (findings.violation) return findings;
  const NamedAxes axes(original);
  const bool anew = !spec.switches.regather.empty() || spec.switches.prefetch.has_value();
  const GroupLayouts layouts(original, axes, cluster, spec.layouts, anew);
  const auto check = [&]() -> MaybeViolation {
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckLayouts(original, step, cluster, layouts));
    CHECK_PLAN_RETURN_IF_VIOLATED(layouts.Check());
    CHECK_PLAN_RETURN_IF_VIOLATED(
        CheckShares(original, axes, step, cluster, layouts, findings.cuts));
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckSwitches(original, step, spec));
    CHECK_PLAN_RETURN_IF_VIOLATED(CheckTransforms(step, spec));
    return spec.switches.local_batch_norm ? CheckLocalNorms(original, axes, step, findings.cuts)
                                          : std::nullopt;
  };
  findings.violation = check();
  return findings;
}

}  // namespace placewright::check
