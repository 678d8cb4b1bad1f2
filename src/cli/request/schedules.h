// Schedules of plans as one picture, one under the other.
#ifndef PLACEWRIGHT_CLI_REQUEST_SCHEDULES_H_
#define PLACEWRIGHT_CLI_REQUEST_SCHEDULES_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace placewright {

struct ScheduleDrawing {
  std::vector<std::string> plans;
  // What `run --schedule` wrote of the first plan, or empty: drawn below that plan's.
  std::string executed;
  std::string svg;
};

// All on one scale of time. Errors: those of LoadPlanInputs and of reading the schedule,
// kFileUnwritable.
Status DrawSchedules(const ScheduleDrawing& drawing);

}  // namespace placewright

#endif  // PLACEWRIGHT_CLI_REQUEST_SCHEDULES_H_
