#include "check_plan/checker.h"

namespace placewright::check {

Result<CheckedPlan> LoadAndCheckPlan(const std::string& plan_path,
                                     const PlanInputOptions& options) {
  CheckedPlan checked;
  PW_ASSIGN(checked.inputs, LoadPlanInputs(plan_path, options));
  checked.violation = CheckPlan(checked.inputs);
  return checked;
}

}  // namespace placewright::check
