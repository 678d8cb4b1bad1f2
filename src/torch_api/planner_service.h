// Planners that need LibTorch (`learn`): what the program asks of them, without LibTorch.
#ifndef PLACEWRIGHT_TORCH_API_PLANNER_SERVICE_H_
#define PLACEWRIGHT_TORCH_API_PLANNER_SERVICE_H_

#include "search/planner_table.h"

namespace placewright {

class PlannerService {
 public:
  virtual ~PlannerService() = default;
  // New planners, behind those of `search` in every table. They are to be destroyed before the
  // library is closed.
  virtual PlannerTable MakePlanners(const PlannerSettings& settings) const = 0;
};

}  // namespace placewright

#endif  // PLACEWRIGHT_TORCH_API_PLANNER_SERVICE_H_
