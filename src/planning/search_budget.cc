#include "planning/search_budget.h"

namespace placewright {

Budget MakeSearchBudget(std::optional<std::chrono::nanoseconds> time,
                        std::optional<int64_t> iterations, Clock::time_point started) {
  constexpr std::chrono::seconds kDefaultTime{10};
  Budget budget;
  budget.iterations = iterations;
  if (time) {
    budget.deadline = started + *time;
  } else if (!iterations) {
    budget.deadline = started + kDefaultTime;
  }
  return budget;
}

}  // namespace placewright
