#include "plan/schedule.h"

namespace placewright {

std::string_view ToString(Order order) { return order == Order::kFifo ? "fifo" : "critical-path"; }

}  // namespace placewright
