// What `plan` prints of the plan that it made.
#ifndef PLACEWRIGHT_CLI_COMMANDS_PLAN_OUTPUT_H_
#define PLACEWRIGHT_CLI_COMMANDS_PLAN_OUTPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/request/analysis.h"
#include "cli/request/from_configuration.h"
#include "cli/request/max_batch.h"
#include "cli/request/planning.h"
#include "cli/terminal/console.h"
#include "plan/plan.h"
#include "planning/permitted_changes.h"

namespace placewright {

struct PlanOutput {
  const StepInputs& of;
  const Plan& plan;
  const Analysis& analysis;
  const std::string& file;  // the plan's, which was written if it fits
  const std::vector<std::string>& notes;
  const std::optional<Error>& error;  // why it ends with another status than 0
  const std::optional<MaxBatch>& max_batch;
  const std::vector<PermittedChange>& changes;
  const std::optional<FromConfiguration>& from;
  const std::optional<BesideConfiguration>& beside;  // of a plan by --from
  const std::vector<std::string>& init_differs;      // in what --init was made for something else
};

// As text or JSON, as the console says, with the error.
void PrintPlan(const PlanOutput& output, Console& console);

// Where all of it took noticeably longer than --time: what has no limit.
// Errors: those of MakeBudget.
Status NoteTime(const Planning& planning, const SearchOptions& search, const StepInputs& of,
                Clock::time_point searched, Console& console);

// The plan found is one of whole ops, which its bound is of; others were allowed.
void NoteReplicatedBound(const Planning& planning, const StepOfPlan& step, PlannerResult& result);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_COMMANDS_PLAN_OUTPUT_H_
