// The learned planners as entries of the program's table, which open LibTorch only to plan.
#ifndef PLACEWRIGHT_CLI_REQUEST_LEARNED_PLANNERS_H_
#define PLACEWRIGHT_CLI_REQUEST_LEARNED_PLANNERS_H_

#include <string>

#include "search/planner_table.h"

namespace placewright {

// One for each of LearnedAlgorithms(). Their errors are, besides those of the planner, those of
// opening the library.
PlannerTable LearnedPlanners(const PlannerSettings& settings = {});

// Errors: kUsage where `settings` are stated for a planner that has none, or are not its own.
Status CheckAgentSettings(std::string_view algorithm, const PlannerSettings& settings);

// --policy: loads it into `settings`; does nothing where `policy` is empty. Errors: kUsage where the
// planner has none; those of LoadNamedPolicy.
Status LoadAgentPolicy(std::string_view algorithm, const std::string& policy,
                       PlannerSettings* settings);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_LEARNED_PLANNERS_H_
