// How long a search goes on if nothing else is said.
#ifndef PLACEWRIGHT_PLANNING_SEARCH_BUDGET_H_
#define PLACEWRIGHT_PLANNING_SEARCH_BUDGET_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/stop.h"

namespace placewright {

// `time` counts from `started`. Without either limit the search ends after 10 s.
Budget MakeSearchBudget(std::optional<std::chrono::nanoseconds> time,
                        std::optional<int64_t> iterations, Clock::time_point started);

// For the plans by which a proof or an error says what memory is missing: a second from `now` at
// least, as that is worth more than a limit kept to the moment.
Budget ForAdvice(Budget budget, Clock::time_point now);

}  // namespace placewright

#endif  // PLACEWRIGHT_PLANNING_SEARCH_BUDGET_H_
