// libplacewright_check.so: the checker, for the program's `check`.
#include "check_plan/check_library.h"

extern "C" const placewright::check::CheckApi* placewright_check_api() {
  static constexpr placewright::check::CheckApi kApi = {
      placewright::check::CheckApi::kVersion, &placewright::check::LoadAndCheckPlan,
      &placewright::check::CheckPlanInMemory, &placewright::check::ToError};
  return &kApi;
}
