#include "plan/schedule.h"

#include "base/check.h"

namespace placewright {

std::string_view ToString(SchedulingPolicy policy) {
  switch (policy) {
    case SchedulingPolicy::kFifo: return "fifo";
    case SchedulingPolicy::kCriticalPath: return "critical-path";
    case SchedulingPolicy::kProgram: return "program";
  }
  PW_CHECK(false);
}

std::optional<SchedulingPolicy> FindSchedulingPolicy(std::string_view name) {
  for (const SchedulingPolicy policy : kSchedulingPolicies) {
    if (name == ToString(policy)) return policy;
  }
  return std::nullopt;
}

SchedulingPolicy DefaultPolicy(std::string_view graph_format) {
  return graph_format == "aten" ? SchedulingPolicy::kProgram : SchedulingPolicy::kFifo;
}

}  // namespace placewright
