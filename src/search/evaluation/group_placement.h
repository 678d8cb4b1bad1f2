// From devices of colocation groups to placements of ops, and back.
#ifndef PLACEWRIGHT_SEARCH_EVALUATION_GROUP_PLACEMENT_H_
#define PLACEWRIGHT_SEARCH_EVALUATION_GROUP_PLACEMENT_H_

#include <optional>

#include "base/result.h"
#include "search/evaluator.h"
#include "search/planner.h"
#include "search/problem/problem.h"

namespace placewright {

Placement ExpandGroups(const Problem& problem, const GroupPlacement& device_of);

// The groups' devices of a placement of every op. Groups whose device is not allowed, or whose ops
// lie apart, take their first allowed device.
GroupPlacement GroupsOf(const Problem& problem, const Placement& placement);
// The same of a plan that is placed, and the other way round.
GroupPlacement GroupsOf(const Problem& problem, const StepPlan& plan);
StepPlan PlanOf(const Problem& problem, const GroupPlacement& device_of);
// Of any plan: none where it splits or copies ops.
std::optional<GroupPlacement> GroupsIfPlaced(const Problem& problem, const StepPlan& plan);
// Of `initial`, where that is given and placed.
std::optional<GroupPlacement> InitialGroups(const Problem& problem, const PlannerOptions& options);
// The placement of a planner's result of the problem, whose plan is placed.
Placement PlacementOf(const Problem& problem, const StepPlan& plan);

// Errors: kUnreachable (two devices that must communicate are not connected).
Result<Score> EvaluateGroups(const Problem& problem, const GroupPlacement& device_of,
                             Evaluator& evaluator, const EvaluationOptions& options = {});

}  // namespace placewright

#endif  // PLACEWRIGHT_SEARCH_EVALUATION_GROUP_PLACEMENT_H_
