#include "planning/search_budget.h"

#include <algorithm>

namespace placewright {

Budget MakeSearchBudget(std::optional<std::chrono::nanoseconds> time,
                        std::optional<int64_t> iterations, Clock::time_point started) {
  constexpr std::chrono::seconds kDefaultTime{10};
  Budget budget;
  budget.iterations = iterations;
  if (time && *time > Clock::time_point::max() - started) {  // for ever
    return budget;
  }
  if (time) {
    budget.deadline = started + *time;
  } else if (!iterations) {
    budget.deadline = started + kDefaultTime;
  }
  return budget;
}

Budget ForAdvice(Budget budget, Clock::time_point now) {
  constexpr std::chrono::seconds kMin{1};
  if (budget.deadline) budget.deadline = std::max<Clock::time_point>(*budget.deadline, now + kMin);
  budget.iterations.reset();
  return budget;
}

}  // namespace placewright
