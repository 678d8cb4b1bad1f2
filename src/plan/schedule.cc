#include "plan/schedule.h"

namespace placewright {

std::string_view ToString(SchedulingPolicy policy) {
  return policy == SchedulingPolicy::kFifo ? "fifo" : "critical-path";
}

}  // namespace placewright
