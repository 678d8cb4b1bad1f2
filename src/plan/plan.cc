#include "plan/plan.h"

namespace placewright {

double Plan::Gap() const {
  if (step_time.count <= 0 || !lower_bound) return 0;
  return static_cast<double>((step_time - *lower_bound).count) /
         static_cast<double>(step_time.count);
}

double Plan::SamplesPerSecond() const {
  if (step_time.count <= 0) return 0;
  return static_cast<double>(samples) * 1e9 / static_cast<double>(step_time.count);
}

}  // namespace placewright
