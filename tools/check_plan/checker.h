// The independent checker: is a plan what it says it is?
//
// It shares no code with planners and simulator beyond the readers: what a step demands, its order
// and its memory are worked out anew, from docs/simulator.md, and compared with the plan's schedule
// and figures. The order of the checks is that of CheckPlan's body; the digest comes last, so that
// a change with a meaning is named by it.
#ifndef CHECK_PLAN_CHECKER_H_
#define CHECK_PLAN_CHECKER_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check_plan/violation.h"
#include "formats/plan/plan_files.h"
#include "plan/distributed_step.h"

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

// Hears what is checked next, in words.
using CheckProgress = std::function<void(std::string_view)>;

// Loads the plan with every file it names and checks it; of a distributed plan also the original graph, with
// which the compiled step is compared. Errors: those of the readers,
// kPlanMismatch for a file with another hash than the plan's.
Result<CheckedPlan> LoadAndCheckPlan(const std::string& plan_path,
                                     const PlanInputOptions& options = {},
                                     const CheckProgress& progress = {});

// The same of a distributed plan that is in memory, with `step` without its graph, which is that of the inputs. Of the
// plan's file at `plan_path` the graph's alone is read. Errors: those of its reader.
Result<CheckedPlan> CheckPlanInMemory(PlanInputs inputs, DistributedStep step,
                                      const std::string& plan_path, const PlanInputOptions& options,
                                      const CheckProgress& progress = {});

}  // namespace placewright::check

#endif  // CHECK_PLAN_CHECKER_H_
