// The plan of a whole step as planners take, make, offer and return it. A placement is one whose layouts have one device
// each. Text forms of it are plan/layout_spec.h and, as files, docs/formats/layouts.md.
#ifndef PLACEWRIGHT_PLAN_STEP_PLAN_H_
#define PLACEWRIGHT_PLAN_STEP_PLAN_H_

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/transform.h"
#include "plan/layout.h"
#include "plan/placement.h"
#include "plan/step_switches.h"

namespace placewright {

struct StepPlan {
  Layouts layouts;
  StepSwitches switches;
  // By which the step was rewritten that the groups are of. None: those of the problem.
  std::optional<Transforms> transforms = {};

  bool empty() const { return layouts.of_group.empty(); }  // there is none
  bool IsPlaced() const;  // every group is on one device; of none there is, too
};
// Whether every group has the same layout, however these are numbered, under the same switches and transforms.
bool operator==(const StepPlan& a, const StepPlan& b);

// Those that have something of a group, ascending.
std::vector<DeviceId> DevicesOf(const StepPlan& plan);

// Precondition: the placement covers every op of the graph and keeps colocation groups together.
StepPlan PlanOf(const Graph& graph, const Placement& placement);
// None where the plan splits or copies ops. It may have more groups than the graph: those of what compiling adds to it
// (transforms/counter_draws.h).
std::optional<Placement> PlacementIfPlaced(const Graph& graph, const StepPlan& plan);
// Precondition: the plan is placed.
Placement PlacementOf(const Graph& graph, const StepPlan& plan);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLAN_STEP_PLAN_H_
