// The independent checker: is a plan what it says it is?
//
// It shares no code with planners and simulator beyond the readers: what a step demands, its order
// and its memory are worked out anew, from docs/simulator.md, and compared with the plan's schedule
// and figures. The order of the checks is that of CheckPlan's body; the digest comes last, so that
// a change with a meaning is named by it.
#ifndef CHECK_PLAN_CHECKER_H_
#define CHECK_PLAN_CHECKER_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "check_plan/violation.h"
#include "formats/plan/plan_files.h"

namespace placewright::check {

// The first violation, or nothing. O((ops + transfers + edges) log). Of a distributed plan: that of its
// compiled step as a graph of its own (distributed/distribution_check.h compares it with the original).
MaybeViolation CheckPlan(const PlanInputs& inputs);

// What was checked, for the program's last line.
struct CheckedPlan {
  PlanInputs inputs;
  MaybeViolation violation;
  std::vector<Violation> not_proven{};  // of a distributed plan, where it holds but for these
};

// Loads the plan with every file it names and checks it; of a distributed plan also the original graph, with
// which the compiled step is compared. Errors: those of the readers,
// kPlanMismatch for a file with another hash than the plan's.
Result<CheckedPlan> LoadAndCheckPlan(const std::string& plan_path,
                                     const PlanInputOptions& options = {});

}  // namespace placewright::check

#endif  // CHECK_PLAN_CHECKER_H_
