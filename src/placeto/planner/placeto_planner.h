// Placeto as a planner, and its training on one or several problems.
#ifndef PLACEWRIGHT_PLACETO_PLANNER_PLACETO_PLANNER_H_
#define PLACEWRIGHT_PLACETO_PLANNER_PLACETO_PLANNER_H_

#include <memory>

#include "search/planner_table.h"
#include "torch_api/policy_training.h"

namespace placewright {

inline constexpr std::string_view kPlacetoName = "placeto";

// Settings that are wrong make it fail when it plans.
std::unique_ptr<Planner> MakePlacetoPlanner(const PlannerSettings& settings);

// One network for all problems, an episode on each in turn. Errors: kPlanMismatch (a policy of
// another number of devices; settings, seed, problems of a training that goes on), kInternal (a
// partitioner failed).
Result<std::unique_ptr<PolicyTraining>> StartPlacetoTraining(const AgentSettings& settings,
                                                             const TrainingRequest& request);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLACETO_PLANNER_PLACETO_PLANNER_H_
