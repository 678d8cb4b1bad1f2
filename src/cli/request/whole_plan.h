// Plans whose files are of one device of each class (Plan::lanes), as plans of all their devices.
#ifndef PLACEWRIGHT_CLI_REQUEST_WHOLE_PLAN_H_
#define PLACEWRIGHT_CLI_REQUEST_WHOLE_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/request/inputs.h"
#include "cli/request/temporary_folder.h"
#include "formats/plan/plan_files.h"
#include "plan/distributed_step.h"
#include "planning/plan_session.h"
#include "search/problem/layout_problem.h"

namespace placewright {

// Whether a plan's file says so. What is wrong with it is said where it is read.
bool IsInLanes(const std::string& plan_path);

// How many ops all devices run, as the file of a plan that splits or copies ops says it; 0 where it does not.
int64_t OpsOfAllDevices(const std::string& plan_path);

// The step of such a plan, compiled of its layouts with costs as they are modelled now.
struct StepAgain {
  Plan plan;
  std::unique_ptr<const Inputs> whole;  // the recorded step and the cluster
  std::unique_ptr<LayoutProblem> problem;
  StepOfPlan step;
};
// `order`: the plan's, or another one. `in_lanes`: it may be a step in lanes. Errors: those of the readers and of
// StepOfLayouts.
Result<StepAgain> CompileAgain(const std::string& plan_path, const PlanInputOptions& options,
                               std::optional<SchedulingPolicy> order, bool in_lanes);

// A plan in lanes as that of all devices.
struct StepOfAllDevices {
  PlanInputs inputs;
  DistributedStep step;  // without its graph, which is that of the inputs
};
// The step is compiled in full and simulated, and every device has to do what the one does that stands for it, at the
// same times. Errors: those of the readers and of CompileAgain; kPlanInvalid (a device that does not, a plan that is not
// as it was written); kPlanMismatch (costs that come out otherwise now).
Result<StepOfAllDevices> CompileWhole(const std::string& plan_path,
                                      const PlanInputOptions& options);

// What reads the files of a plan with all its devices opens it by this.
class WholePlan {
 public:
  // Errors: those of the readers and of CompileWhole.
  static Result<WholePlan> Open(const std::string& plan_path, const PlanInputOptions& options);

  // Of a plan in lanes that of the plan of all devices, written with its files into a folder that is gone with this
  // object; else the plan's own.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::unique_ptr<TemporaryFolder> folder_;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_WHOLE_PLAN_H_
