// What libplacewright_check.so offers. The program opens it for `check`, so that a first build is shorter.
#ifndef CHECK_PLAN_CHECK_LIBRARY_H_
#define CHECK_PLAN_CHECK_LIBRARY_H_

#include <string>

#include "check_plan/checker.h"

namespace placewright::check {

struct CheckApi {
  // Grows with every change of what crosses: a library of another program is refused.
  static constexpr int kVersion = 2;

  int version;
  Result<CheckedPlan> (*load_and_check)(const std::string& plan_path,
                                        const PlanInputOptions& options,
                                        const CheckProgress& progress);
  Result<CheckedPlan> (*check_in_memory)(PlanInputs inputs, DistributedStep step,
                                         const std::string& plan_path,
                                         const PlanInputOptions& options,
                                         const CheckProgress& progress);
  Error (*to_error)(const Violation& violation);
};

inline constexpr const char* kCheckLibrary = "placewright_check";  // its target, and lib....so
inline constexpr const char* kCheckEntry = "placewright_check_api";

}  // namespace placewright::check

// The function of that name: what it points to lives as long as the library is open.
extern "C" const placewright::check::CheckApi* placewright_check_api();

#endif  // CHECK_PLAN_CHECK_LIBRARY_H_
