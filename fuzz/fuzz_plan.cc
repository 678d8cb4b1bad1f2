#include "formats/plan/plan_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto document = placewright::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!document.ok()) return 0;
  auto plan = placewright::PlanFromJson(document.value());
  if (plan.ok()) (void)placewright::PlanToJson(plan.value()).dump();
  return 0;
}
